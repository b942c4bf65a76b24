"""The last K events of every node, as a ring of event numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.ops import Integers, compiled
from keat.state.checking import Expected, whole
from keat.state.event_log import EventLog
from keat.state.growing import Rooms

NONE = -1


class RecentEvents(nn.Module):
    """``ring[n]`` holds the numbers of the last K events node n took part in, in either role, or -1.

    Insertion is exact when a node occurs more than K times in one batch: only its last K events stay.
    (PyG's loader lets them race for slots there.) An event of a node with itself counts twice, as in PyG.
    """

    ring: Tensor  # (nodes, K)
    inserted: Tensor  # (nodes,) how many events the node has had; the next slot is this modulo K

    def __init__(self, num_nodes: int, size: int) -> None:
        super().__init__()
        self.size, self._rooms = size, Rooms()
        self.register_buffer("ring", torch.full((num_nodes, size), NONE, dtype=torch.int64), persistent=False)
        self.register_buffer("inserted", torch.zeros(num_nodes, dtype=torch.int64), persistent=False)

    def clear(self) -> None:
        self.ring.fill_(NONE)
        self.inserted.zero_()

    def grow(self, num_nodes: int) -> None:
        """Make room for nodes that have appeared."""
        self.ring = self._rooms.lengthened("ring", self.ring, num_nodes, NONE)
        self.inserted = self._rooms.lengthened("inserted", self.inserted, num_nodes)

    def expected(self) -> dict[str, Expected]:
        """What a kept state has to be, of ``nodes`` nodes and ``events`` events in the log."""
        return {
            "ring": whole("nodes", self.size, lowest=NONE, below="events"),
            "inserted": whole("nodes", lowest=0),
        }

    def insert(self, src: Tensor, dst: Tensor, event: Tensor) -> None:
        """Remember events, which are in order, for both of their ends. There must be room for these."""
        if self.ring.device.type == "cpu":
            _insert_in_order(*(tensor.numpy() for tensor in (self.ring, self.inserted, src, dst, event)))
        else:
            self._insert_at_once(src, dst, event)

    def _insert_at_once(self, src: Tensor, dst: Tensor, event: Tensor) -> None:
        """The same in array operations, for devices that have no quick loop."""
        node = torch.stack((src, dst), dim=1).flatten()  # in event order, so that a stable sort keeps it
        node, order = torch.sort(node, stable=True)
        event = event.repeat_interleave(2)[order]
        place = torch.arange(len(node), device=node.device)
        new_node = torch.ones_like(node, dtype=torch.bool)
        new_node[1:] = node[1:] != node[:-1]
        rank = place - torch.cummax(torch.where(new_node, place, 0), dim=0).values  # within the node
        _, count = torch.unique_consecutive(node, return_counts=True)
        total = count.repeat_interleave(count)
        kept = rank >= total - self.size
        slot = (self.inserted[node] + rank) % self.size
        self.ring[node[kept], slot[kept]] = event[kept]
        self.inserted.index_add_(0, node, torch.ones_like(node))

    def of(self, nodes: Tensor) -> Tensor:
        """Event numbers (n, K) of ``nodes``, -1 where there are fewer than K; in no particular order."""
        return self.ring[nodes]

    def past(self, nodes: Tensor, log: EventLog) -> tuple[Tensor, Tensor, Tensor]:
        """The V events of ``nodes`` one after the other: where those of each node begin (n + 1,), their
        numbers (V,) and the nodes at the other ends (V,)."""
        first = nodes.new_zeros(len(nodes) + 1)
        if nodes.device.type == "cpu":
            event, other = nodes.new_empty(2, len(nodes) * self.size)
            tensors = (self.ring, log.src, log.dst, nodes, first, event, other)
            count = _gather_past(*(tensor.numpy() for tensor in tensors))
            return first, event[:count], other[:count]
        events = self.of(nodes)
        mask = events >= 0
        torch.cumsum(mask.sum(dim=1), 0, out=first[1:])
        event = events[mask]
        return first, event, log.other_end(event, nodes.repeat_interleave(mask.sum(dim=1)))

    def touched(self, nodes: Tensor, changed: Tensor, log: EventLog) -> Tensor:
        """Positions of those ``nodes`` that changed, or have an event with one that did."""
        if nodes.device.type == "cpu":
            rows = torch.empty_like(nodes)
            tensors = (self.ring, log.src, log.dst, nodes, changed, rows)
            return rows[: _find_touched(*(tensor.numpy() for tensor in tensors))]
        events, own = self.of(nodes), nodes[:, None]
        others = torch.where(events >= 0, log.other_end(events.clamp(min=0), own), own)
        return torch.nonzero(changed[torch.cat((own, others), dim=1)].any(dim=1))[:, 0]


@compiled
def _insert_in_order(
    ring: Integers, inserted: Integers, src: Integers, dst: Integers, event: Integers
) -> None:
    for i in range(len(event)):
        for node in (src[i], dst[i]):
            ring[node, inserted[node] % ring.shape[1]] = event[i]
            inserted[node] += 1


@compiled
def _gather_past(
    ring: Integers,
    src: Integers,
    dst: Integers,
    nodes: Integers,
    first: Integers,
    event: Integers,
    other: Integers,
) -> int:
    count = 0
    for i in range(len(nodes)):
        for number in ring[nodes[i]]:
            if number >= 0:
                event[count] = number
                other[count] = src[number] + dst[number] - nodes[i]
                count += 1
        first[i + 1] = count
    return count


@compiled
def _find_touched(
    ring: Integers,
    src: Integers,
    dst: Integers,
    nodes: Integers,
    changed: npt.NDArray[np.bool_],
    rows: Integers,
) -> int:
    count = 0
    for i in range(len(nodes)):
        touched = changed[nodes[i]]
        for event in ring[nodes[i]]:
            touched |= event >= 0 and (changed[src[event]] or changed[dst[event]])
        if touched:
            rows[count] = i
            count += 1
    return count
