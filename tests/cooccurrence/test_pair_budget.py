"""A state with a budget forgets the pairs that have not met for longest, whatever the batches."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from keat.cooccurrence import KernelCooccurrence
from keat.cooccurrence.pair_budget import StateMemory
from keat.errors import InputError
from keat.events import EventStream

SIGMA, NODES, WIDEST = 200.0, 150, 16.0
BUDGET = 2_000_000  # some 5,000 pairs beside the nodes and successors


def meeting(events: int = 20_000, seed: int = 0, nodes: int = NODES) -> EventStream:
    """Most pairs meet now and then, a few all the time."""
    rng = np.random.default_rng(seed)
    src = (rng.random(events) ** 2 * nodes).astype(np.int32)
    dst = rng.integers(0, nodes, events, dtype=np.int32)
    return EventStream.from_arrays(src, dst, np.arange(events) // 3)


def observed(
    stream: EventStream,
    budget: int = BUDGET,
    ends: Iterable[int] = (),
    saved: bool = False,
    known: int = NODES,
) -> KernelCooccurrence:
    past, first = KernelCooccurrence(known, SIGMA, budget=budget), 0
    for end in [*sorted(ends), len(stream)]:
        past.observe(stream.src[first:end], stream.dst[first:end], stream.t[first:end])
        first = end
        if saved:
            state, past = past.state(), KernelCooccurrence(known, SIGMA, budget=budget)
            past.load_state(state)
    return past


def memory_of(past: KernelCooccurrence) -> StateMemory:
    memory = past.memory()
    assert memory is not None
    return memory


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 100), ends=st.lists(st.integers(0, 20_000), max_size=8), saved=st.booleans())
def test_what_is_dropped_depends_on_events_alone(seed: int, ends: list[int], saved: bool) -> None:
    """Not on batches, and not on whether the state was kept and loaded between them."""
    stream = meeting(seed=seed)
    whole = observed(stream)
    assert memory_of(whole).dropped > 1000
    assert same(whole.state(), observed(stream, ends=ends, saved=saved).state())


@pytest.mark.parametrize("seed", range(3))
def test_newcomers_leave_less_room_for_pairs_and_the_budget_holds(seed: int) -> None:
    """Nodes that nobody knew before join all the time."""
    rng = np.random.default_rng(seed)
    events = 16_000
    known = 20 + np.arange(events) // 20
    src, dst = (rng.random((2, events)) * known).astype(np.int32)
    stream = EventStream.from_arrays(src, dst, np.arange(events))
    ends = range(500, events, 500)
    past = KernelCooccurrence(20, SIGMA, budget=3_000_000)
    for first, end in zip([0, *ends], [*ends, events], strict=True):
        past.observe(src[first:end], dst[first:end], stream.t[first:end])
        memory = memory_of(past)
        assert memory.bytes <= memory.budget
    assert memory.dropped > 1000
    assert same(past.state(), observed(stream, 3_000_000, known=20).state())


def test_the_oldest_pairs_are_dropped_and_the_last_of_each_source_is_not() -> None:
    stream = meeting()
    past = observed(stream)
    last = {}
    for u, v, t in zip(stream.src.tolist(), stream.dst.tolist(), stream.t.tolist(), strict=True):
        last[u, v] = t
    kept = {(int(key) >> 32, int(key) & 0xFFFFFFFF) for key in past.state()["pairs.key"]}
    latest = {u: max((t, v) for (s, v), t in last.items() if s == u)[0] for u in set(stream.src.tolist())}
    pointed = {(u, v) for (u, v), t in last.items() if t == latest[u]}
    forgotten = last.keys() - kept
    assert len(last) == len(kept) + len(forgotten)
    assert forgotten
    assert not forgotten & pointed or all(any((u, w) in kept for s, w in pointed if s == u) for u in latest)
    oldest_kept = min(last[pair] for pair in kept - pointed)
    assert max(last[pair] for pair in forgotten) <= oldest_kept


def test_what_is_kept_reads_as_without_a_budget() -> None:
    """Of a pair that was never dropped, and of every node, all sums are the same."""
    stream = meeting()
    limited, unlimited = observed(stream), observed(stream, 0)
    at = int(stream.t[-1]) + 1
    source, candidate = int(stream.src[-1]), int(stream.dst[-1])
    both = [past.describe(source, candidate, at) for past in (limited, unlimited)]
    for name, value in both[1].items():
        if name.startswith(("to the candidate", "from the source", "from the candidate", "to the source")):
            assert both[0][name] == value, name
    assert both[0]["age of the last meeting"] == both[1]["age of the last meeting"]


def test_a_budget_that_is_not_reached_changes_nothing() -> None:
    stream = meeting()
    limited, unlimited = observed(stream, 100_000_000).state(), observed(stream, 0).state()
    assert limited.pop("budget")[2:].tolist() == [0, 0]
    assert same(limited, unlimited)


@pytest.mark.parametrize(("pause", "faded"), [(0, False), (WIDEST * SIGMA * -math.log(1e-9), True)])
def test_it_is_counted_whether_sums_had_faded(pause: float, faded: bool) -> None:
    """Before others come, pairs have had the time for it or not."""
    first, then = meeting(2000, 1, 50), meeting(20_000, 2)
    past = KernelCooccurrence(NODES, SIGMA, budget=BUDGET)
    past.observe(first.src, first.dst, first.t)
    assert memory_of(past).dropped == 0
    for start in range(0, len(then), 10):
        t = then.t[start : start + 10] + int(first.t[-1] + pause)
        past.observe(then.src[start : start + 10], then.dst[start : start + 10], t)
        if memory_of(past).dropped:
            break
    memory = memory_of(past)
    assert memory.dropped - memory.unfaded > 300 if faded else memory.dropped == memory.unfaded > 300
    assert f"{memory.dropped:,} pairs were forgotten, {memory.unfaded:,} before" in str(memory)


def test_forgetting_everything_forgets_what_was_dropped() -> None:
    stream = meeting()
    past = observed(stream)
    state = past.state()
    past.clear()
    assert memory_of(past).dropped == 0
    past.observe(stream.src, stream.dst, stream.t)
    assert same(state, past.state())


def test_a_budget_that_nodes_alone_exceed_is_refused() -> None:
    with pytest.raises(InputError, match=r"100,000 nodes do not fit .*--state-memory at least [0-9]+MB"):
        KernelCooccurrence(100_000, SIGMA, budget=1_000_000)


@pytest.mark.parametrize("budget", [[10, 0, 0, 0], [9000, 0, -1, 0], [9000, 0, 3, 4]])
def test_a_state_with_an_unsound_budget_is_refused(budget: list[int]) -> None:
    past = observed(meeting(3000))
    state = past.state() | {"budget": torch.tensor(budget)}
    with pytest.raises(InputError, match="budget"):
        past.load_state(state)
