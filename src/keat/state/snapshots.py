"""The events that snapshots are made of: those of the last bins that ended, and of the one under way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.clock import Clock
from keat.events import EventStream
from keat.state.checking import Expected, check_feature_dim, check_state, check_that, whole
from keat.state.event_log import EventLog
from keat.state.node_array import NodeArray

NONE = -1
ROLES = ("sources", "destinations")


class SnapshotEdges(NamedTuple):
    """The edges of one snapshot in both directions: those of a node one after the other."""

    first: Tensor  # (nodes + 1,) where the edges of each node begin
    node: Tensor  # (E,) whose edge it is
    other: Tensor  # (E,) the node at its other end
    age: Tensor  # (E,) from the event to the end of the bin, in the unit of the clock; float64


class SnapshotEvents(nn.Module):
    """Time is cut into bins of one ``width``, from the first event on: bin 0 is the first time alone, and bin
    b ≥ 1 covers (start + (b-1)·width, start + b·width]. A bin has ended once a later event is observed; then
    it is the latest snapshot. Bins without events are passed over.

    The edges of a snapshot are the events of the last ``history`` bins up to it. With ``repeats`` each is an
    edge of its own; without, a pair of nodes has one, its latest. Nodes have no edge with themselves.

    What is remembered depends on the events alone, not on how they were cut into calls. With ``first_only``
    the first snapshot stays the latest for ever, which is a defect to be compared with.
    """

    seen: Tensor  # (nodes,) whether a node had an event in a bin that has ended

    def __init__(
        self,
        num_nodes: int,
        feature_dim: int,
        width: float,
        clock: Clock,
        *,
        history: int = 1,
        repeats: bool = False,
        first_only: bool = False,
    ) -> None:
        super().__init__()
        self.num_nodes, self.width, self.clock = num_nodes, width, clock
        self.history, self.repeats, self.first_only = history, repeats, first_only
        self._log = EventLog(feature_dim)
        self.register_buffer("seen", torch.zeros(num_nodes, dtype=torch.bool), persistent=False)
        self.changes = 0  # goes up whenever there is another latest snapshot
        self._forget()

    def _forget(self) -> None:
        self._start, self._under_way = 0, NONE  # the first time, and the bin of the last event
        self.latest = NONE  # the last bin that has ended, NONE before any has
        self._ended = 0  # of the events in the log, how many are of bins that have ended
        self._in_role = {role: NodeArray(0, 0, np.int64) for role in ROLES}  # 1 for nodes that were
        self._edges: SnapshotEdges | None = None
        self.changes += 1

    def clear(self) -> None:
        self._log.clear()
        self.seen = self.seen.new_zeros(self.num_nodes)
        self._forget()

    def reserve(self, events: int) -> None:
        """Nothing: old events are let go."""

    def grow(self, num_nodes: int) -> None:
        """Nothing: nodes get room by their events, and a state that is loaded says how many there are."""

    # -- observing -----------------------------------------------------------------------------------

    def observe(self, events: EventStream) -> None:
        for _ in self.ending(events):
            pass

    def ending(self, events: EventStream) -> Iterator[None]:
        """Take in events. Pauses whenever a bin is about to end, while the snapshot before is still the
        latest."""
        if len(events) == 0:
            return
        check_feature_dim(events, self._log.features.shape[1])
        starts = self.beginnings(events.t)
        ends = np.append(starts[1:], len(events)) if len(starts) else np.empty(0, np.int64)
        self._append(events[: int(starts[0]) if len(starts) else len(events)])
        for first, last in zip(starts.tolist(), ends.tolist(), strict=True):
            yield
            self._end_bin()
            self._append(events[first:last])

    def beginnings(self, t: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Which of the events to come, at times ``t``, are the first of a bin and end the one before."""
        bins = self._bin_of(t)
        before = bins[:1] if self._under_way == NONE else np.array([self._under_way])
        return np.flatnonzero(np.diff(bins, prepend=before) > 0)

    def _bin_of(self, t: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        start = int(t[0]) if self._under_way == NONE and len(t) else self._start
        bins: npt.NDArray[np.int64] = np.ceil(self.clock.measure(t - start) / self.width).astype(np.int64)
        return bins

    def _append(self, events: EventStream) -> None:
        if len(events) == 0:
            return
        if self._under_way == NONE:
            self._start = int(events.t[0])
            self._under_way = 0
        self._under_way = int(self._bin_of(events.t[-1:])[0])
        self._log.append(events)
        for role, nodes in zip(ROLES, (events.src, events.dst), strict=True):
            self._in_role[role].writable(nodes)[nodes] = 1

    def _end_bin(self) -> None:
        """The bin under way is over, and a later event comes."""
        log = self._log
        nodes = torch.cat((log.src[self._ended : log.length], log.dst[self._ended : log.length]))
        seen = self.seen.new_zeros(max(len(self.seen), 1 + int(nodes.max())))
        seen[: len(self.seen)] = self.seen
        seen[nodes] = True
        self.seen = seen
        if self.first_only and self.latest != NONE:
            log.length = self._ended
        else:
            self.latest = self._under_way
            bins = self._since_start(log.t[: log.length]).div(self.width).ceil()
            old = int((bins <= self.latest - self.history).sum())
            if old:
                log.load_state({name: rows[old:].clone() for name, rows in log.state().items()})
            self._ended = log.length
        self._edges = None
        self.changes += 1

    def _since_start(self, t: Tensor) -> Tensor:
        """In the unit of the clock, float64."""
        return self.clock.ages(t - self._start).double()

    # -- reading -------------------------------------------------------------------------------------

    def edges(self) -> SnapshotEdges:
        """Of the latest snapshot; none before a bin has ended."""
        if self._edges is None or self._edges.first.device != self.seen.device:
            self._edges = self._make_edges()
        return self._edges

    def _make_edges(self) -> SnapshotEdges:
        size, log = len(self.seen), self._log
        src, dst = log.src[: self._ended], log.dst[: self._ended]
        age = self.latest * self.width - self._since_start(log.t[: self._ended])
        kept = torch.nonzero(src != dst)[:, 0]
        if not self.repeats:
            kept = _last_of_each(torch.minimum(src, dst) * size + torch.maximum(src, dst), kept)
        node, other = torch.cat((src[kept], dst[kept])), torch.cat((dst[kept], src[kept]))
        order = torch.argsort(node * size + other, stable=True)
        node, other, age = node[order], other[order], age[kept].repeat(2)[order]
        first = torch.searchsorted(node, torch.arange(size + 1, device=node.device))
        return SnapshotEdges(first, node, other, age)

    def __len__(self) -> int:
        """Events that are held on to."""
        return self._log.length

    def last_time(self) -> int:
        return int(self._log.t[self._log.length - 1])

    def sources(self) -> npt.NDArray[np.int32]:
        return self._nodes("sources").astype(np.int32)

    def destinations(self) -> npt.NDArray[np.int32]:
        return self._nodes("destinations").astype(np.int32)

    def _nodes(self, role: str) -> npt.NDArray[np.int64]:
        return np.flatnonzero(self._in_role[role].values)

    def event_features(self) -> Tensor:
        return self._log.state()["features"]

    # -- checkpoints ---------------------------------------------------------------------------------

    def save(self) -> dict[str, Tensor]:
        known = max(self.num_nodes, *(int(self._nodes(role).max(initial=NONE)) + 1 for role in ROLES))
        log = {f"log.{name}": rows for name, rows in self._log.state().items()}
        marks = {role: torch.zeros(known, dtype=torch.int64) for role in (*ROLES, "seen")}
        for role in ROLES:
            marks[role][self._nodes(role)] = 1
        marks["seen"][: len(self.seen)] = self.seen.cpu()
        place = (self._start, self._under_way, self.latest, self._ended)
        return log | marks | {"place": torch.tensor(place)}

    def expected(self) -> dict[str, Expected]:
        """What a kept state has to be; ``known`` are the nodes there are."""
        log = {f"log.{name}": expected for name, expected in self._log.expected().items()}
        for end in ("log.src", "log.dst"):
            log[end] = whole("events", lowest=0, below="known")
        marks = {mark: whole("known", lowest=0, below=2) for mark in (*ROLES, "seen")}
        return log | marks | {"place": whole(4)}

    def load(self, state: dict[str, Tensor]) -> None:
        check_state(state, self.expected())
        start, under_way, latest, ended = state["place"].tolist()
        t, seen = state["log.t"], state["seen"].bool()
        check_that(0 <= ended <= len(t), f"'place' speaks of {ended} events in bins that ended")
        check_that(NONE <= latest <= under_way, "'place' has a bin that ended after the one under way")
        check_that((latest == NONE) == (ended == 0), "'place' has no events in the latest snapshot")
        check_that((under_way == NONE) == (len(t) == 0), "'place' has a bin under way without events")
        for end, role in zip(("log.src", "log.dst"), ROLES, strict=True):
            check_that(state[role][state[end]] == 1, f"'{role}' leaves nodes of events out")
            check_that(seen[state[end][:ended]], "'seen' leaves nodes of the latest snapshot out")
        check_that((state["sources"] + state["destinations"])[seen] > 0, "'seen' has nodes without events")
        self._log.load_state({name: state[f"log.{name}"] for name in self._log.state()})
        self._forget()
        self._start, self._under_way, self.latest, self._ended = start, under_way, latest, ended
        bins = self._since_start(self._log.t[: len(t)]).div(self.width).ceil()
        within = (bins[:ended] > latest - self.history) & (bins[:ended] <= latest)
        check_that(within, "'log.t' has events outside of the latest snapshot")
        check_that(bins[ended:] == under_way, "'log.t' has events outside of the bin under way")
        room = max(self.num_nodes, 1 + int(seen.nonzero().max()) if bool(seen.any()) else 0)
        self.seen = self.seen.new_zeros(room)
        self.seen[: len(seen)] = seen[:room]
        for role in ROLES:
            nodes = state[role].nonzero()[:, 0].cpu().numpy()
            self._in_role[role].writable(nodes)[nodes] = 1


def _last_of_each(key: Tensor, rows: Tensor) -> Tensor:
    """Of ``rows``, in the order of time, the last with each key."""
    distinct, place = torch.unique(key[rows], return_inverse=True)
    last = rows.new_zeros(len(distinct)).scatter_reduce_(0, place, rows, "amax", include_self=False)
    return last.sort().values
