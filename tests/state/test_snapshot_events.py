"""Bins of time, when they end, and which events are the edges of a snapshot."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from keat.clock import PLAIN, Clock
from keat.errors import InputError
from keat.events import EventStream
from keat.state import SnapshotEvents

NODES = 8


def events_at(*times: int, start: int = 0) -> EventStream:
    """One event at each time, from node i to node i + 1."""
    src = np.arange(len(times)) % (NODES - 1)
    return EventStream.from_arrays(src, src + 1, start + np.array(times), num_nodes=NODES)


def state(**settings: int) -> SnapshotEvents:
    return SnapshotEvents(NODES, 0, 10.0, PLAIN, **settings)  # type: ignore[arg-type]


def pairs(of: SnapshotEvents) -> set[tuple[int, int]]:
    edges = of.edges()
    return {(a, b) for a, b in zip(edges.node.tolist(), edges.other.tolist(), strict=True) if a < b}


@pytest.mark.parametrize("start", [0, 7, 1_700_000_000])
def test_bins_are_open_below_and_the_first_time_is_one_of_its_own(start: int) -> None:
    times = [0, 1, 10, 11, 20, 21]
    assert state().beginnings(events_at(*times, start=start).t).tolist() == [1, 3, 5]


def test_a_bin_ends_when_a_later_event_is_observed() -> None:
    past = state()
    past.observe(events_at(0, 3, 10))
    assert past.latest == 0  # the bin up to 10 is still under way
    past.observe(events_at(11))
    assert past.latest == 1
    assert sorted(past.edges().age.tolist()) == [0, 0, 7, 7]  # from 10, where it ended, both ways
    past.observe(events_at(95))
    assert past.latest == 2  # bins without events are passed over
    assert past.last_time() == 95


def test_nothing_has_ended_before_a_second_time() -> None:
    past = state()
    assert len(past.edges().node) == 0
    past.observe(events_at(0, 0, 0))
    assert past.latest == -1
    assert len(past.edges().node) == 0
    past.observe(events_at()[:0])
    assert len(past) == 3


def test_edges_are_those_of_the_last_bins_without_loops() -> None:
    src, dst, t = [0, 1, 2, 3, 3, 5], [1, 2, 3, 3, 4, 6], [0, 5, 15, 16, 25, 35]
    stream = EventStream.from_arrays(src, dst, t, num_nodes=NODES)
    for history, expected in ((1, {(3, 4)}), (2, {(2, 3), (3, 4)}), (9, {(0, 1), (1, 2), (2, 3), (3, 4)})):
        past = state(history=history)
        past.observe(stream)
        assert pairs(past) == expected
        assert past.seen.nonzero()[:, 0].tolist() == [0, 1, 2, 3, 4]
        first, node = past.edges().first, past.edges().node
        assert torch.equal(first.diff(), torch.bincount(node, minlength=NODES))


def test_a_pair_has_its_latest_event_or_all_of_them() -> None:
    stream = EventStream.from_arrays([0, 1, 0, 2], [1, 0, 1, 3], [0, 2, 6, 15], num_nodes=NODES)
    ages = {}
    for repeats in (False, True):
        past = state(history=2, repeats=repeats)
        past.observe(stream)
        ages[repeats] = sorted(past.edges().age.tolist())
    assert ages == {False: [4, 4], True: [4, 4, 8, 8, 10, 10]}


def test_the_first_snapshot_can_be_kept_for_ever() -> None:
    past = state(first_only=True)
    past.observe(events_at(0, 5, 15, 25))
    assert pairs(past) == {(0, 1)}
    assert past.seen.sum() == 4
    assert len(past) == 2  # of the first bin, and of the one under way


def test_ages_are_in_the_unit_of_the_clock() -> None:
    past = SnapshotEvents(NODES, 0, 10.0, Clock(1, 1000))
    past.observe(events_at(0, 4_000, 10_001))
    assert past.latest == 1
    assert past.edges().age.tolist() == [6, 6]


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), cuts=st.lists(st.integers(0, 60), max_size=8))
def test_how_events_are_cut_does_not_matter(seed: int, cuts: list[int]) -> None:
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, 30, (2, 60))  # more nodes than there is room for
    stream = EventStream.from_arrays(src, dst, np.sort(rng.integers(0, 90, 60)))
    whole, pieces = (state(history=3) for _ in range(2))
    whole.observe(stream)
    for first, last in zip([0, *sorted(cuts)], [*sorted(cuts), 60], strict=True):
        pieces.observe(stream[first:last])
    ours, theirs = whole.save(), pieces.save()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert all(torch.equal(*both) for both in zip(whole.edges(), pieces.edges(), strict=True))
    assert whole.sources().tolist() == sorted(set(stream.src.tolist()))
    assert pieces.destinations().tolist() == sorted(set(stream.dst.tolist()))


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("place", torch.tensor([0, 3, 2, 9]), "'place' speaks of 9 events"),
        ("place", torch.tensor([0, 3, 4, 1]), "a bin that ended after the one under way"),
        ("place", torch.tensor([0, 3, -1, 1]), "no events in the latest snapshot"),
        ("place", torch.tensor([0, -1, -1, 0]), "a bin under way without events"),
        ("place", torch.tensor([0, 7, 2, 1]), "outside of the bin under way"),
        ("place", torch.tensor([0, 3, 1, 1]), "outside of the latest snapshot"),
        ("seen", torch.ones(2, dtype=torch.int64), "'seen' has the shape"),
        ("seen", torch.zeros(NODES, dtype=torch.int64), "'seen' leaves nodes of the latest snapshot out"),
        ("seen", torch.ones(NODES, dtype=torch.int64), "'seen' has nodes without events"),
        ("seen", torch.full((NODES,), 2), "'seen' holds 2"),
        ("log.src", torch.tensor([0, NODES]), "'log.src' holds 8"),
        ("log.dst", torch.tensor([-1, 0]), "'log.dst' holds -1"),
        ("sources", torch.zeros(NODES, dtype=torch.int64), "'sources' leaves nodes of events out"),
    ],
)
def test_a_damaged_state_is_refused(name: str, value: torch.Tensor, sentence: str) -> None:
    past = state()
    past.observe(events_at(0, 5, 15, 25))
    with pytest.raises(InputError, match=sentence):
        state().load(past.save() | {name: value})
