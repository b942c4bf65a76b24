"""The compiled state tells what plain loops over all past events tell."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_cooccurrence import PlainPast

from keat.cooccurrence import KernelCooccurrence
from keat.events import EventStream

SIGMA, WIDTHS, NODES = 20.0, [2.0, 20.0, 300.0], 12


def make_stream(seed: int, events: int = 150, *, bipartite: bool = False) -> EventStream:
    rng = np.random.default_rng(seed)
    half = NODES // 2 if bipartite else 0
    return EventStream.from_arrays(
        rng.integers(0, half or NODES, events),
        rng.integers(half, NODES, events),
        np.sort(rng.integers(0, 80, events)),
        num_nodes=NODES,
    )


def past_of(stream: EventStream, **options: Any) -> KernelCooccurrence:
    past = KernelCooccurrence(NODES, SIGMA, WIDTHS, **options)
    past.observe(stream.src, stream.dst, stream.t)
    return past


@pytest.mark.parametrize("bipartite", [False, True])
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), events=st.integers(0, 150))
def test_numbers_are_those_of_the_definitions(bipartite: bool, seed: int, events: int) -> None:
    stream = make_stream(seed, bipartite=bipartite)
    past, plain = past_of(stream[:events]), PlainPast(stream, events, SIGMA, WIDTHS)
    now, rng = 95, np.random.default_rng(seed)
    for u, v in rng.integers(0, NODES, (8, 2)).tolist():
        told = past.describe(u, v, now)
        wanted = plain.numbers(u, v, now) | plain.paths(u, v, now, past.fanout, 4 * SIGMA)
        for name, value in wanted.items():
            assert told[name] == pytest.approx(value, rel=2e-5, abs=1e-6), name


def test_shares_are_of_what_happened() -> None:
    """Source 0 goes 5, 5, 6, 6, 6: a return, a new one, two returns."""
    stream = EventStream.from_arrays([0, 0, 0, 0, 0], [5, 5, 6, 6, 6], [1, 2, 3, 4, 5], num_nodes=NODES)
    past = past_of(stream)
    told, fresh = past.describe(0, 6, 6), past.describe(1, 7, 6)
    returns = firsts = 0.5
    for events, (same, new) in enumerate(((1, 0), (0, 1), (1, 0), (1, 0)), start=1):
        step = max(0.1, 1 / (events + 2))
        returns, firsts = returns + step * (same - returns), firsts + step * (new - firsts)
    assert told["share of returns to the same destination"] == pytest.approx(returns)
    assert told["share of new destinations"] == pytest.approx(firsts)
    assert told["share of those who return to the candidate"] > 0.5
    assert past.describe(0, 5, 6)["share of those who return to the candidate"] == pytest.approx(
        0.5 + (1 - 0.5) / 3 + (0 - (0.5 + 0.5 / 3)) / 4
    )
    assert told["share of the candidate's events that are first meetings"] < 0.5
    assert told["share of the candidate's events by the same source as before"] > 0.5
    assert fresh["share of new destinations"] == 0.5


def test_recency_ranks_end_with_the_ring() -> None:
    stream = EventStream.from_arrays([0] * 6, [1, 2, 3, 4, 5, 2], range(6), num_nodes=NODES)
    past = past_of(stream, ring=3)
    ranks = [past.describe(0, v, 10)["1 / recency rank among the source's destinations"] for v in range(7)]
    assert ranks == pytest.approx([0, 1 / 4, 1, 1 / 4, 1 / 3, 1 / 2, 0])


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), block=st.integers(1, 200), shared=st.booleans())
def test_in_turn_is_observing_up_to_each_question(seed: int, block: int, shared: bool) -> None:
    """However the events are cut, equal times are never seen by each other."""
    stream = make_stream(seed)
    rng = np.random.default_rng(seed)
    candidates = rng.integers(0, NODES, 5 if shared else (len(stream), 5)).astype(np.int32)
    turning, stepping = past_of(stream[:0]), past_of(stream[:0])
    for part in stream.blocks(block):
        first = part.offset
        own = candidates if shared else candidates[first : first + len(part)]
        numbers, event = turning.read_in_turn(part.src, part.t, own, part.src, part.dst, part.t)
        turning.observe(part.src[event:], part.dst[event:], part.t[event:])
        for i, now in enumerate(part.t.tolist()):
            known = int(np.searchsorted(part.t, now))
            seen = first + known - int(stepping.tables.clock[1])
            rest = part[known - seen : known]
            stepping.observe(rest.src, rest.dst, rest.t)
            alone = stepping.read(part.src[i : i + 1], part.t[i : i + 1], own if shared else own[i : i + 1])
            assert torch.equal(alone.pair[0], numbers.pair[i])
            assert torch.equal(alone.source[0], numbers.source[i])
        rest = part[int(stepping.tables.clock[1]) - first :]
        stepping.observe(rest.src, rest.dst, rest.t)


def test_state_can_be_taken_and_put_back() -> None:
    stream = make_stream(3)
    half = past_of(stream[:70])
    other = KernelCooccurrence(NODES, SIGMA, WIDTHS)
    other.load_state(half.state())
    for past in (half, other):
        past.observe(stream.src[70:], stream.dst[70:], stream.t[70:])
    everyone = np.arange(NODES, dtype=np.int32)
    read = [past.read(everyone, np.full(NODES, 99), everyone) for past in (half, other)]
    assert torch.equal(read[0].pair, read[1].pair)
    assert half.last_time == other.last_time == int(stream.t[-1])
    assert set(other.destinations()) == set(stream.dst)


def test_memory_follows_pairs_and_nodes_grow() -> None:
    """A million events of few pairs need little; a node far away makes room for itself."""
    past = KernelCooccurrence(2, SIGMA, WIDTHS)
    many = np.resize(np.array([0, 1], dtype=np.int32), 300_000)
    past.observe(many, 1 - many, np.arange(300_000))
    assert len(past.tables.pairs) < 200_000
    assert past.tables.clock[0] == 2
    strangers = past.read(np.array([500], np.int32), np.array([300_000]), np.array([900], np.int32))
    assert math.isfinite(strangers.pair.sum().item())
    past.observe(np.array([500], np.int32), np.array([900], np.int32), np.array([300_001]))
    assert past.describe(500, 900, 300_003)["age of the last meeting"] == pytest.approx(2)


def test_times_of_any_size_are_subtracted_as_integers() -> None:
    """Nanoseconds since 1970 are far beyond what float32, or the sum of two in float64, can tell apart."""
    start = 1_700_000_000_000_000_000
    past = KernelCooccurrence(NODES, 1e9, [1e9])
    past.observe(np.array([0], np.int32), np.array([5], np.int32), np.array([start]))
    told = past.describe(0, 5, start + 500_000_000)
    assert told["source to candidate, over 1e+09"] == pytest.approx(math.exp(-0.5))
