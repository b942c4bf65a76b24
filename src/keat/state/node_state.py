"""What TGN remembers of a stream: the log of events, the last K of every node, and its memory.

Beside them it keeps what need not be computed twice: memories that the scores of a training batch have read,
and columns of a list of candidates that is asked about again and again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.events import EventStream
from keat.ops import Numbering
from keat.state.checking import check_feature_dim, check_state, check_that, whole
from keat.state.event_log import EventLog
from keat.state.growing import lengthened
from keat.state.memory import NONE, Kept, NodeMemory, Update
from keat.state.neighbor_graph import NeighborGraph
from keat.state.past_events import PastEvents, PastNodes, PastSlots
from keat.state.recent_events import RecentEvents
from keat.state.tensors import as_tensor

SOURCE, DESTINATION = 1, 2  # what a node has been, as bits
STEP = 1 << 13  # nodes that there is room for at once, where there are many
LOOKED_AT = 4  # rows of the log for each event, when it lets go of those that nothing holds


class NodeState(nn.Module):
    """Log, recent events and memory as one. It is an `EventState`, and a module so that it moves with the
    model; it has no parameters: ``update``, the rule by which memories change, belongs to the model."""

    def __init__(
        self,
        num_nodes: int,
        feature_dim: int,
        neighbors: int,
        update: Update,
        kept: Kept = Kept(),  # noqa: B008  (immutable)
    ) -> None:
        super().__init__()
        self._log = EventLog(feature_dim)
        self._recent = RecentEvents(num_nodes, neighbors)
        self._memory = NodeMemory(num_nodes, update, kept)
        self._numbering = Numbering()
        self._just_read: tuple[Tensor, Tensor, Tensor] | None = None  # nodes, memory, last update
        self._kept: _KeptColumns | None = None
        self._graph: NeighborGraph | None = None
        self._made_for = num_nodes
        self._roles = np.zeros(num_nodes, dtype=np.int8)  # of nodes: events that told it may be let go of

    def train(self, mode: bool = True) -> Self:
        """Entering evaluation applies all pending messages; parameters may have changed either way."""
        if self.training and not mode:
            self._memory.flush(self._log)
        self._forget_computed()
        return super().train(mode)

    def clear(self) -> None:
        self._roles[:] = 0
        self._log.clear()
        self._recent.clear()
        self._memory.clear()
        self._forget_computed()
        if not self.training:
            self._memory.flush(self._log)

    def _forget_computed(self) -> None:
        """Parameters, or what is remembered, may have changed."""
        self._just_read = self._kept = self._graph = None

    def reserve(self, events: int) -> None:
        self._log.reserve(events)

    def grow(self, num_nodes: int) -> None:
        """Nothing: a state that is loaded says itself how many nodes there are."""

    def make_room_for(self, *ids: npt.NDArray[np.integer]) -> None:
        """Nodes that have not been seen get the memory of a node without events."""
        needed = 1 + max(int(part.max(initial=-1)) for part in ids)
        if needed > self.num_nodes:
            size = max(needed, self.num_nodes + min(self.num_nodes // 2, STEP))
            self._memory.grow(size)
            self._recent.grow(size)
            self._roles = lengthened(self._roles, size)
            self._kept = self._graph = None

    # -- observing -----------------------------------------------------------------------------------

    def observe(self, events: EventStream) -> None:
        if len(events) == 0:
            return
        check_feature_dim(events, self.messages.shape[1])
        self.make_room_for(events.src, events.dst)
        if len(self) == 0:
            self._memory.begin(int(events.t[0]))
        numbers = self._log.append(events)
        src, dst = self._log.src[numbers], self._log.dst[numbers]
        nodes, last = self._numbering.last_events(src, dst, numbers)
        around = self._around(nodes, last)
        with torch.no_grad():
            if not self._keep_just_read(nodes, last, around):
                self._memory.observe(nodes, last, self._log, around)
        self._just_read = self._graph = None
        self._recent.insert(src, dst, numbers)
        self._roles[events.src] |= SOURCE
        self._roles[events.dst] |= DESTINATION
        if self._kept is not None:
            self._kept.changed[nodes] = True
        if not self.training and not self._memory.kept.around and src.device.type == "cpu":
            self._log.let_go(self._recent.ring, self._memory.pending, LOOKED_AT * len(events))

    def _around(self, nodes: Tensor, last: Tensor) -> Tensor | int:
        """Of the last event of each node, what its other end had had before, if that is kept."""
        return self._recent.of(self._log.other_end(last, nodes)) if self._memory.kept.around else NONE

    def _keep_just_read(self, nodes: Tensor, last: Tensor, around: Tensor | int) -> bool:
        """Where the scores of this batch applied the pending messages of all these nodes already, keep what
        they computed; whether that was so. (Of a crowded time, other events were asked about last.)"""
        if not self._memory.waits or self._just_read is None:
            return False
        table, memory, last_update = self._just_read
        distinct, place = self.distinct(torch.cat((table, nodes)))
        if len(distinct) > len(table):
            return False
        place = place[len(table) :]
        self._memory.write(nodes, memory[place], last_update[place])
        self._memory.expect(nodes, last, around)
        return True

    def replace_events(self, first: int, events: EventStream) -> None:
        """Let events from number ``first`` on have the times and features of others, for all who look them up
        from now on. What has reached the memory stays."""
        rows = slice(first, first + len(events))
        self._log.t[rows], self._log.features[rows] = as_tensor(events.t), as_tensor(events.features)
        self._graph = None

    # -- reading -------------------------------------------------------------------------------------

    def past(self, nodes: Tensor) -> PastEvents:
        """The last K events of nodes. In training pending messages are applied, with a gradient, and what
        that gave is kept until the next events are observed (or `forget_read`): they mostly are of the same
        nodes. This is the one thing that a score leaves behind, and the state is the same without it."""
        first, event, row = self._recent.past(nodes, self._log)
        happened = self._log.t[event]
        if not self._memory.waits:
            x, last_update = self._memory.memory, self._memory.last_update
            return PastEvents(x.index_select(0, nodes), x, last_update, first, row, event, happened)
        table, place = self.distinct(torch.cat((nodes, row)))
        x, last_update = self._memory.read(table, self._log)
        self._just_read = (table, x.detach(), last_update)
        own, row = torch.tensor_split(place, [len(nodes)])
        all_differ = len(nodes) == 0 or int(own[-1]) == len(nodes) - 1
        seeds = x[: len(nodes)] if all_differ else x.index_select(0, own)
        return PastEvents(seeds, x, last_update, first, row, event, happened)

    def remembered(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Memory (n, d) and last update (n,) of distinct nodes alone. In training the same is kept of it."""
        x, last_update = self._memory.read(nodes, self._log)
        if self._memory.waits:
            self._just_read = (nodes, x.detach(), last_update)
        return x, last_update

    def near(self, nodes: Tensor) -> PastNodes:
        """The last K events of nodes, and whom they were with, by number."""
        first, event, other = self._recent.past(nodes, self._log)
        return PastNodes(first, other, event, self._log.t[event])

    def graph(self) -> NeighborGraph:
        """Who is a neighbour of whom by the last K events of every node, on the host."""
        if self._graph is None:
            columns = (self._recent.ring, self._log.src, self._log.dst, self._log.t)
            self._graph = NeighborGraph(*(column.cpu().numpy() for column in columns))
        return self._graph

    def forget_read(self) -> None:
        """What was read last is not of the events to come."""
        self._just_read = None

    def slots(self, nodes: Tensor) -> PastSlots:
        """The last K events of nodes in slots, in no particular order. An absent one leads to the node."""
        return self._slots(nodes, self._recent.of(nodes))

    def slots_newest_first(self, nodes: Tensor) -> PastSlots:
        """The same, absent ones last."""
        return self._slots(nodes, self._recent.of(nodes).sort(dim=1, descending=True, stable=True).values)

    def _slots(self, nodes: Tensor, events: Tensor) -> PastSlots:
        mask = events >= 0
        events = events.clamp(min=0)
        others = torch.where(mask, self._log.other_end(events, nodes[:, None]), nodes[:, None])
        return PastSlots(mask, others, events, self._log.t[events])

    @property
    def memory(self) -> Tensor:
        """Of all nodes, (nodes, d), in evaluation, where nothing is pending."""
        return self._memory.memory

    @property
    def last_update(self) -> Tensor:
        """Of all nodes, (nodes,), in evaluation."""
        return self._memory.last_update

    @property
    def messages(self) -> Tensor:
        """Features (·, d) of events, by number; rows beyond the last event are room."""
        return self._log.features

    @property
    def num_nodes(self) -> int:
        """Nodes there is room for; others have no past."""
        return len(self._recent.ring)

    def distinct(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Distinct nodes, and for each of ``nodes`` (n,) where among them it is."""
        return self._numbering.distinct(nodes)

    def event(self, number: int) -> tuple[int, int, int]:
        """Source, destination and time of an event."""
        log = self._log
        return int(log.src[number]), int(log.dst[number]), int(log.t[number])

    def __len__(self) -> int:
        return self._log.length

    def last_time(self) -> int:
        return int(self._log.state()["t"].max())

    def sources(self) -> npt.NDArray[np.int32]:
        return np.flatnonzero(self._roles & SOURCE).astype(np.int32)

    def destinations(self) -> npt.NDArray[np.int32]:
        return np.flatnonzero(self._roles & DESTINATION).astype(np.int32)

    def event_features(self) -> Tensor:
        return self._log.features[self._log.rows()]

    # -- a list of candidates that is asked about again ----------------------------------------------

    def stale(self, key: object, nodes: Tensor, hops: int = 1) -> Tensor:
        """Positions of those nodes of a list whose column is not known, or may have changed since it was: an
        event was observed of the node or of one that it has had an event with (``hops`` 1; with 0 of the
        node, with 2 also of one that those have had an event with …). ``key`` is the list's own."""
        if self._kept is None or self._kept.key is not key:
            unknown = torch.ones(self.num_nodes, dtype=torch.bool, device=nodes.device)
            self._kept = _KeptColumns(key, None, unknown)
        changed = self._kept.changed
        if hops == 0:
            return torch.nonzero(changed[nodes])[:, 0]
        everyone = torch.arange(self.num_nodes, device=nodes.device) if hops > 1 else nodes
        for _ in range(hops - 1):
            touched = self._recent.touched(everyone, changed, self._log)
            changed = torch.zeros_like(changed).index_fill_(0, touched, True)
        return self._recent.touched(nodes, changed, self._log)

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
        """Of the log, only events something still points to; of nodes that appeared, those up to the last
        that has had one."""
        nodes = max(self._made_for, 1 + int(np.flatnonzero(self._roles).max(initial=-1)))
        recent, memory = self._recent, self._memory
        parts = (recent.ring[:nodes], memory.pending[:nodes, None], memory.around[:nodes])
        held, place = torch.unique(torch.cat(parts, dim=1), return_inverse=True)
        none = int(held[0] < 0)
        rows = held[none:]
        log = {f"log.{name}": column[rows] for name, column in self._log.state().items()}
        ring, pending, around = torch.split(place - none, [part.shape[1] for part in parts], dim=1)
        beside = {"around": around.contiguous(), "began": memory.began}
        return log | {
            "ring": ring.contiguous(),
            "inserted": recent.inserted[:nodes],
            "memory": memory.memory[:nodes],
            "last_update": memory.last_update[:nodes],
            "pending": pending[:, 0].contiguous(),
            "roles": torch.from_numpy(self._roles[: len(ring)].astype(np.int64)),
            **{name: value for name, value in beside.items() if name in memory.expected()},
        }

    def load(self, state: dict[str, Tensor]) -> None:
        """Older states have no roles: what is known of nodes is then what the events say that are kept."""
        log = {f"log.{name}": expected for name, expected in self._log.expected().items()}
        roles = {"roles": whole("nodes", lowest=0, below=4)} if "roles" in state else {}
        check_state(state, log | self._recent.expected() | self._memory.expected() | roles)
        self._log.load_state({name.removeprefix("log."): state[name] for name in log})
        for name in ("ring", "pending"):
            self._log.check_ends(name, state[name])
        self._recent.ring, self._recent.inserted = state["ring"], state["inserted"]
        self._memory.memory, self._memory.last_update = state["memory"], state["last_update"]
        self._memory.pending = state["pending"]
        around = (
            state["around"] if "around" in state else state["pending"].new_empty(len(state["pending"]), 0)
        )
        self._check_around(state["pending"], around)
        self._memory.around = around
        if "began" in state:
            self._memory.began = state["began"]
        self._roles = np.zeros(len(state["ring"]), dtype=np.int8)
        if roles:
            self._roles[:] = state["roles"].cpu().numpy()
        for end, role in (("log.src", SOURCE), ("log.dst", DESTINATION)):
            self._roles[state[end].cpu().numpy()] |= role
        self._forget_computed()

    def _check_around(self, pending: Tensor, around: Tensor) -> None:
        """Events around a pending one must be of its other end: whom they lead to is found by subtraction."""
        node = torch.arange(len(pending), device=pending.device)
        other = torch.where(pending >= 0, self._log.other_end(pending.clamp(min=0), node), NONE)[:, None]
        held = around.clamp(min=0)
        ours = (self._log.src[held] == other) | (self._log.dst[held] == other) | (around < 0)
        check_that(ours, "'around' holds an event of other nodes for a node")


@dataclass(slots=True, eq=False)
class _KeptColumns:
    """A column for each node of one list, kept up to date as events are observed."""

    key: object
    columns: Tensor | None  # (d, nodes of the list)
    changed: Tensor  # (nodes,) whether a node has had an event since
