"""Slots for neighbours against dictionaries that are written one event after the other."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from keat.errors import InputError
from keat.events import EventStream
from keat.state import HeldSlots, NeighborSlots, SlotSizes

NODES = 24


class Count:
    """A rule without parameters: what is remembered says how often it was read, and when last."""

    def refreshed(self, held: HeldSlots, t: Tensor) -> tuple[Tensor, Tensor]:
        mask = held.mask[..., None].float()
        return held.memory[held.node] + t[:, None].float(), (held.rep + 1) * mask


def make(overwrite: float = 1.0, near: int = 8, far: int = 4, multiplier: int = 3) -> NeighborSlots:
    return NeighborSlots(NODES, 0, SlotSizes(near, far, multiplier, overwrite), 1, 1, Count())


def stream_of(*events: tuple[int, int, int]) -> EventStream:
    src, dst, t = zip(*events, strict=True)
    return EventStream.from_arrays(src, dst, t, num_nodes=NODES)


def held_by(state: NeighborSlots, node: int) -> tuple[set[int], set[int]]:
    near = state.sizes.near
    keys = state.key[node]
    return tuple(  # type: ignore[return-value]
        set(part[part >= 0].tolist()) for part in (keys[1 : 1 + near], keys[1 + near :])
    )


def test_neighbours_and_theirs_after_two_events() -> None:
    state = make()
    state.observe(stream_of((1, 2, 5)))
    state.observe(stream_of((1, 3, 6)))
    assert held_by(state, 1) == ({2, 3}, set())
    assert held_by(state, 2) == ({1}, set())
    assert held_by(state, 3) == ({1}, {2})
    together = make()
    together.observe(stream_of((1, 2, 5), (1, 3, 6)))  # read as they were before
    assert held_by(together, 1) == ({2, 3}, set())
    assert held_by(together, 3) == ({1}, set())


def plain(events: EventStream, block: int, sizes: SlotSizes) -> dict[int, dict[int, tuple[int, int, float]]]:
    """node → slot → (key, event, rep), by the rules of the class, for slots that are always overwritten."""
    slots: dict[int, dict[int, tuple[int, int, float]]] = {node: {} for node in range(NODES)}

    def place(key: int, size: int) -> int:
        return (sizes.multiplier * key + (sizes.multiplier + 1) * key * key) % size

    for start in range(0, len(events), block):
        before = {
            node: {slot: (key, event, rep + 1) for slot, (key, event, rep) in held.items()}
            for node, held in slots.items()
        }
        for number in range(start, min(start + block, len(events))):
            ends = int(events.src[number]), int(events.dst[number])
            for node, other in (ends, ends[::-1]):
                itself = before[node].get(0, (node, 0, 0.0))
                slots[node][0] = (node, number, itself[2])
                near = 1 + place(other, sizes.near)
                known = before[node].get(near)
                slots[node][near] = (other, number, known[2] if known and known[0] == other else 0.0)
                theirs = [held for slot, held in before[other].items() if 1 <= slot <= sizes.near]
                for key, event, rep in sorted(theirs, key=lambda held: held[1]):
                    slots[node][1 + sizes.near + place(key, sizes.far)] = (key, event, rep)
    return slots


@pytest.mark.parametrize("block", [1, 7, 200])
@pytest.mark.parametrize("multiplier", [2, 3])
def test_slots_are_those_of_dictionaries(block: int, multiplier: int) -> None:
    rng = np.random.default_rng(0)
    events = EventStream.from_arrays(
        rng.integers(0, 20, 200), rng.integers(0, 20, 200), np.sort(rng.integers(0, 60, 200)), num_nodes=NODES
    )
    state = make(multiplier=multiplier)
    for part in events.blocks(block):
        state.observe(part)
    expected = plain(events, block, state.sizes)
    for node in range(NODES):
        for slot in range(state.sizes.total):
            nothing = (node if slot == 0 else -1, -1, 0.0)
            found = (int(state.key[node, slot]), int(state.event[node, slot]), float(state.rep[node, slot]))
            assert found == expected[node].get(slot, nothing), (node, slot)


def test_a_slot_is_overwritten_as_often_as_asked() -> None:
    """Nodes 1 and 9 share a slot of node 0, which holds the one that was there first, or the other."""
    kept = 0
    state = make(overwrite=0.3)
    for number in range(600):
        state.key[0, 1:], state.event[0, 1:] = -1, -1
        state.observe(stream_of((0, 1, number)))
        state.observe(stream_of((0, 9, number)))
        kept += 1 in held_by(state, 0)[0]
    assert kept / 600 == pytest.approx(0.7, abs=0.06)
    never = make(overwrite=0.0)
    never.observe(stream_of((0, 1, 0)))
    never.observe(stream_of((0, 9, 1), (0, 1, 1)))
    assert held_by(never, 0)[0] == {1}
    assert int(never.event[0].max()) == 2  # the same node is always written again


def test_roles_stay_known_when_events_are_forgotten() -> None:
    state, other = make(), make()
    state.observe(stream_of((1, 2, 0)))
    for time in range(1, 9):
        state.observe(stream_of((3, 1, time), (3, 2, time)))
    other.load(state.save())
    assert len(other) < len(state)
    assert (other.sources().tolist(), other.destinations().tolist()) == ([1, 3], [1, 2])


def test_a_state_that_points_astray_is_refused() -> None:
    state = make()
    state.observe(stream_of((1, 2, 0), (3, 4, 1)))
    saved = state.save()
    strange = {name: value.clone() for name, value in saved.items()}
    strange["key"][5, 0] = 6
    with pytest.raises(InputError, match="'key' does not begin with the node itself"):
        make().load(strange)
    strange = {name: value.clone() for name, value in saved.items()}
    strange["event"][1] = torch.where(strange["event"][1] >= 0, 1, -1)
    with pytest.raises(InputError, match="'event' holds an event of other nodes for a node"):
        make().load(strange)
    strange = {name: value.clone() for name, value in saved.items()}
    strange["key"][7, 3] = 2
    with pytest.raises(InputError, match="'event' and 'key' are not of the same slots"):
        make().load(strange)
