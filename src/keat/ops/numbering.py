"""Distinct nodes, numbered in the order in which they first appear."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from keat.ops.compiling import Integers, compiled

NONE = -1


class Numbering:
    """Finds the distinct ones of many node ids.

    It keeps a place for every node, so nothing is sorted and the cost is that of the ids asked about,
    however many nodes there are.
    """

    def __init__(self) -> None:
        self._place = np.empty(0, dtype=np.int64)  # by node; all NONE between calls

    def distinct(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Distinct ids, and for each of ``ids`` (n,) where among them it is."""
        if ids.device.type != "cpu":
            distinct, inverse = torch.unique(ids, return_inverse=True)
            return distinct, inverse
        table, where = torch.empty_like(ids), torch.empty_like(ids)
        self._make_room_for(ids)
        count = _number(ids.numpy(), self._place, table.numpy(), where.numpy())
        return table[:count], where

    def last_events(self, src: Tensor, dst: Tensor, events: Tensor) -> tuple[Tensor, Tensor]:
        """The distinct ends of events in order of time, and the last event of each."""
        ends, event = torch.stack((src, dst), dim=1).flatten(), events.repeat_interleave(2)
        nodes, where = self.distinct(ends)
        if ends.device.type != "cpu":
            return nodes, torch.zeros_like(nodes).scatter_reduce_(0, where, event, "amax", include_self=False)
        last = torch.empty_like(nodes)
        _keep_last(where.numpy(), event.numpy(), last.numpy())
        return nodes, last

    def _make_room_for(self, ids: Tensor) -> None:
        needed = 1 + int(ids.max()) if len(ids) else 0
        if needed > len(self._place):
            self._place = np.full(max(needed, len(self._place) * 3 // 2), NONE)


@compiled
def _number(ids: Integers, place: Integers, table: Integers, where: Integers) -> int:
    count = 0
    for i in range(len(ids)):
        node = ids[i]
        if place[node] < 0:
            place[node] = count
            table[count] = node
            count += 1
        where[i] = place[node]
    for i in range(count):
        place[table[i]] = NONE
    return count


@compiled
def _keep_last(where: Integers, event: Integers, last: Integers) -> None:
    for i in range(len(where)):
        last[where[i]] = event[i]
