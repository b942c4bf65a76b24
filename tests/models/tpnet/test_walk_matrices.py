"""Walk matrices against walks that are found one by one, in whatever pieces events come."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
import torch

from keat.clock import Clock
from keat.errors import InputError
from keat.models.tpnet import walk_matrices
from keat.models.tpnet.walk_matrices import WalkMatrices

Events = list[tuple[int, int, int]]
TOY: Events = [(0, 1, 0), (1, 2, 1), (0, 1, 2)]
HALF = 1 / math.log(2)  # the width by which a unit of time halves


def ids(*nodes: int) -> np.ndarray:
    return np.array(nodes, dtype=np.int32)


def columns(events: Events) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    src, dst, t = (np.array([event[i] for event in events], dtype=np.int64) for i in range(3))
    return src.astype(np.int32), dst.astype(np.int32), t


def random_events(seed: int, nodes: int = 6, events: int = 14, times: int = 9) -> Events:
    """Several at a time, some of a node with itself."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.integers(0, times, events))
    return [
        (int(u), int(v), int(w)) for (u, v), w in zip(rng.integers(0, nodes, (events, 2)), t, strict=True)
    ]


def make(
    nodes: int, steps: int = 3, widths: tuple[float, ...] = (HALF,), dim: int | None = None, **how: bool
) -> WalkMatrices:
    return WalkMatrices(nodes, steps, widths, Clock(), dim=dim, **how)


def matrices(kept: WalkMatrices, nodes: int, width: int = 0) -> np.ndarray:
    """H⁽⁰⁾ … as of the last event, (steps + 1, nodes, d)."""
    rows: np.ndarray = kept._rows_now(np.arange(nodes, dtype=np.int32))[:, width].numpy()
    return rows.transpose(1, 0, 2)


def walks_one_by_one(events: Events, nodes: int, steps: int, width: float) -> np.ndarray:
    """Every sequence of events of falling times that leads on, in either direction of each."""
    now = max(t for _, _, t in events)
    found = np.zeros((steps + 1, nodes, nodes))
    found[0] = np.eye(nodes)
    for length in range(1, steps + 1):
        for chosen in product(range(len(events)), repeat=length):
            times = [events[i][2] for i in chosen]
            if any(later <= earlier for later, earlier in pairwise(times)):
                continue
            weight = math.exp(-sum(now - t for t in times) / width)
            for turns in product((0, 1), repeat=length):
                ends = [(events[i][turn], events[i][1 - turn]) for i, turn in zip(chosen, turns, strict=True)]
                if all(one[1] == two[0] for one, two in pairwise(ends)):
                    found[length, ends[0][0], ends[-1][1]] += weight
    return found


def test_three_events() -> None:
    kept = make(3)
    kept.observe(*columns(TOY))
    identity, once, twice, thrice = matrices(kept, 3)
    assert np.array_equal(identity, np.eye(3))
    assert once == pytest.approx(np.array([[0, 1.25, 0], [1.25, 0, 0.5], [0, 0.5, 0]]))
    assert twice == pytest.approx(np.array([[0.25, 0, 0.5], [0, 0.25, 0], [0.125, 0, 0]]))
    assert not thrice.any()


def test_products_of_three_events() -> None:
    kept = make(3, steps=2)
    kept.observe(*columns(TOY))
    nothing = columns([])
    *_, cross = kept.read_in_turn(ids(0)[None], ids(2)[None], np.array([2]), *nothing)[:2]
    expected = [[0, 0, 0.125], [0, 0.625, 0], [0.5, 0, 0.03125]]
    assert cross[0, 0, 0].numpy() == pytest.approx(np.array(expected))


def test_as_one_batch_walks_within_it_are_left_out() -> None:
    kept = make(3, batched=True)
    kept.observe(*columns(TOY))
    _, once, twice, thrice = matrices(kept, 3)
    assert once == pytest.approx(np.array([[0, 1.25, 0], [1.25, 0, 0.5], [0, 0.5, 0]]))
    assert not twice.any()
    assert not thrice.any()
    one_by_one = make(3, batched=True)
    for event in TOY:
        one_by_one.observe(*columns([event]))
    strict = make(3)
    strict.observe(*columns(TOY))
    assert matrices(one_by_one, 3) == pytest.approx(matrices(strict, 3))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("width", [HALF, 5.0, math.inf])
def test_every_walk_is_counted_once(seed: int, width: float) -> None:
    events = random_events(seed)
    kept = make(6, widths=(3.0, width))
    kept.observe(*columns(events))
    assert matrices(kept, 6, 1) == pytest.approx(walks_one_by_one(events, 6, 3, width), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_it_does_not_matter_in_which_pieces_events_come(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even of one time; nor where nodes join, or little fits at once."""
    events = random_events(seed, events=40, times=7)
    whole = make(6)
    whole.observe(*columns(events))
    monkeypatch.setattr(walk_matrices, "BYTES_AT_ONCE", 1)
    pieces = make(1)
    for event in events:
        pieces.observe(*columns([event]))
    assert np.array_equal(matrices(whole, 6), matrices(pieces, 6)[:, :, :6])


def test_faded_at_once_or_step_by_step() -> None:
    """Rows fade when they are touched; fading all of them at every event is the same."""
    events = random_events(7, events=60, times=50)
    kept = make(6, steps=2)
    kept.observe(*columns(events))
    eager = [np.eye(6), np.zeros((6, 6)), np.zeros((6, 6))]
    then = 0
    for now in sorted({t for *_, t in events}):
        for step in (1, 2):
            eager[step] = eager[step] * 0.5 ** (step * (now - then))
        before = [matrix.copy() for matrix in eager]
        for u, v, t in events:
            if t == now:
                for step in (1, 2):
                    eager[step][u] += before[step - 1][v]
                    eager[step][v] += before[step - 1][u]
        then = now
    assert matrices(kept, 6) == pytest.approx(np.array(eager), rel=1e-5, abs=1e-7)


def test_without_fading_one_step_counts_who_met_whom() -> None:
    events = random_events(1, events=50)
    kept = make(6, steps=1, widths=(math.inf,))
    kept.observe(*columns(events))
    counts = np.zeros((6, 6))
    for u, v, _ in events:
        counts[u, v] += 1
        counts[v, u] += 1
    assert np.array_equal(matrices(kept, 6)[1], counts)


@pytest.mark.parametrize("seed", range(2))
def test_a_projection_is_that_of_the_walks(seed: int) -> None:
    events = random_events(seed, events=30)
    exact, projected = make(6, widths=(2.0,)), make(6, widths=(2.0,), dim=50)
    for kept in (exact, projected):
        kept.observe(*columns(events))
    assert matrices(projected, 6) == pytest.approx(
        matrices(exact, 6) @ projected.tables.projection[:6], rel=1e-4, abs=1e-5
    )


def test_the_projection_of_a_node_does_not_depend_on_when_it_joins() -> None:
    early, late = make(3000, dim=4), make(1, dim=4)
    for nodes in (2, 900, 2500, 3000):
        late.make_room(nodes)
    assert np.array_equal(early.tables.projection[:3000], late.tables.projection[:3000])
    assert early.tables.projection.std() == pytest.approx(0.5, rel=0.02)  # 1/√d
    other = WalkMatrices(3000, 3, [1.0], Clock(), dim=4, draw=1)
    assert abs(np.corrcoef(early.tables.projection.ravel(), other.tables.projection.ravel())[0, 1]) < 0.05


def test_between_two_sides_an_even_number_of_steps_stays_on_one() -> None:
    rng = np.random.default_rng(2)
    events = [(int(u), int(v), t) for t, (u, v) in enumerate(rng.integers((0, 4), (4, 9), (40, 2)))]
    kept = make(9, steps=2, widths=(20.0,))
    kept.observe(*columns(events))
    cross = kept.all_pairs(np.arange(4, dtype=np.int32), np.arange(4, 9, dtype=np.int32), np.full(4, 40))[1]
    for i, j in product(range(3), repeat=2):
        assert bool(cross[:, :, 0, i, j].any()) == bool((i + j) % 2)


def test_the_noise_of_products_is_as_predicted() -> None:
    """Var⟨H_u, H_v⟩ = (|a|²|b|² + ⟨a, b⟩²)/d for rows a, b of walks."""
    events, dim, draws = random_events(5, events=30), 16, 1500
    exact = make(6, steps=1, widths=(4.0,))
    exact.observe(*columns(events))
    a, b = matrices(exact, 6)[1][:2].astype(np.float64)
    found = []
    for draw in range(draws):
        kept = WalkMatrices(6, 1, [4.0], Clock(), dim=dim, draw=draw)
        kept.observe(*columns(events))
        one, two = matrices(kept, 6)[1][:2].astype(np.float64)
        found.append(one @ two)
    variance = ((a @ a) * (b @ b) + (a @ b) ** 2) / dim
    assert np.mean(found) == pytest.approx(a @ b, abs=4 * math.sqrt(variance / draws))
    assert np.var(found) == pytest.approx(variance, rel=0.2)


@pytest.mark.parametrize("until_query", [True, False])
@pytest.mark.parametrize("dim", [None, 8])
def test_one_product_for_all_is_pair_by_pair(dim: int | None, until_query: bool) -> None:
    """Also with nodes without events, the same candidate twice, and a source itself."""
    kept = make(8, widths=(3.0, math.inf), dim=dim)
    kept.observe(*columns(random_events(3, events=30)))
    src, candidates, t = ids(0, 3, 7, 11), ids(0, 1, 2, 3, 4, 4, 7, 20), np.array([9, 9, 12, 15])
    together = kept.all_pairs(src, candidates, t, until_query=until_query)
    left, right = np.broadcast_arrays(src[:, None], candidates)
    *alone, seen = kept.read_in_turn(left, right, t, *columns([]), until_query=until_query)
    assert seen == 0
    for one, other in zip(together, alone, strict=True):
        torch.testing.assert_close(one.expand_as(other), other)


def test_in_turn_is_one_time_after_the_other() -> None:
    events = random_events(6, events=40, times=12)
    quick, plain = make(6, dim=8), make(6, dim=8)
    src, dst, t = columns(events)
    left, right = src[:, None].repeat(2, axis=1), np.stack((dst, src), axis=1)
    *found, seen = quick.read_in_turn(left, right, t, src, dst, t)
    assert seen == np.searchsorted(t, t[-1])
    for i in range(len(t)):
        known = int(np.searchsorted(t, t[i]))
        plain.clear()
        plain.observe(src[:known], dst[:known], t[:known])
        *expected, _ = plain.read_in_turn(left[i : i + 1], right[i : i + 1], t[i : i + 1], *columns([]))
        for one, other in zip(found, expected, strict=True):
            assert torch.equal(one[i], other[0])


@pytest.mark.parametrize("dim", [None, 5])
def test_a_kept_state_goes_on_within_a_time_and_a_wrong_one_is_refused(dim: int | None) -> None:
    src, dst, t = columns(random_events(4, events=60, times=6))
    whole, other = make(6, dim=dim), make(2, dim=dim)
    whole.observe(src[:33], dst[:33], t[:33])
    state = whole.save()
    assert t[32] == t[33]
    assert len(state["touched"]) > 0
    other.load(state)
    for kept in (whole, other):
        kept.observe(src[33:], dst[33:], t[33:])
    assert all(torch.equal(tensor, other.save()[name]) for name, tensor in whole.save().items())
    for wrong, sentence in (
        (state | {"touched": state["touched"] + 99}, "'touched' holds"),
        (state | {"touched": state["touched"] * 0}, "holds a node twice"),
        (state | {"clock": state["clock"] + 1}, "'clock' speaks of other"),
        (state | {"rows": state["rows"][:, :, :2]}, "'rows' has the shape"),
    ):
        with pytest.raises(InputError, match=sentence):
            make(6, dim=dim).load(wrong)


def test_too_many_nodes_are_not_kept_exactly() -> None:
    with pytest.raises(InputError, match="Walks between 12,001 nodes cannot be kept exactly"):
        make(12_001)
