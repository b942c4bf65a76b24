"""Events of the partitions of a topic, in the order of their times.

A partition is in order by itself, and which of them is read first is chance: after a pause one may be hours
ahead of another. So the earliest of all is taken, as soon as every partition has one or nothing more to read.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Collection
from typing import NamedTuple

from keat.serve.events import Checked

MOST = 20_000  # events that wait in all partitions together
LEAST = 200  # in each


class Entry(NamedTuple):
    """An event with its place in the topic."""

    partition: int
    offset: int
    event: Checked


class Merge:
    """What was read of each partition and is not taken yet."""

    def __init__(self) -> None:
        self._waiting: defaultdict[int, deque[Entry]] = defaultdict(deque)
        self._full: set[int] = set()

    def __len__(self) -> int:
        return sum(len(waiting) for waiting in self._waiting.values())

    def waiting(self, partition: int) -> int:
        return len(self._waiting[partition])

    def add(self, entry: Entry) -> None:
        self._waiting[entry.partition].append(entry)

    def full(self) -> set[int]:
        """Partitions of which no more is wanted, until most of what waits is taken."""
        many = max(LEAST, MOST // max(1, len(self._waiting)))
        few = many // 4
        self._full = {
            partition
            for partition, waiting in self._waiting.items()
            if len(waiting) >= (few if partition in self._full else many)
        }
        return self._full

    def take(self, most: int, partitions: Collection[int], at_end: Collection[int]) -> list[Entry]:
        """The earliest, as far as it is known that no other partition has an earlier one."""
        if any(not self._waiting[each] and each not in at_end for each in partitions):
            return []
        heads = [(waiting[0].event.t, each) for each, waiting in self._waiting.items() if waiting]
        heapq.heapify(heads)
        found: list[Entry] = []
        while heads and len(found) < most:
            _, partition = heads[0]
            waiting = self._waiting[partition]
            found.append(waiting.popleft())
            if waiting:
                heapq.heapreplace(heads, (waiting[0].event.t, partition))
                continue
            heapq.heappop(heads)
            if partition not in at_end:
                break
        return found
