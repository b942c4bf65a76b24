"""Of every node a fixed number of slots: itself, neighbours, and neighbours of those, found by a hash.

Where a node would be held follows from its id alone, so whether two nodes have it in common is asked with one
look into each of a few slots; nothing is searched. An event costs as much whoever its ends are.

The reference keeps ids, event numbers and times as float32, which rounds event numbers above 16 million and
Unix times to 128 seconds. It writes in a shuffled order and draws whether to overwrite. Here they are whole
numbers, written in the order of events, and whether to overwrite is a hash of the number of the event and the
slot: the same stream in the same pieces always leaves the same state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.events import EventStream
from keat.state.checking import Expected, check_feature_dim, check_state, check_that, whole
from keat.state.event_log import EventLog

NONE = -1
_GOLDEN, _MIXER = -7046029254386353131, -4658895280553007687  # odd, as int64: those of splitmix64


@dataclass(frozen=True, slots=True)
class SlotSizes:
    """Slots of a node: itself, ``near`` for neighbours and ``far`` for theirs; both are powers of two."""

    near: int
    far: int
    multiplier: int  # a of the hash
    overwrite: float  # probability that a slot which holds another node is given to a new one

    @property
    def total(self) -> int:
        return 1 + self.near + self.far

    def places(self, keys: Tensor) -> tuple[Tensor, Tensor]:
        """Where nodes would be among the neighbours, and among theirs."""
        near, far = hash_slot(keys, self.multiplier, self.near), hash_slot(keys, self.multiplier, self.far)
        return 1 + near, 1 + self.near + far


def hash_slot(keys: Tensor, multiplier: int, size: int) -> Tensor:
    """(a·w + (a + 1)·w²) mod M. Where M is a power of two and a is odd, each residue of w gets a slot of its
    own; with an even a most slots are never used."""
    residue = keys % size  # so that the square fits
    return (multiplier * residue + (multiplier + 1) * residue * residue) % size


@dataclass(frozen=True, slots=True, eq=False)
class HeldSlots:
    """The slots of n nodes, M each, and the tables that they point into."""

    node: Tensor  # (n,)
    key: Tensor  # (n, M) the node that is held, or -1; the first is the node itself
    event: Tensor  # (n, M) number of the event it was held at, or -1
    happened: Tensor  # (n, M) its time; where there is none, any
    rep: Tensor  # (n, M, d) what is remembered of it
    opposite: Tensor  # (n,) the other end of the node's last event; where there is none, the node itself
    memory: Tensor  # (N, S) of all nodes
    messages: Tensor  # (E, R) of all events

    @property
    def mask(self) -> Tensor:
        """Which slots have an event, (n, M). The first has none until the node's first event."""
        return self.event >= 0


class Refresh(Protocol):
    """The learned rule by which what is remembered takes in the events it was held at."""

    def refreshed(self, held: HeldSlots, t: Tensor) -> tuple[Tensor, Tensor]:
        """Memories (n, S) of the nodes and representations (n, M, d) of their slots at times (n,)."""
        ...


class NeighborSlots(nn.Module):
    """Slots and memories of all nodes. It is an `EventState`.

    Of events that are observed together, each end reads the slots as they were before, at the time of its
    event. It then holds the other end among its neighbours, and those the other end held there among its
    neighbours' neighbours. A slot that is empty or holds the same node is written; one that holds another is
    overwritten with a probability. Of several writes to a slot the last counts.
    """

    key: Tensor  # (nodes, M)
    event: Tensor  # (nodes, M)
    rep: Tensor  # (nodes, M, d)
    memory: Tensor  # (nodes, S)
    role: Tensor  # (nodes, 2) whether a node has been a source, a destination
    refresh: Refresh

    def __init__(
        self, num_nodes: int, feature_dim: int, sizes: SlotSizes, rep: int, memory: int, refresh: Refresh
    ) -> None:
        super().__init__()
        self.sizes, self.observed = sizes, 0
        self.__dict__["refresh"] = refresh  # its parameters are the model's, under the model's names
        self._log = EventLog(feature_dim)
        blank = {
            "key": torch.empty(0, sizes.total, dtype=torch.int64),
            "event": torch.empty(0, sizes.total, dtype=torch.int64),
            "rep": torch.empty(0, sizes.total, rep),
            "memory": torch.empty(0, memory),
            "role": torch.empty(0, 2, dtype=torch.bool),
        }
        for name, value in blank.items():
            self.register_buffer(name, value, persistent=False)
        self.grow(num_nodes)

    @property
    def num_nodes(self) -> int:
        return len(self.key)

    def clear(self) -> None:
        self._log.clear()
        self.observed = 0
        self.key[:, 1:] = self.event[:] = NONE
        for table in (self.rep, self.memory, self.role):
            table.zero_()

    def reserve(self, events: int) -> None:
        self._log.reserve(events)

    def grow(self, num_nodes: int) -> None:
        """Nodes that have not been seen hold nobody but themselves."""
        old = len(self.key)
        if num_nodes <= old:
            return
        for name in ("key", "event", "rep", "memory", "role"):
            table = getattr(self, name)
            fill = NONE if name in ("key", "event") else 0
            setattr(self, name, torch.cat((table, table.new_full((num_nodes - old, *table.shape[1:]), fill))))
        self.key[old:, 0] = torch.arange(old, num_nodes, device=self.key.device)

    def make_room_for(self, *ids: npt.NDArray[np.integer]) -> None:
        needed = 1 + max(int(part.max(initial=-1)) for part in ids)
        if needed > self.num_nodes:
            self.grow(max(needed, self.num_nodes * 3 // 2))

    # -- reading and observing -----------------------------------------------------------------------

    def held(self, nodes: Tensor) -> HeldSlots:
        event = self.event[nodes]
        numbers = event.clamp(min=0)
        last = numbers[:, 0]
        opposite = torch.where(event[:, 0] >= 0, self._log.other_end(last, nodes), nodes)
        slots = (nodes, self.key[nodes], event, self._log.t[numbers], self.rep[nodes])
        return HeldSlots(*slots, opposite, self.memory, self._log.features)

    def observe(self, events: EventStream) -> None:
        if len(events) == 0:
            return
        check_feature_dim(events, self._log.features.shape[1])
        self.make_room_for(events.src, events.dst)
        number = self._log.append(events)
        src, dst = self._log.src[number], self._log.dst[number]
        self.role[src, 0] = self.role[dst, 1] = True
        ends = torch.stack((src, dst), dim=1)  # (E, 2)
        nodes, others = ends.flatten(), ends.flip(1).flatten()  # (2E,) the other end is in the row beside it
        number = number.repeat_interleave(2)
        held = self.held(nodes)
        with torch.no_grad():
            memory, rep = self.refresh.refreshed(held, self._log.t[number])
        rep = rep.to(self.rep.dtype)
        self._write_memory(nodes, memory.to(self.memory.dtype))
        self._write_slots(nodes, others, number, held, rep)
        self.observed += len(events)

    def _write_memory(self, nodes: Tensor, memory: Tensor) -> None:
        last = _last_of_each(nodes)
        self.memory[nodes[last]] = memory[last]

    def _write_slots(
        self, nodes: Tensor, others: Tensor, number: Tensor, held: HeldSlots, rep: Tensor
    ) -> None:
        near, total = self.sizes.near, self.sizes.total
        row = torch.arange(len(nodes), device=nodes.device)
        place = self.sizes.places(others)[0]  # (n,) of the other end
        again = held.key[row, place] == others
        same = torch.where(again[:, None], rep[row, place], 0)
        # What the other end held among its neighbours, the newest last, so that it stays.
        newest, order = held.event[:, 1 : 1 + near].sort(dim=1)
        beside = row ^ 1
        far_event, order = newest[beside], order[beside] + 1  # (n, near)
        far_key = held.key[beside].gather(1, order)
        far_rep = rep[beside[:, None], order]
        far_place = self.sizes.places(far_key)[1]
        key = torch.cat((nodes[:, None], others[:, None], far_key), dim=1)  # (n, 2 + near)
        event = torch.cat((number[:, None], number[:, None], far_event), dim=1)
        value = torch.cat((rep[:, :1], same[:, None], far_rep), dim=1)
        slot = torch.cat((torch.zeros_like(place)[:, None], place[:, None], far_place), dim=1)
        before = held.key.gather(1, slot)
        write = (key >= 0) & ((before < 0) | (before == key) | self._chance(row, slot))
        target = (nodes[:, None] * total + slot)[write]
        last = _last_of_each(target)
        target = target[last]
        self.key.view(-1)[target] = key[write][last]
        self.event.view(-1)[target] = event[write][last]
        self.rep.view(-1, rep.shape[2])[target] = value[write][last]

    def _chance(self, row: Tensor, slot: Tensor) -> Tensor:
        """Whether to overwrite: a hash of how many ends came before this one, and the slot."""
        word = (2 * self.observed + row)[:, None] * self.sizes.total + slot
        for _ in range(2):
            word = (word + 1) * _GOLDEN
            word = (word ^ ((word >> 31) & 0x1FFFFFFFF)) * _MIXER
            word = word ^ ((word >> 29) & 0x7FFFFFFFF)
        return (word & 0xFFFFFFFF) < int(self.sizes.overwrite * (1 << 32))

    # -- what has been seen --------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._log.length

    def last_time(self) -> int:
        return int(self._log.state()["t"].max())

    def sources(self) -> npt.NDArray[np.int32]:
        return self.role[:, 0].nonzero()[:, 0].cpu().numpy().astype(np.int32)

    def destinations(self) -> npt.NDArray[np.int32]:
        return self.role[:, 1].nonzero()[:, 0].cpu().numpy().astype(np.int32)

    def event_features(self) -> Tensor:
        return self._log.state()["features"]

    # -- checkpoints ---------------------------------------------------------------------------------

    def save(self) -> dict[str, Tensor]:
        """Of the log, only events that a slot still points to."""
        held, place = torch.unique(self.event, return_inverse=True)
        none = int((held < 0).any())
        log = {f"log.{name}": column[held[none:]] for name, column in self._log.state().items()}
        tables = {name: getattr(self, name) for name in ("key", "rep", "memory", "role")}
        return log | tables | {"event": place - none, "observed": torch.tensor(self.observed)}

    def load(self, state: dict[str, Tensor]) -> None:
        slots = self.sizes.total
        log = {f"log.{name}": expected for name, expected in self._log.expected().items()}
        tables = {
            "key": whole("nodes", slots, lowest=NONE, below="nodes"),
            "event": whole("nodes", slots, lowest=NONE, below="events"),
            "rep": Expected(self.rep.dtype, ("nodes", slots, self.rep.shape[2])),
            "memory": Expected(self.memory.dtype, ("nodes", self.memory.shape[1])),
            "role": Expected(torch.bool, ("nodes", 2)),
            "observed": whole(lowest=0),
        }
        check_state(state, log | tables)
        own = torch.arange(len(state["key"]), device=state["key"].device)
        check_that(state["key"][:, 0] == own, "'key' does not begin with the node itself")
        there = (state["event"] >= 0) == (state["key"] >= 0)
        check_that(there[:, 1:], "'event' and 'key' are not of the same slots")
        self._log.load_state({name.removeprefix("log."): state[name] for name in log})
        for hop in (slice(0, 1), slice(1, 1 + self.sizes.near)):
            self._log.check_ends("event", state["event"][:, hop])
        for name in ("key", "event", "rep", "memory", "role"):
            setattr(self, name, state[name].clone())
        self.observed = int(state["observed"])


def _last_of_each(ids: Tensor) -> Tensor:
    """The last place of each distinct id (n,)."""
    ordered, order = torch.sort(ids, stable=True)
    last = torch.ones_like(ordered, dtype=torch.bool)
    last[:-1] = ordered[1:] != ordered[:-1]
    return order[last]
