"""The log lets go of what nothing points to, and nobody who reads it can tell."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from keat.events import EventStream
from keat.models.registry import build_model
from keat.models.tgn import TGN
from keat.models.tgn_config import TGNConfig
from keat.state import event_log

EVENTS = 600


def make_stream(seed: int, nodes: int = 30) -> EventStream:
    """Some nodes are there all the time, and every now and then there is a new one that stays quiet."""
    rng = np.random.default_rng(seed)
    known = 2 + np.arange(EVENTS) * nodes // EVENTS
    src, dst = (rng.random((2, EVENTS)) ** 2 * known).astype(np.int32)
    features = rng.random((EVENTS, 2)).astype(np.float32)
    return EventStream.from_arrays(src, dst, np.arange(EVENTS) // 2, features)


def model_of(stream: EventStream, ends: list[int], neighbors: int = 3) -> TGN:
    first = stream[:10]
    known = EventStream.from_arrays(first.src, first.dst, first.t, first.features)
    model: TGN = build_model(known, TGNConfig(dim=4, neighbors=neighbors), sigma=5.0)
    start = 0
    for end in [*sorted(ends), len(stream)]:
        model.observe(stream[start:end])
        start = end
    return model


def same(one: TGN, other: TGN) -> bool:
    states = one.stream_state(), other.stream_state()
    return states[0].keys() == states[1].keys() and all(
        torch.equal(states[0][n], states[1][n]) for n in states[0]
    )


@settings(max_examples=5)
@given(seed=st.integers(0, 50), size=st.integers(5, 40), few=st.integers(1, 200))
def test_letting_go_leaves_the_state_as_it_is(seed: int, size: int, few: int) -> None:
    stream, ends = make_stream(seed), list(range(size, EVENTS, size))
    whole = model_of(stream, ends)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_log, "FEWEST", few)
        model = model_of(stream, ends)
    assert len(whole.state) == EVENTS
    assert len(model.state) < EVENTS or size > 20
    assert same(whole, model)
    everyone = torch.arange(model.state.num_nodes)
    found, expected = (each.state.slots_newest_first(everyone) for each in (model, whole))
    assert torch.equal(found.mask, expected.mask)
    assert torch.equal(found.other, expected.other)
    events = found.event[found.mask], expected.event[expected.mask]
    assert torch.equal(model.state.messages[events[0]], whole.state.messages[events[1]])
    assert [model.state.event(i) for i in events[0].tolist()] == [
        whole.state.event(i) for i in events[1].tolist()
    ]
    for told in ("sources", "destinations", "last_time"):
        assert np.array_equal(getattr(model, told)(), getattr(whole, told)())


def test_the_log_stays_as_long_as_what_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "FEWEST", 50)
    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, 8, (2, 5000))
    stream = EventStream.from_arrays(src, dst, np.arange(5000), num_nodes=8)
    model = model_of(stream, list(range(20, 5000, 20)))
    assert len(model.state) <= 3 * 8 * 3 + 40  # at most twice what rings hold, and what comes meanwhile
    assert len(model.state.event_features()) <= len(model.state)
    assert len(model.state.messages) < 1200


def test_nothing_is_let_go_of_in_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """There numbers of events are kept for the next batch."""
    monkeypatch.setattr(event_log, "FEWEST", 50)
    stream = make_stream(1)
    model = model_of(stream[:40], [])
    model.train()
    for block in stream[40:].blocks(20):
        model.observe(block)
    assert len(model.state) == EVENTS


@pytest.mark.parametrize("moment", range(100, 200, 30))
def test_a_state_saved_amid_letting_go_is_loaded(monkeypatch: pytest.MonkeyPatch, moment: int) -> None:
    monkeypatch.setattr(event_log, "FEWEST", 50)
    stream = make_stream(2)
    ends = list(range(10, EVENTS, 10))
    model = model_of(stream[:moment], [end for end in ends if end < moment])
    loaded, copied = copy.deepcopy(model), copy.deepcopy(model)
    loaded.load_stream_state({name: value.clone() for name, value in model.stream_state().items()})
    for each in (model, loaded, copied):
        for block in stream[moment:].blocks(10):
            each.observe(block)
    assert same(model, loaded)
    assert same(model, copied)


def test_room_for_nodes_is_not_part_of_the_state() -> None:
    stream = make_stream(3, nodes=200)
    batches = list(range(20, EVENTS, 20))
    one, other = model_of(stream, batches), model_of(stream, batches)
    other.state.make_room_for(np.array([999]))
    assert other.state.num_nodes == 1000
    assert same(one, other)
    assert len(one.stream_state()["ring"]) == stream.num_nodes
