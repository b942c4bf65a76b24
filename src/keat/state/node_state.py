"""What TGN remembers of a stream: the log of events, the last K of every node, and its memory.

Beside them it keeps what need not be computed twice: memories that the scores of a training batch have read,
and columns of a list of candidates that is asked about again and again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.errors import InputError
from keat.events import EventStream
from keat.ops import Numbering
from keat.state.checking import check_state
from keat.state.event_log import EventLog
from keat.state.memory import NodeMemory
from keat.state.recent_events import RecentEvents


@dataclass(frozen=True, slots=True, eq=False)
class PastEvents:
    """The last events of n nodes one after the other, V in all."""

    seeds: Tensor  # (n, d) memory of the nodes
    x: Tensor  # (M, d) memory of all nodes their events lead to
    last_update: Tensor  # (M,) of these
    first: Tensor  # (n + 1,) where those of each node begin
    row: Tensor  # (V,) row of x: the node at the other end
    event: Tensor  # (V,) number of the event


@dataclass(frozen=True, slots=True, eq=False)
class PastSlots:
    """The same in K slots for each node."""

    seeds: Tensor  # (n, d) memory of the nodes
    x: Tensor  # (M, d) memory of all nodes their events lead to
    index: Tensor  # (n, K) row of x
    mask: Tensor  # (n, K) whether there is an event; where not, the other entries may be any index
    event: Tensor  # (n, K) number of the event
    happened: Tensor  # (n, K) time of the event

    def __getitem__(self, rows: slice) -> PastSlots:
        index, mask, event, happened = (
            part[rows] for part in (self.index, self.mask, self.event, self.happened)
        )
        return PastSlots(self.seeds[rows], self.x, index, mask, event, happened)


class NodeState:
    """Log, recent events and memory as one: observe, read, save, load, grow.

    The three are modules of the model, by which their parameters have their names; this only leads them.
    """

    def __init__(self, log: EventLog, recent: RecentEvents, memory: NodeMemory) -> None:
        self.log, self.recent, self.memory = log, recent, memory
        self.numbering = Numbering()
        self._just_read: tuple[Tensor, Tensor, Tensor] | None = None  # nodes, memory, last update
        self._kept: _KeptColumns | None = None

    def clear(self) -> None:
        """Forget everything; the next event is the first."""
        self.log.clear()
        self.recent.clear()
        self.memory.clear()
        self.forget_computed()
        if not self.memory.training:
            self.memory.flush(self.log)

    def forget_computed(self) -> None:
        """Parameters, or what is remembered, may have changed."""
        self._just_read = self._kept = None

    def make_room_for(self, *ids: npt.NDArray[np.integer]) -> None:
        needed = 1 + max(int(part.max(initial=-1)) for part in ids)
        if needed > len(self.recent.ring):
            size = max(needed, len(self.recent.ring) * 3 // 2)
            self.memory.grow(size)
            self.recent.grow(size)
            self._kept = None

    # -- observing -----------------------------------------------------------------------------------

    def observe(self, events: EventStream) -> None:
        """Take in consecutive events."""
        if len(events) == 0:
            return
        if events.feature_dim != self.log.features.shape[1]:
            raise InputError(
                f"{events.name} has {events.feature_dim} features an event, but the model was made for "
                f"{self.log.features.shape[1]}."
            )
        self.make_room_for(events.src, events.dst)
        numbers = self.log.append(events)
        src, dst = self.log.src[numbers], self.log.dst[numbers]
        nodes, last = self.numbering.last_events(src, dst, numbers)
        with torch.no_grad():
            if not self._keep_just_read(nodes, last):
                self.memory.observe(nodes, last, self.log)
        self._just_read = None
        self.recent.insert(src, dst, numbers)
        if self._kept is not None:
            self._kept.changed[nodes] = True

    def _keep_just_read(self, nodes: Tensor, last: Tensor) -> bool:
        """Where the scores of this batch applied the pending messages of all these nodes already, keep what
        they computed; whether that was so. (Of a crowded time, other events were asked about last.)"""
        if not self.memory.training or self._just_read is None:
            return False
        table, memory, last_update = self._just_read
        distinct, place = self.numbering.distinct(torch.cat((table, nodes)))
        if len(distinct) > len(table):
            return False
        place = place[len(table) :]
        self.memory.write(nodes, memory[place], last_update[place])
        self.memory.pending[nodes] = last
        return True

    # -- reading -------------------------------------------------------------------------------------

    def past(self, nodes: Tensor) -> PastEvents:
        """The last K events of nodes. In training pending messages are applied, with a gradient."""
        first, event, row = self.recent.past(nodes, self.log)
        if not self.memory.training:
            x, last_update = self.memory.memory, self.memory.last_update
            return PastEvents(x.index_select(0, nodes), x, last_update, first, row, event)
        table, place = self.numbering.distinct(torch.cat((nodes, row)))
        x, last_update = self.memory.read(table, self.log)
        self._just_read = (table, x.detach(), last_update)
        own, row = torch.tensor_split(place, [len(nodes)])
        all_differ = len(nodes) == 0 or int(own[-1]) == len(nodes) - 1
        seeds = x[: len(nodes)] if all_differ else x.index_select(0, own)
        return PastEvents(seeds, x, last_update, first, row, event)

    def slots(self, nodes: Tensor) -> PastSlots:
        """The same in slots, in evaluation."""
        events = self.recent.of(nodes)  # (n, K)
        mask = events >= 0
        events = events.clamp(min=0)
        others = torch.where(mask, self.log.other_end(events, nodes[:, None]), nodes[:, None])
        memory = self.memory.memory
        return PastSlots(memory.index_select(0, nodes), memory, others, mask, events, self.log.t[events])

    def forget_read(self) -> None:
        """What was read last is not of the events to come."""
        self._just_read = None

    def stale(self, key: object, nodes: Tensor) -> Tensor:
        """Positions of those nodes of a list whose column is not known, or may have changed since it was: an
        event was observed of the node or of one that it has had an event with. ``key`` is the list's own."""
        if self._kept is None or self._kept.key is not key:
            unknown = torch.ones(len(self.recent.ring), dtype=torch.bool, device=nodes.device)
            self._kept = _KeptColumns(key, None, unknown)
        return self.recent.touched(nodes, self._kept.changed, self.log)

    def renewed(self, nodes: Tensor, stale: Tensor, rows: Tensor) -> Tensor:
        """Columns (d, nodes) of the list, with those that were `stale` as given (stale, d)."""
        kept = self._kept
        assert kept is not None
        before = rows.new_zeros(rows.shape[1], len(nodes)) if kept.columns is None else kept.columns
        kept.columns = before.to(rows.dtype).index_copy_(1, stale, rows.T)
        kept.changed.fill_(False)
        return kept.columns

    # -- checkpoints ---------------------------------------------------------------------------------

    def save(self) -> dict[str, Tensor]:
        """Everything remembered: of the log, only events something still points to."""
        held, place = torch.unique(
            torch.cat((self.recent.ring, self.memory.pending[:, None]), dim=1), return_inverse=True
        )
        none = int(held[0] < 0)
        rows = held[none:]
        log = {f"log.{name}": column[rows] for name, column in self.log.state().items()}
        return log | {
            "ring": place[:, :-1] - none,
            "inserted": self.recent.inserted,
            "memory": self.memory.memory,
            "last_update": self.memory.last_update,
            "pending": place[:, -1] - none,
        }

    def load(self, state: dict[str, Tensor]) -> None:
        log = {f"log.{name}": expected for name, expected in self.log.expected().items()}
        check_state(state, log | self.recent.expected() | self.memory.expected())
        self.log.load_state({name.removeprefix("log."): state[name] for name in log})
        for name in ("ring", "pending"):
            self.log.check_ends(name, state[name])
        self.recent.ring, self.recent.inserted = state["ring"], state["inserted"]
        self.memory.memory, self.memory.last_update = state["memory"], state["last_update"]
        self.memory.pending = state["pending"]
        self.forget_computed()


@dataclass(slots=True, eq=False)
class _KeptColumns:
    """A column for each node of one list, kept up to date as events are observed."""

    key: object
    columns: Tensor | None  # (d, nodes of the list)
    changed: Tensor  # (nodes,) whether a node has had an event since
