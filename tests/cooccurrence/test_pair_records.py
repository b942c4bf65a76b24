"""Tables that grow are the same as tables that were large from the start, whatever the batches."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from keat.cooccurrence import KernelCooccurrence
from keat.cooccurrence.pair_index import BITS, BORDER
from keat.cooccurrence.pair_records import with_room
from keat.events import EventStream
from keat.state import growing

SIGMA = 50.0
KNOWN = 10  # nodes that a co-occurrence is made for; others come as they come


@pytest.fixture(params=["copied", "in place"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small arrays are copied when they grow; here they also grow as large ones do."""
    if request.param == "in place":
        monkeypatch.setattr(growing, "LARGE", 1)


def ever_new(events: int, seed: int = 0) -> EventStream:
    """Nodes come one after the other, and hardly any pair meets twice."""
    rng = np.random.default_rng(seed)
    known = 2 + np.arange(events) // 3
    src, dst = (rng.random((2, events)) ** 0.3 * known).astype(np.int32)
    return EventStream.from_arrays(src, dst, np.arange(events) // 2)


def observed(stream: EventStream, ends: Iterable[int], num_nodes: int = KNOWN) -> KernelCooccurrence:
    past = KernelCooccurrence(num_nodes, SIGMA)
    first = 0
    for end in [*sorted(ends), len(stream)]:
        past.observe(stream.src[first:end], stream.dst[first:end], stream.t[first:end])
        first = end
    return past


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.usefixtures("either_way")
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 100), ends=st.lists(st.integers(0, 3000), max_size=12))
def test_the_state_does_not_tell_how_it_was_observed(seed: int, ends: list[int]) -> None:
    """Nor how much room there was: nodes that never had an event are not kept."""
    stream = ever_new(3000, seed)
    assert same(observed(stream, ends).state(), observed(stream, []).state())


@pytest.mark.usefixtures("either_way")
def test_growing_at_every_boundary_is_having_been_large() -> None:
    """With room for one event at a time, as if every event were a boundary."""
    stream = ever_new(2500)
    large = KernelCooccurrence(KNOWN, SIGMA)
    large.make_room(stream.num_nodes)
    large.observe(stream.src, stream.dst, stream.t)
    grown = observed(stream, range(0, len(stream), 1))
    assert len(large.tables.nodes) >= stream.num_nodes
    assert same(large.state(), grown.state())
    everyone = np.arange(stream.num_nodes + 5, dtype=np.int32)
    late = np.full(3, 5000)
    read = [past.read(everyone[-8:-5], late, everyone) for past in (large, grown)]
    assert torch.equal(read[0].pair, read[1].pair)
    assert torch.equal(read[0].source, read[1].source)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("end", [515, 560, 640, 1027, 1100])
def test_a_state_that_is_saved_amid_a_doubling_is_loaded(end: int) -> None:
    stream = ever_new(2000, seed=4)
    pairs = len({*zip(stream.src[:end].tolist(), stream.dst[:end].tolist(), strict=True)})
    past = observed(stream[:end], [])
    loaded = KernelCooccurrence(KNOWN, SIGMA)
    loaded.load_state(past.state())
    assert past.tables.clock[0] == loaded.tables.clock[0] == pairs
    for each in (past, loaded):
        each.observe(stream.src[end:], stream.dst[end:], stream.t[end:])
    assert same(past.state(), loaded.state())


def test_some_of_these_moments_are_amid_a_doubling() -> None:
    layouts = [
        observed(ever_new(2000, seed=4)[:end], []).tables.layout for end in (515, 560, 640, 1027, 1100)
    ]
    assert any(layout[BORDER] < 1 << layout[BITS] for layout in layouts)


def test_asking_for_strangers_leaves_nothing_in_the_state() -> None:
    stream = ever_new(300)
    past = observed(stream, [])
    before = past.state()
    past.read(np.array([5], np.int32), np.array([9999]), np.array([800, 2], np.int32))
    assert len(past.tables.nodes) > 800
    assert same(before, past.state())


def test_room_is_made_where_there_is_none_alone() -> None:
    past = observed(ever_new(100), [])
    tables = with_room(past.tables)
    assert tables.pairs is past.tables.pairs
    assert tables.shelves is past.tables.shelves
    assert tables.places is past.tables.places
