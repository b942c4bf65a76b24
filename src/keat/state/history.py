"""All past events of every node, for models that ask for what happened before a time.

An event has two entries, one for each end: 2·event for its source, 2·event + 1 for its destination. The
entries of a node form a chain from the newest to the oldest, so an event is taken in with two writes, and
reading k events costs k steps plus one for each event of the node that is not yet in the past. From an entry
the history of the node at its *other* end, as it was at that moment, begins right behind its twin.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.events import EventStream
from keat.ops import Integers, compiled
from keat.state.checking import Expected, check_feature_dim, check_in_order, check_state, whole
from keat.state.node_features import NodeFeatures
from keat.state.past_events import PastSlots
from keat.state.tensors import as_tensor
from keat.state.walk_draws import draw_from_chains

NONE = -1

Nodes = npt.NDArray[np.integer]


class EventHistory(nn.Module):
    """Every event observed so far, for every node the chain of its entries, and the features of nodes that
    came with the events. It is an `EventState`.

    Ends, times and chains stay on the host, where chains are walked; features are a tensor that moves with
    the model. An event of a node with itself has two entries in that node's chain and so is read twice.
    """

    _features: Tensor  # (capacity, d)
    _node: Integers  # (2·capacity,) the end an entry belongs to
    _t: Integers  # (capacity,)
    _previous: Integers  # (2·capacity,) the entry before this one in its node's chain, or -1
    _head: Integers  # (nodes,) the newest entry of each node, or -1

    def __init__(self, num_nodes: int, feature_dim: int, node_dim: int = 0, capacity: int = 1024) -> None:
        super().__init__()
        self._length = 0
        self._node = np.zeros(2 * capacity, dtype=np.int64)  # room is of node 0: absent slots lead there
        self._t = np.zeros(capacity, dtype=np.int64)
        self._previous = np.zeros(2 * capacity, dtype=np.int64)
        self._head = np.full(num_nodes, NONE, dtype=np.int64)
        self.register_buffer("_features", torch.zeros(capacity, feature_dim), persistent=False)
        self.node_features = NodeFeatures(node_dim)

    def clear(self) -> None:
        """Features of nodes stay: they are of no event."""
        self._length = 0
        self._head.fill(NONE)

    def reserve(self, events: int) -> None:
        if events <= len(self._t):
            return
        for name, size in (("_node", 2), ("_t", 1), ("_previous", 2)):
            grown = np.zeros(size * events, dtype=np.int64)
            grown[: size * self._length] = getattr(self, name)[: size * self._length]
            setattr(self, name, grown)
        features = self._features.new_zeros(events, self._features.shape[1])
        features[: self._length] = self.event_features()
        self._features = features

    def grow(self, num_nodes: int) -> None:
        more = max(0, num_nodes - len(self._head))
        self._head = np.concatenate((self._head, np.full(more, NONE, dtype=np.int64)))

    def observe(self, events: EventStream) -> None:
        self.node_features.learn(events)
        check_feature_dim(events, self._features.shape[1])
        self._append(events.src, events.dst, events.t, as_tensor(events.features))

    def _append(self, src: Nodes, dst: Nodes, t: Integers, features: Tensor) -> None:
        first, last = self._length, self._length + len(t)
        if last > len(self._t):
            self.reserve(max(last, 2 * len(self._t)))
        needed = 1 + int(max(src.max(initial=-1), dst.max(initial=-1)))
        if needed > len(self._head):
            self.grow(max(needed, len(self._head) * 3 // 2))
        self._node[2 * first : 2 * last : 2], self._node[2 * first + 1 : 2 * last : 2] = src, dst
        self._t[first:last] = t
        self._features[first:last] = features
        _chain(self._previous, self._head, self._node, 2 * first, 2 * last)
        self._length = last

    @contextmanager
    def without(self, event: int) -> Iterator[None]:
        """For a while, as if one event had not been: what is read of chains does not have it."""
        places: list[tuple[Integers, int, int]] = []  # where an entry was led to from, and which
        for entry in (2 * event + 1, 2 * event):  # both may be in one chain, the second next to the first
            node, behind = int(self._node[entry]), int(self._previous[entry])
            table, place = self._head, node
            while table[place] != entry:
                table, place = self._previous, int(table[place])
            table[place] = behind
            places.append((table, place, entry))
        try:
            yield
        finally:
            for table, place, entry in reversed(places):
                table[place] = entry

    # -- reading -------------------------------------------------------------------------------------

    def before(self, nodes: Nodes, t: Integers, k: int) -> Integers:
        """The last ``k`` entries of each node strictly before its time, (n, k).

        The newest is in the last column, older ones to the left of it, -1 where there are no more.
        """
        found = np.full((len(nodes), k), NONE, dtype=np.int64)
        _walk(self._previous, self._t, self._newest(nodes), np.ascontiguousarray(t), found)
        return found

    def draw_before(
        self, nodes: Nodes, t: Integers, k: int, rate: float, accepted: bool, seed: int
    ) -> Integers:
        """``k`` entries of each node strictly before its time, drawn with replacement by the law of backward
        walks (`keat.state.walk_draws`), (n, k); a row of -1 where there is none."""
        found = np.full((len(nodes), k), NONE, dtype=np.int64)
        limit = np.ascontiguousarray(t)
        draw_from_chains(self._previous, self._t, self._newest(nodes), limit, rate, accepted, seed, found)
        return found

    def _newest(self, nodes: Nodes) -> Integers:
        """The newest entry of each node, or -1."""
        newest = np.full(len(nodes), NONE, dtype=np.int64)
        known = nodes < len(self._head)
        newest[known] = self._head[nodes[known]]
        return newest

    def before_entries(self, entries: Integers, k: int) -> Integers:
        """For each entry (n,), the last ``k`` entries of its other end strictly before it, as `before`.

        A row of -1 for an entry of -1.
        """
        found = np.full((len(entries), k), NONE, dtype=np.int64)
        real = entries >= 0
        held = np.where(real, entries, 0)
        start = np.where(real, self._previous[held ^ 1], NONE)
        _walk(self._previous, self._t, start, self._t[held >> 1], found)
        return found

    def slots(self, entries: Integers) -> PastSlots:
        """Entries (n, k) as events in slots. Where there is none, node and event are some that exist, 0 if
        nothing was observed."""
        mask = entries >= 0
        held = np.where(mask, entries, 0)
        columns = (mask, self.other_end(held), self.event_of(held), self.time_of(held))
        return PastSlots(*(as_tensor(column, self._features.device) for column in columns))

    def event_of(self, entries: Integers) -> Integers:
        """Event numbers; row i of ``messages`` belongs to event i. -1 stays -1."""
        return entries >> 1

    def other_end(self, entries: Integers) -> Integers:
        """The node at the other end of each entry's event. There must be no -1 among the entries."""
        node: Integers = self._node[entries ^ 1]
        return node

    def time_of(self, entries: Integers) -> Integers:
        """When it happened. There must be no -1 among the entries."""
        t: Integers = self._t[entries >> 1]
        return t

    @property
    def messages(self) -> Tensor:
        """Features (·, d) of events, by number; rows beyond the last event are room."""
        return self._features

    def __len__(self) -> int:
        return self._length

    def last_time(self) -> int:
        return int(self._t[self._length - 1])

    def sources(self) -> npt.NDArray[np.int32]:
        return np.unique(self._node[0 : 2 * self._length : 2]).astype(np.int32)

    def destinations(self) -> npt.NDArray[np.int32]:
        return np.unique(self._node[1 : 2 * self._length : 2]).astype(np.int32)

    def event_features(self) -> Tensor:
        return self._features[: self._length]

    # -- checkpoints ---------------------------------------------------------------------------------

    def save(self) -> dict[str, Tensor]:
        """The events; chains follow from them."""
        ends = torch.from_numpy(self._node[: 2 * self._length]).view(-1, 2)
        return {
            "src": ends[:, 0].contiguous(),
            "dst": ends[:, 1].contiguous(),
            "t": torch.from_numpy(self._t[: self._length]),
            "features": self.event_features(),
            "node_features": self.node_features.table,
        }

    def load(self, state: dict[str, Tensor]) -> None:
        """Nodes are those there is room for: a number out of a file could ask for any amount of it."""
        node = whole("events", lowest=0, below=len(self._head))
        features = Expected(self._features.dtype, ("events", self._features.shape[1]))
        events = {"src": node, "dst": node, "t": whole("events"), "features": features}
        check_state(state, events | {"node_features": self.node_features.expected()})
        check_in_order("t", state["t"])
        self.node_features.load(state["node_features"])
        self.clear()
        src, dst, t = (state[name].cpu().numpy() for name in ("src", "dst", "t"))
        self._append(src, dst, t, state["features"])


@compiled
def _chain(previous: Integers, head: Integers, node: Integers, first: int, last: int) -> None:
    for entry in range(first, last):
        previous[entry] = head[node[entry]]
        head[node[entry]] = entry


@compiled
def _walk(previous: Integers, t: Integers, start: Integers, limit: Integers, found: Integers) -> None:
    for i in range(len(start)):
        entry = start[i]
        while entry >= 0 and t[entry >> 1] >= limit[i]:
            entry = previous[entry]
        slot = found.shape[1] - 1
        while entry >= 0 and slot >= 0:
            found[i, slot] = entry
            entry = previous[entry]
            slot -= 1
