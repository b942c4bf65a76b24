"""The Poincaré ball: maps that undo each other, distances two ways, and slopes where points meet."""

from __future__ import annotations

import torch

from keat.models.snapshots.poincare import SMALL, exp_0, log_0, mobius_add, squared_distance


def points(n: int = 50, spread: float = 0.6) -> torch.Tensor:
    torch.manual_seed(4)
    return exp_0(spread * torch.randn(n, 5, dtype=torch.float64))


def test_the_maps_undo_each_other() -> None:
    u = 0.6 * torch.randn(50, 5, dtype=torch.float64)
    torch.testing.assert_close(log_0(exp_0(u)), u)
    torch.testing.assert_close(exp_0(u).norm(dim=1), torch.tanh(u.norm(dim=1)))
    assert torch.equal(exp_0(torch.zeros(5)), torch.zeros(5))


def test_a_sum_with_the_opposite_is_the_origin() -> None:
    x, y = points(), points().flip(0)
    torch.testing.assert_close(mobius_add(-x, x), torch.zeros_like(x))
    torch.testing.assert_close(mobius_add(x, torch.zeros_like(x)), x)
    torch.testing.assert_close(mobius_add(-x, mobius_add(x, y)), y)  # left cancellation


def test_distances_are_those_of_the_difference() -> None:
    x, y = points(), points().flip(0)
    plainly = 2 * torch.atanh(mobius_add(-x, y).norm(dim=1))
    torch.testing.assert_close(squared_distance(x, y), plainly.square())


def test_points_that_meet_have_a_distance_of_zero_and_a_slope() -> None:
    x = points().float().requires_grad_()
    assert torch.equal(squared_distance(x, x.detach()), torch.zeros(50))
    squared_distance(x, x.detach() + 1e-4).sum().backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()
    assert x.grad.abs().min() > 0


def test_the_series_meets_the_formula() -> None:
    step = torch.tensor([SMALL * (1 - 1e-9), SMALL * (1 + 1e-9)], dtype=torch.float64)  # δ on either side
    y = torch.sqrt(step / (2 + step))[:, None]  # the point with this δ from the origin
    near, far = squared_distance(torch.zeros_like(y), y).tolist()
    assert abs(near - far) < 1e-11


def test_far_away_numbers_stay_numbers() -> None:
    u = torch.tensor([[1e4, 0.0], [-1e4, 3.0]], requires_grad=True)
    distance = squared_distance(*exp_0(u))
    distance.backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(distance)
    assert u.grad is not None
    assert torch.isfinite(u.grad).all()
