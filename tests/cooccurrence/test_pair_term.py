"""From numbers to a logit: learned widths are exact mixtures, and the order of candidates means nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from keat.cooccurrence import KernelCooccurrence, PairTerm, geometric_widths
from keat.cooccurrence.pair_columns import (
    AGE,
    EDITIONS,
    FLAG,
    GROUPS,
    HABIT,
    NEVER,
    PAIR_SINGLE,
    PATHS,
    SOURCE_SINGLE,
    SUM,
    Columns,
    of_nothing,
)
from keat.cooccurrence.pair_term import Numbers
from keat.cooccurrence.widths import LearnedWidths


def observed(widths: np.ndarray) -> KernelCooccurrence:
    rng = np.random.default_rng(0)
    past = KernelCooccurrence(20, 50.0, widths)
    past.observe(
        rng.integers(0, 20, 400).astype(np.int32),
        rng.integers(0, 20, 400).astype(np.int32),
        np.sort(rng.integers(0, 1000, 400)),
    )
    return past


def numbers_of(past: KernelCooccurrence) -> Numbers:
    nodes = np.arange(20, dtype=np.int32)
    return past.read(nodes[:6], np.full(6, 1010), nodes)


def test_geometric_widths_surround_sigma() -> None:
    widths = geometric_widths(80_000.0)
    assert 80_000.0 in widths
    assert np.allclose(widths[1:] / widths[:-1], 4.0)


def test_sums_of_a_learned_kernel_are_exact() -> None:
    """Mixing the grid's sums equals summing the mixed kernel over all events."""
    grid, ages = np.array([1.0, 4.0, 16.0, 64.0]), torch.tensor([0.5, 3.0, 20.0, 100.0], dtype=torch.float64)
    mix = LearnedWidths(grid, 3).double()
    kernels = torch.exp(-ages[:, None] / torch.from_numpy(grid))  # (events, M)
    psi = kernels @ mix.weights().T
    torch.testing.assert_close(mix(kernels.sum(dim=0)), psi.sum(dim=0))
    for width, j in zip(mix.widths(), range(3), strict=True):
        at_width = torch.exp(-width / torch.from_numpy(grid)) @ mix.weights()[j]
        assert at_width.item() == pytest.approx(1 / math.e, rel=1e-6)


def test_learned_widths_move_towards_what_pays() -> None:
    torch.manual_seed(0)
    numbers = numbers_of(observed(geometric_widths(50.0)))
    term = PairTerm(geometric_widths(50.0), learned=2)
    assert term.mix is not None
    before = term.mix.place.detach().clone()
    term(numbers).logsumexp(dim=1).sum().backward()
    assert term.mix.place.grad is not None
    assert (term.mix.place.grad != 0).all()
    torch.optim.SGD(term.parameters(), lr=0.1).step()
    assert not torch.equal(before, term.mix.place)


@pytest.mark.parametrize("learned", [None, 3])
def test_a_logit_depends_on_its_own_pair_only(learned: int | None) -> None:
    torch.manual_seed(0)
    widths = geometric_widths(50.0)
    numbers, term = numbers_of(observed(widths)), PairTerm(widths, learned)
    together = term(numbers)
    assert together.shape == (6, 20)
    order = torch.randperm(20)
    torch.testing.assert_close(term(Numbers(numbers.source, numbers.pair[:, order])), together[:, order])
    torch.testing.assert_close(
        term(Numbers(numbers.source[2:3], numbers.pair[2:3, 7:8]))[0, 0], together[2, 7]
    )


def test_what_the_network_sees_stays_small() -> None:
    """Whatever the counts and ages, each scaled number is within a few units of 0."""
    for scale in (SOURCE_SINGLE | PAIR_SINGLE).values():
        largest = 1.0 if scale in (FLAG, HABIT, PATHS) else 16.0 if scale == SUM else 1e6  # over a ring
        assert 0.5 < scale.gain * math.log1p(scale.inner * largest) < 5
    assert AGE.gain * math.log1p(NEVER) < 4


def test_every_number_is_in_one_group() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    columns = Columns(1, EDITIONS)
    assert sorted(grouped) == sorted({*columns.source, *columns.pair})


@pytest.mark.parametrize("edition", range(1, EDITIONS + 1))
def test_strangers_have_the_numbers_of_nothing(edition: int) -> None:
    past = KernelCooccurrence(20, 50.0, edition=edition)
    strangers = past.read(np.array([3], np.int32), np.array([7]), np.array([4], np.int32))
    assert strangers.source[0].tolist() == of_nothing(past.columns.source)
    assert strangers.pair[0, 0].tolist() == of_nothing(past.columns.pair)


def test_groups_left_out_make_no_difference() -> None:
    torch.manual_seed(0)
    widths = geometric_widths(50.0)
    numbers, names = numbers_of(observed(widths)), Columns(8).pair
    term = PairTerm(widths, without=["meetings of the pair"])
    columns = torch.tensor([name in GROUPS["meetings of the pair"] for name in names])
    changed = numbers.pair.clone()
    changed[..., columns] = 7.0
    assert torch.equal(term(numbers), term(Numbers(numbers.source, changed)))
    other = PairTerm(widths)
    assert not torch.equal(other(numbers), other(Numbers(numbers.source, changed)))


def test_measured_inputs_have_mean_zero_and_spread_one() -> None:
    """What never differs is not looked at, and neither is what is left out."""
    widths = geometric_widths(50.0)
    numbers = numbers_of(observed(widths))
    halves = [Numbers(numbers.source[rows], numbers.pair[rows]) for rows in (slice(0, 2), slice(2, 6))]
    term = PairTerm(widths, without=["identity"])
    term.measure(halves)
    for layer, read in ((term.lin_source, numbers.source), (term.lin_pair, numbers.pair.flatten(0, 1))):
        logs = torch.log1p(read)
        seen = (logs - layer.get_buffer("mean")) * layer.gain
        differs = logs.std(dim=0) > 1e-2
        looked_at = layer.gain != 0
        assert differs.sum() > 10
        if layer is term.lin_pair:
            differs &= torch.tensor([name not in GROUPS["identity"] for name in Columns(8).pair])
        assert looked_at[differs].all()
        torch.testing.assert_close(
            seen[:, looked_at].mean(dim=0), torch.zeros(int(looked_at.sum())), atol=1e-4, rtol=0
        )
        torch.testing.assert_close(
            seen[:, looked_at].std(dim=0, correction=0), torch.ones(int(looked_at.sum())), atol=1e-3, rtol=0
        )
        assert (layer.gain[logs.std(dim=0) == 0] == 0).all()


def test_before_it_is_measured_it_is_as_the_first_edition() -> None:
    """Of the numbers that both read; and the first edition is never measured."""
    widths = geometric_widths(50.0)
    numbers, first, second = numbers_of(observed(widths)), PairTerm(widths, edition=1), PairTerm(widths)
    known = first.state_dict()
    first.measure([Numbers(numbers.source[:, :25], numbers.pair[..., :81])])
    assert all(torch.equal(value, known[name]) for name, value in first.state_dict().items())
    assert not any("mean" in name for name in known)
    seen = torch.nn.functional.linear(
        torch.log1p(numbers.pair),
        second.lin_pair.linear.weight * second.lin_pair.gain,
        second.lin_pair.linear.bias,
    )
    torch.testing.assert_close(second.lin_pair(numbers.pair), seen)
