"""Replies, usual gaps, runs, favourites and item to item: as plain loops tell them, strict in time, however
the events are cut, kept and grown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference_second_edition
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_cooccurrence import PlainPast

from keat.cooccurrence import KernelCooccurrence
from keat.cooccurrence.pair_columns import groups_of
from keat.events import EventStream

SIGMA, WIDTHS, NODES = 20.0, [2.0, 20.0, 300.0], 12
LATEST = [name for group, names in groups_of(2).items() if group not in groups_of(1) for name in names]


def make_stream(seed: int, events: int = 150, *, bipartite: bool = False, until: int = 80) -> EventStream:
    """Few times and few nodes: ties, self-loops and runs."""
    rng = np.random.default_rng(seed)
    half = NODES // 2 if bipartite else 0
    return EventStream.from_arrays(
        rng.integers(0, half or NODES, events),
        rng.integers(half, NODES, events),
        np.sort(rng.integers(0, until, events)),
        num_nodes=NODES,
    )


def past_of(stream: EventStream, **options: Any) -> KernelCooccurrence:
    past = KernelCooccurrence(NODES, SIGMA, WIDTHS, **options)
    past.observe(stream.src, stream.dst, stream.t)
    return past


@pytest.mark.parametrize("bipartite", [False, True])
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), events=st.integers(0, 150), until=st.sampled_from([5, 80, 900]))
def test_numbers_are_those_of_the_definitions(bipartite: bool, seed: int, events: int, until: int) -> None:
    stream = make_stream(seed, bipartite=bipartite, until=until)
    past, plain = past_of(stream[:events], ring=6), PlainPast(stream, events, SIGMA, WIDTHS)
    now, rng = until + 15, np.random.default_rng(seed)
    long = 1 / past.tables.succession_rate
    for u, v in rng.integers(0, NODES, (6, 2)).tolist():
        told = past.describe(u, v, now)
        wanted = reference_second_edition.numbers(plain, u, v, now, 6, long)
        assert wanted.keys() == set(LATEST)
        for name, value in wanted.items():
            assert told[name] == pytest.approx(value, rel=2e-4, abs=1e-6), name


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), now=st.integers(1, 80))
def test_the_future_changes_nothing(seed: int, now: int) -> None:
    """Nor does what happens at the very time of the question."""
    stream, other = make_stream(seed), make_stream(seed + 1)
    known = int(np.searchsorted(stream.t, now))
    everyone, times = np.arange(NODES, dtype=np.int32), np.full(NODES, now)
    read = []
    for later in (stream[known:], other[int(np.searchsorted(other.t, now)) :], stream[:0]):
        past = past_of(stream[:known])
        read.append(past.read_in_turn(everyone, times, everyone, later.src, later.dst, later.t)[0])
    for one in read[1:]:
        assert torch.equal(one.pair, read[0].pair)
        assert torch.equal(one.source, read[0].source)


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), block=st.integers(1, 60))
def test_any_cutting_gives_the_same(seed: int, block: int) -> None:
    """Also where a state is kept and put back in between, and nodes come by and by."""
    stream, everyone = make_stream(seed, 400), np.arange(NODES, dtype=np.int32)
    whole, cut = past_of(stream), KernelCooccurrence(1, SIGMA, WIDTHS)
    for number, part in enumerate(stream.blocks(block)):
        cut.observe(part.src, part.dst, part.t)
        if number % 3 == 0:
            kept = cut.state()
            cut = KernelCooccurrence(1, SIGMA, WIDTHS)
            cut.load_state(kept)
    read = [past.read(everyone, np.full(NODES, 99), everyone) for past in (whole, cut)]
    assert torch.equal(read[0].pair, read[1].pair)
    assert torch.equal(read[0].source, read[1].source)


def test_an_answer_is_owed_until_it_is_given() -> None:
    def told(events: int) -> dict[str, float]:
        stream = EventStream.from_arrays(
            [1, 1, 0, 1, 2], [0, 0, 1, 0, 0], [10, 20, 30, 40, 50], num_nodes=NODES
        )
        return past_of(stream[:events]).describe(0, 1, 60)

    assert told(2)["events to answer"] == 2
    assert told(2)["age of the first to answer"] == pytest.approx(50)
    assert told(3)["events to answer"] == 0
    assert told(3)["was the last of the two to turn to the other"] == 0
    assert told(4)["events to answer"] == 1
    assert told(4)["age of the first to answer"] == pytest.approx(20)
    assert told(5)["1 / recency rank among those who reached the source"] == 1 / 2
    assert told(5)["share of the source in the events of the two"] == pytest.approx(2 / 6)


def test_a_pair_that_meets_daily_is_late_after_two_days() -> None:
    stream = EventStream.from_arrays([0] * 8, [5] * 8, np.arange(8) * 86_400, num_nodes=NODES)
    past = past_of(stream)
    in_time, late = (
        past.describe(0, 5, 7 * 86_400 + passed)["how late the next meeting is"]
        for passed in (3_600, 3 * 86_400)
    )
    assert in_time < 0.1
    assert late > 0.9
    assert past.describe(0, 5, 8 * 86_400)["usual gap between meetings"] == pytest.approx(86_400, rel=1e-3)


def test_the_first_edition_reads_and_keeps_what_it_did() -> None:
    """The first columns are the same, to the bit, and its state has none of the new fields."""
    stream, everyone = make_stream(3), np.arange(NODES, dtype=np.int32)
    first, second = (past_of(stream, edition=edition) for edition in (1, 2))
    old, new = (past.read(everyone, np.full(NODES, 99), everyone) for past in (first, second))
    assert torch.equal(old.pair, new.pair[..., : old.pair.shape[-1]])
    assert torch.equal(old.source, new.source[..., : old.source.shape[-1]])
    assert new.pair.shape[-1] > old.pair.shape[-1]
    kept = second.state()
    assert first.state().keys() < kept.keys()
    assert all(torch.equal(value, kept[name]) for name, value in first.state().items())
