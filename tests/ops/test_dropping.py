"""Dropout by hash: how much it drops, where, and when."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from keat.ops.dropping import draw_seed, drop_, dropout


def mask_of(shape: tuple[int, ...], share: float, seed: int) -> Tensor:
    return drop_(torch.ones(shape, dtype=torch.float64), share, seed)


def test_the_share_is_dropped_everywhere_and_what_is_left_is_scaled() -> None:
    torch.manual_seed(0)
    x = dropout(torch.ones(1000, 1000), 0.1, training=True)
    zero = x == 0
    assert torch.equal(torch.unique(x[~zero]), torch.tensor([1 / 0.9]))
    deviation = math.sqrt(0.1 * 0.9 / 1000)
    for axis in (0, 1):  # no row or column is favoured
        share = zero.float().mean(axis)
        assert abs(share.mean() - 0.1) < 5 * deviation / math.sqrt(1000)
        assert 0.8 * deviation < share.std() < 1.2 * deviation
    centred = zero.flatten().double() - 0.1
    for lag in (1, 2, 3, 64, 200, 800, 1000):  # nor do neighbours agree
        assert abs((centred[:-lag] * centred[lag:]).mean()) / 0.09 < 5e-3


def test_masks_of_different_seeds_are_unrelated() -> None:
    torch.manual_seed(0)
    masks = torch.stack([mask_of((20_000,), 0.5, draw_seed()) for _ in range(8)])
    assert (torch.corrcoef(masks) - torch.eye(8)).abs().max() < 0.03


def test_nothing_is_dropped_outside_training() -> None:
    x = torch.randn(5, 6)
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0, training=True) is x
