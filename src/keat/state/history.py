"""All past events of every node, for models that ask for what happened before a time.

An event has two entries, one for each end: 2·event for its source, 2·event + 1 for its destination. The
entries of a node form a chain from the newest to the oldest, so an event is taken in with two writes, and
reading k events costs k steps plus one for each event of the node that is not yet in the past. From an entry
the history of the node at its *other* end, as it was at that moment, begins right behind its twin.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.errors import InputError
from keat.events import EventStream
from keat.ops import Integers, compiled
from keat.state.checking import Expected, check_in_order, whole
from keat.state.tensors import as_tensor

NONE = -1


class EventHistory(nn.Module):
    """Every event observed so far, and for every node the chain of its entries.

    Ends, times and chains stay on the host, where chains are walked; features are a tensor that moves with
    the model. An event of a node with itself has two entries in that node's chain and so is read twice.
    """

    features: Tensor  # (capacity, d)
    node: Integers  # (2·capacity,) the end an entry belongs to
    t: Integers  # (capacity,)
    previous: Integers  # (2·capacity,) the entry before this one in its node's chain, or -1
    head: Integers  # (nodes,) the newest entry of each node, or -1

    def __init__(self, num_nodes: int, feature_dim: int, capacity: int = 1024) -> None:
        super().__init__()
        self.length = 0
        self.node = np.empty(2 * capacity, dtype=np.int64)
        self.t = np.empty(capacity, dtype=np.int64)
        self.previous = np.empty(2 * capacity, dtype=np.int64)
        self.head = np.full(num_nodes, NONE, dtype=np.int64)
        self.register_buffer("features", torch.zeros(capacity, feature_dim), persistent=False)

    def __len__(self) -> int:
        return self.length

    def clear(self) -> None:
        self.length = 0
        self.head.fill(NONE)

    def reserve(self, events: int) -> None:
        """Make room at once where the number of events to come is known."""
        if events <= len(self.t):
            return
        for name, size in (("node", 2), ("t", 1), ("previous", 2)):
            grown = np.empty(size * events, dtype=np.int64)
            grown[: size * self.length] = getattr(self, name)[: size * self.length]
            setattr(self, name, grown)
        features = self.features.new_zeros(events, self.features.shape[1])
        features[: self.length] = self.features[: self.length]
        self.features = features

    def grow(self, num_nodes: int) -> None:
        """Make room for nodes that have appeared."""
        more = max(0, num_nodes - len(self.head))
        self.head = np.concatenate((self.head, np.full(more, NONE, dtype=np.int64)))

    def append(self, events: EventStream) -> None:
        """Take in events, in order, none older than those before; nodes beyond the size make room."""
        if events.feature_dim != self.features.shape[1]:
            raise InputError(
                f"{events.name} has {events.feature_dim} features an event, but the model was made for "
                f"{self.features.shape[1]}."
            )
        self._append(events.src, events.dst, events.t, as_tensor(events.features))

    def _append(
        self, src: npt.NDArray[np.integer], dst: npt.NDArray[np.integer], t: Integers, features: Tensor
    ) -> None:
        first, last = self.length, self.length + len(t)
        if last > len(self.t):
            self.reserve(max(last, 2 * len(self.t)))
        needed = 1 + int(max(src.max(initial=-1), dst.max(initial=-1)))
        if needed > len(self.head):
            self.grow(max(needed, len(self.head) * 3 // 2))
        self.node[2 * first : 2 * last : 2], self.node[2 * first + 1 : 2 * last : 2] = src, dst
        self.t[first:last] = t
        self.features[first:last] = features
        _chain(self.previous, self.head, self.node, 2 * first, 2 * last)
        self.length = last

    # -- reading -------------------------------------------------------------------------------------

    def before(self, nodes: npt.NDArray[np.integer], t: Integers, k: int) -> Integers:
        """The last ``k`` entries of each node strictly before its time, (n, k).

        The newest is in the last column, older ones to the left of it, -1 where there are no more.
        """
        found = np.full((len(nodes), k), NONE, dtype=np.int64)
        known = nodes < len(self.head)
        start = np.full(len(nodes), NONE, dtype=np.int64)
        start[known] = self.head[nodes[known]]
        _walk(self.previous, self.t, start, np.ascontiguousarray(t), found)
        return found

    def before_entries(self, entries: Integers, k: int) -> Integers:
        """For each entry (n,), the last ``k`` entries of its other end strictly before it, as `before`.

        A row of -1 for an entry of -1.
        """
        found = np.full((len(entries), k), NONE, dtype=np.int64)
        real = entries >= 0
        held = np.where(real, entries, 0)
        start = np.where(real, self.previous[held ^ 1], NONE)
        _walk(self.previous, self.t, start, self.t[held >> 1], found)
        return found

    def event_of(self, entries: Integers) -> Integers:
        """Event numbers; row i of ``features`` belongs to event i. -1 stays -1."""
        return entries >> 1

    def other_end(self, entries: Integers) -> Integers:
        """The node at the other end of each entry's event. There must be no -1 among the entries."""
        node: Integers = self.node[entries ^ 1]
        return node

    def time_of(self, entries: Integers) -> Integers:
        """When it happened. There must be no -1 among the entries."""
        t: Integers = self.t[entries >> 1]
        return t

    # -- checkpoints ---------------------------------------------------------------------------------

    def state(self) -> dict[str, Tensor]:
        """The events; chains follow from them."""
        ends = torch.from_numpy(self.node[: 2 * self.length]).view(-1, 2)
        return {
            "src": ends[:, 0].contiguous(),
            "dst": ends[:, 1].contiguous(),
            "t": torch.from_numpy(self.t[: self.length]),
            "features": self.features[: self.length],
        }

    def expected(self) -> dict[str, Expected]:
        """What a kept state has to be. Nodes are those there is room for: a number out of a file could ask
        for any amount of it."""
        nodes = len(self.head)
        return {
            "src": whole("events", lowest=0, below=nodes),
            "dst": whole("events", lowest=0, below=nodes),
            "t": whole("events"),
            "features": Expected(self.features.dtype, ("events", self.features.shape[1])),
        }

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Hold the events of a state that is as `expected`."""
        check_in_order("t", state["t"])
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
