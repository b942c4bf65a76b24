"""Every kind of state keeps the protocol: what is saved and loaded goes on as if nothing had happened."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from conftest import MakeStream
from keat.clock import PLAIN
from keat.events import EventStream
from keat.models.nat.refresh import SlotRefresh
from keat.models.tgn_memory import MemoryUpdate
from keat.state import (
    EventCounts,
    EventHistory,
    EventState,
    FadingCounts,
    Kept,
    NeighborSlots,
    NodeState,
    SlotSizes,
    SnapshotEvents,
    State,
)
from keat.time_encoding import Cosine

NODES = 20


def node_state() -> NodeState:
    torch.manual_seed(0)
    return NodeState(NODES, 0, 4, MemoryUpdate(0, 8, Cosine(8))).eval()


def more_of_nodes() -> NodeState:
    torch.manual_seed(0)
    kept = Kept(around=4, from_first=True)
    return NodeState(NODES, 0, 4, MemoryUpdate(0, 8, Cosine(8)), kept).train()


def history() -> EventHistory:
    return EventHistory(NODES, 0)


def snapshots() -> SnapshotEvents:
    return SnapshotEvents(NODES, 0, 3.0, PLAIN, history=2)


def fading_counts() -> FadingCounts:
    return FadingCounts(NODES, width=30.0)


def neighbor_slots() -> NeighborSlots:
    torch.manual_seed(0)
    refresh = SlotRefresh(0, 6, 3, Cosine(2), PLAIN, absolute=False)
    return NeighborSlots(NODES, 0, SlotSizes(8, 4, 3, 0.9), 3, 6, refresh)


KEEP_EVENTS: dict[str, Callable[[], EventState]] = {
    "of nodes": node_state,
    "more of nodes, in training": more_of_nodes,
    "history": history,
    "of neighbours": neighbor_slots,
}
STATES: dict[str, Callable[[], State]] = {
    **KEEP_EVENTS,
    "counts": EventCounts,
    "fading": fading_counts,
    "snapshots": snapshots,
}


def same(one: State, other: State) -> bool:
    ours, theirs = one.save(), other.save()
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("name", STATES)
def test_a_loaded_state_goes_on_as_the_one_that_was_saved(name: str, random_stream: MakeStream) -> None:
    stream = random_stream(3)
    whole, first, second = (STATES[name]() for _ in range(3))
    second.observe(stream[:30])  # forgotten when another is loaded
    for part in (stream[:100], stream[100:]):
        whole.observe(part)
    first.observe(stream[:100])
    second.load(first.save())
    assert same(first, second)
    second.observe(stream[100:])
    assert same(whole, second)


@pytest.mark.parametrize("name", STATES)
def test_a_cleared_state_is_a_new_one(name: str, random_stream: MakeStream) -> None:
    cleared, new = STATES[name](), STATES[name]()
    cleared.observe(random_stream(4))
    assert not same(cleared, new)
    cleared.clear()
    for state in (cleared, new):
        state.observe(random_stream(5))
    assert same(cleared, new)


@pytest.mark.parametrize("name", KEEP_EVENTS)
def test_events_that_are_kept_can_be_asked_about(name: str, random_stream: MakeStream) -> None:
    stream, state = random_stream(6), KEEP_EVENTS[name]()
    state.reserve(len(stream))
    state.observe(stream)
    assert len(state) == len(state.event_features()) == len(stream)
    assert state.last_time() == stream.t[-1]
    assert state.sources().tolist() == sorted(set(stream.src.tolist()))
    assert state.destinations().tolist() == sorted(set(stream.dst.tolist()))


def one_forgotten() -> EventStream:
    """Node 9 is a destination once, node 8 a source; then rings of four forget it for both of its ends."""
    src, dst = [8, *([9] * 8), *([1] * 8)], [9, *([2] * 8), *([8] * 8)]
    return EventStream.from_arrays(np.array(src), np.array(dst), np.arange(17), num_nodes=NODES)


def test_a_role_is_remembered_when_its_events_are_not() -> None:
    state, loaded, old = node_state(), node_state(), node_state()
    stream = one_forgotten()
    state.observe(stream)
    kept = state.save()
    assert len(kept["log.t"]) < len(stream)
    loaded.load(kept)
    assert loaded.sources().tolist() == state.sources().tolist() == [1, 8, 9]
    assert loaded.destinations().tolist() == state.destinations().tolist() == [2, 8, 9]
    assert same(loaded, state)
    old.load(kept)  # and is forgotten with the state
    old.load({name: value for name, value in kept.items() if name != "roles"})  # as older versions wrote it
    assert (old.sources().tolist(), old.destinations().tolist()) == ([1, 9], [2, 8])


def test_the_newest_events_come_first(random_stream: MakeStream) -> None:
    state, nodes = node_state(), torch.arange(NODES)
    state.observe(random_stream(7, events=30))
    past, ordered = state.slots(nodes), state.slots_newest_first(nodes)
    assert torch.equal(past.mask.sum(dim=1), ordered.mask.sum(dim=1))
    for row, mask, mixed, there in zip(ordered.event, ordered.mask, past.event, past.mask, strict=True):
        assert mask.tolist() == sorted(mask.tolist(), reverse=True)
        assert row[mask].tolist() == sorted(mixed[there].tolist(), reverse=True)
    number = int(ordered.event[0, 0])
    src, dst, happened = state.event(number)
    assert {int(ordered.other[0, 0]), 0} == {src, dst}
    assert happened == ordered.happened[0, 0]
