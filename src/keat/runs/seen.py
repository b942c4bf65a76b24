"""Which rows a run has seen, so that none is observed twice.

A row has a number of 64 bits made of its ends, its time and its features, and a row at position i weighs B^i,
all modulo 2⁶⁴. Sums of these are the same however the rows came in pieces, and the sum of any stretch of
positions can be compared with that of any file: multiplied by the right power of B they are equal if the rows
are. Two independent sums are kept, 128 bits in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from keat.events import EventStream

Words = npt.NDArray[np.uint64]
BASES = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)  # odd: each has an inverse
WORD = 1 << 64
BLOCK = 1 << 20  # rows looked at together


@dataclass(frozen=True, slots=True)
class Seen:
    """Rows so far, the time of the last one, and where each piece of them began."""

    rows: int = 0
    last_time: int | None = None
    starts: tuple[int, ...] = ()  # positions, each with its sums before it
    sums: tuple[tuple[int, int], ...] = ()
    total: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        """It may come from a file."""
        numbers = (self.rows, self.last_time or 0, *self.starts, *self.total, *chain(*self.sums))
        if min(numbers) < 0:
            raise ValueError(f"{min(numbers)} is below 0")
        parts = (self.rows > 0, self.last_time is not None, bool(self.starts), any(self.total))
        if len(set(parts)) > 1 or len(self.starts) != len(self.sums):
            raise ValueError("rows, times, pieces and sums do not belong together")

    def and_then(self, events: EventStream) -> Seen:
        """What has been seen when one more piece has."""
        if len(events) == 0:
            return self
        added = _sums(events, [len(events)])[len(events)]
        total = tuple(
            (before + int(more) * pow(int(base), self.rows, WORD)) % WORD
            for before, more, base in zip(self.total, added, BASES, strict=True)
        )
        return Seen(
            rows=self.rows + len(events),
            last_time=int(events.t[-1]),
            starts=(*self.starts, self.rows),
            sums=(*self.sums, self.total),
            total=(total[0], total[1]),
        )

    def known_rows(self, events: EventStream) -> int:
        """How many rows at the start of ``events`` have been seen: the file that has grown since, or a piece
        that is sent again."""
        lengths = [self.rows - first for first in self.starts]
        sums = _sums(events, [len(events), *(length for length in lengths if length <= len(events))])
        ends = (*self.starts[1:], self.rows)
        sums_at_ends = (*self.sums[1:], self.total)
        for first, length, before in zip(self.starts, lengths, self.sums, strict=True):
            if length <= len(events) and self._same(sums[length], before, self.total, first):
                return length
            for end, until in zip(ends, sums_at_ends, strict=True):
                if end - first == len(events) and self._same(sums[len(events)], before, until, first):
                    return len(events)
        return 0

    @staticmethod
    def _same(given: Words, before: Sequence[int], until: Sequence[int], first: int) -> bool:
        return all(
            int(mine) * pow(int(base), first, WORD) % WORD == (end - start) % WORD
            for mine, base, start, end in zip(given, BASES, before, until, strict=True)
        )


def _sums(events: EventStream, ends: Sequence[int]) -> dict[int, Words]:
    """Sums (2,) of the rows before each of these positions. Some rows at a time: a stream may be larger than
    memory."""
    found: dict[int, Words] = {}
    total = np.zeros(len(BASES), dtype=np.uint64)
    for first in range(0, max(len(events), 1), BLOCK):
        sums = total + _running_sums(events[first : first + BLOCK], first)
        found |= {end: sums[end - first] for end in ends if first <= end < first + len(sums)}
        total = sums[-1]
    return found


def _running_sums(events: EventStream, first: int) -> Words:
    """Sums (n + 1, 2) of the rows up to each position, of rows that begin at position ``first``."""
    numbers = _numbers(events)
    sums = np.zeros((len(events) + 1, len(BASES)), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for place, base in enumerate(BASES):
            powers = np.full(len(events), base, dtype=np.uint64)
            powers[:1] = pow(int(base), first, WORD)
            sums[1:, place] = np.cumsum(numbers[:, place] * np.cumprod(powers))
    return sums


def _numbers(events: EventStream) -> Words:
    """Two numbers for each row, (n, 2)."""
    row = np.zeros(len(events), dtype=np.uint64)
    columns: list[npt.NDArray[Any]] = [events.src, events.dst, events.t]
    if events.feature_dim:
        columns += list(np.ascontiguousarray(events.features).view(np.uint32).T)
    with np.errstate(over="ignore"):
        for column in columns:
            row = _mixed(row ^ _mixed(column.astype(np.uint64) + BASES[0]))
        return np.stack((row, _mixed(row + BASES[1])), axis=1)


def _mixed(x: Words) -> Words:
    """Every bit depends on every other (the finalizer of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
