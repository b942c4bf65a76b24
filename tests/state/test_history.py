"""The history of events beside a plain search through all of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from keat.errors import InputError
from keat.events import EventStream
from keat.state import EventHistory

NODES = 7


def stream(seed: int, events: int = 80, nodes: int = NODES, times: int = 25) -> EventStream:
    """Few nodes and times: nodes repeat, times tie, and some events are of a node with itself."""
    rng = np.random.default_rng(seed)
    return EventStream.from_arrays(
        rng.integers(0, nodes, events),
        rng.integers(0, nodes, events),
        10**9 + np.sort(rng.integers(0, times, events)),
        features=rng.normal(size=(events, 3)).astype(np.float32),
        num_nodes=nodes,
    )


def search(events: EventStream, node: int, t: int, k: int) -> list[int]:
    """Entries of ``node`` before ``t``, by looking at every event."""
    entries = [
        2 * i + side
        for i in range(len(events))
        for side, end in enumerate((events.src[i], events.dst[i]))
        if end == node and events.t[i] < t
    ][-k:]
    return [-1] * (k - len(entries)) + entries


@given(seed=st.integers(0, 10**6), block=st.integers(1, 80), k=st.integers(1, 12))
def test_before_is_a_search_through_all_events(seed: int, block: int, k: int) -> None:
    events = stream(seed)
    history = EventHistory(2, 3, capacity=1)  # both nodes and events must make room
    for part in events.blocks(block):
        history.observe(part)
    nodes = np.arange(NODES).repeat(27)
    t = np.tile(10**9 + np.arange(27), NODES)
    found = history.before(nodes, t, k)
    for row, node, time in zip(found, nodes, t, strict=True):
        assert row.tolist() == search(events, int(node), int(time), k)


@given(seed=st.integers(0, 10**6))
def test_the_second_hop_is_before_of_the_other_end_at_that_time(seed: int) -> None:
    events = stream(seed)
    history = EventHistory(NODES, 3)
    history.observe(events)
    entries = np.arange(2 * len(events))
    expected = history.before(history.other_end(entries), history.time_of(entries), 5)
    assert np.array_equal(history.before_entries(entries, 5), expected)
    assert np.array_equal(history.before_entries(np.array([-1, 3]), 5)[1], expected[3])
    assert (history.before_entries(np.array([-1, 3]), 5)[0] == -1).all()


def test_columns_by_entry() -> None:
    events = stream(0)
    history = EventHistory(NODES, 3)
    history.observe(events)
    entries = np.arange(2 * len(events))
    event = history.event_of(entries)
    assert np.array_equal(history.other_end(entries), np.stack((events.dst, events.src), axis=1).ravel())
    assert np.array_equal(history.time_of(entries), events.t[event])
    assert torch.equal(history.messages[event], torch.from_numpy(events.features.copy())[event])
    assert history.event_of(np.array([-1])) == -1
    slots = history.slots(np.array([[-1, 5, 4]]))
    assert slots.mask.tolist() == [[False, True, True]]
    assert slots.event[0, 1:].tolist() == [2, 2]
    assert slots.other[0, 1:].tolist() == [int(events.src[2]), int(events.dst[2])]
    assert slots.happened[0, 1:].tolist() == [int(events.t[2])] * 2


def test_nodes_without_events_or_never_heard_of_have_none() -> None:
    history = EventHistory(0, 3)
    late = np.array([2 * 10**9] * 2)
    assert (history.before(np.array([0, 99]), late, 4) == -1).all()
    history.observe(stream(1))
    found = history.before(np.array([99, 0]), late, 4)
    assert (found[0] == -1).all()
    assert (found[1] >= 0).all()
    history.clear()
    assert len(history) == 0
    assert (history.before(np.array([0, 99]), late, 4) == -1).all()


def test_state_brings_everything_back_and_can_be_continued() -> None:
    events = stream(2)
    whole, first = EventHistory(NODES, 3), EventHistory(NODES, 3)
    whole.observe(events)
    first.observe(events[:50])
    again = EventHistory(NODES, 3)
    again.observe(stream(5))  # forgotten on load
    again.load(first.save())
    again.observe(events[50:])
    assert len(again) == len(whole)
    for name, column in whole.save().items():
        assert torch.equal(again.save()[name], column)
    nodes, t = np.arange(NODES), np.full(NODES, 10**9 + 20)
    assert np.array_equal(again.before(nodes, t, 9), whole.before(nodes, t, 9))


def test_other_features_are_refused() -> None:
    with pytest.raises(InputError, match="3 features an event, but the model was made for 4"):
        EventHistory(NODES, 4).observe(stream(0))


def test_absent_slots_of_an_empty_history_lead_to_a_node_that_exists() -> None:
    history = EventHistory(NODES, 3, capacity=1)
    history.reserve(4096)
    nodes = np.arange(NODES)
    slots = history.slots(history.before(nodes, np.full(NODES, 5), 3))
    assert not slots.mask.any()
    for column in (slots.other, slots.event, slots.happened):
        assert torch.equal(column, torch.zeros(NODES, 3, dtype=torch.int64))


@given(seed=st.integers(0, 10**6), event=st.integers(0, 79), k=st.integers(1, 12))
def test_without_an_event_is_a_search_through_the_others(seed: int, event: int, k: int) -> None:
    events = stream(seed)
    history = EventHistory(NODES, 3)
    history.observe(events)
    nodes = np.arange(NODES).repeat(27)
    t = np.tile(10**9 + np.arange(27), NODES)
    before = history.before(nodes, t, k)
    with history.without(event):
        found = history.before(nodes, t, k)
    for row, node, time in zip(found, nodes, t, strict=True):
        others = [
            entry for entry in search(events, int(node), int(time), 200) if entry >= 0 and entry >> 1 != event
        ]
        assert row[row >= 0].tolist() == others[-k:]
    assert (history.before(nodes, t, k) == before).all()
