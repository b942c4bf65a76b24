"""Counts of the latest events: how often a node was a destination lately, by fading or within a window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from keat.events import EventStream
from keat.state import NodeArray

EVENTS_PER_DECAY = 200
GAMMAS = (0.1, 0.2, 0.36, 0.5, 0.6, 0.7, 0.8, 0.9, 0.94, 0.97, 0.99, 0.997, 1.0)
WINDOWS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # in spans of the training split
TUNING_EVENTS = 20_000
_LARGEST_EXPONENT = 500.0  # e^500 is far from overflow in float64


class DecayedCounts:
    """Node counts in which an event of n events ago weighs γ^(n/200).

    Fading every node at every event would cost O(nodes). Instead new events weigh more: an event's
    weight is e^(rate · number), and all counts are scaled back when the exponent has grown large.
    """

    def __init__(self, num_nodes: int, gamma: float) -> None:
        self.rate = -np.log(gamma) / EVENTS_PER_DECAY
        self.counts = NodeArray(num_nodes, 0.0, np.float64)
        self.clear()

    def clear(self) -> None:
        self.counts.clear()
        self.since_rescale = 0  # events whose weights are measured from the last rescaling

    def observe(self, events: EventStream) -> None:
        self.add(events.dst)

    def add(self, nodes: npt.NDArray[np.int32]) -> None:
        chunk = max(1, int(_LARGEST_EXPONENT / self.rate)) if self.rate > 0 else max(1, len(nodes))
        for start in range(0, len(nodes), chunk):
            self._add_chunk(nodes[start : start + chunk])

    def _add_chunk(self, nodes: npt.NDArray[np.int32]) -> None:
        counts = self.counts.writable(nodes)
        if (self.since_rescale + len(nodes)) * self.rate > _LARGEST_EXPONENT:
            counts *= np.exp(-self.rate * self.since_rescale)
            self.since_rescale = 0
        weights = np.exp(self.rate * (self.since_rescale + np.arange(len(nodes))))
        np.add.at(counts, nodes, weights)
        self.since_rescale += len(nodes)

    def at(self, nodes: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        scaled: npt.NDArray[np.float64] = self.counts.at(nodes) * np.exp(-self.rate * self.since_rescale)
        return scaled


class WindowedCounts:
    """How often nodes were destinations in the last ``window`` ticks up to the latest event."""

    def __init__(self, num_nodes: int, window: int) -> None:
        self.window, self.counts = window, NodeArray(num_nodes, 0, np.int64)
        self.clear()

    def clear(self) -> None:
        self.counts.clear()
        self._first = self._last = 0  # where in the columns the events of the window are
        self._dst, self._t = np.empty(1 << 10, np.int32), np.empty(1 << 10, np.int64)

    def observe(self, events: EventStream) -> None:
        if len(events) == 0:
            return
        np.add.at(self.counts.writable(events.dst), events.dst, 1)
        self._append(events)
        known = self._t[self._first : self._last]
        over = int(np.searchsorted(known, int(events.t[-1]) - self.window))
        np.subtract.at(self.counts.values, self._dst[self._first : self._first + over], 1)
        self._first += over

    def _append(self, events: EventStream) -> None:
        if self._last + len(events) > len(self._t):  # move to the front of longer columns
            dst, t = (column[self._first : self._last] for column in (self._dst, self._t))
            self._first, self._last = 0, len(t)
            room = 2 * (len(t) + len(events))
            self._dst, self._t = np.empty(room, np.int32), np.empty(room, np.int64)
            self._dst[: len(t)], self._t[: len(t)] = dst, t
        part = slice(self._last, self._last + len(events))
        self._dst[part], self._t[part] = events.dst, events.t
        self._last += len(events)

    def at(self, nodes: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        return self.counts.at(nodes).astype(np.float64)


class Counts(Protocol):
    """What can be tuned on the training split."""

    def observe(self, events: EventStream) -> None: ...

    def at(self, nodes: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]: ...


def tune_decay(train: EventStream, share: float = 0.15) -> float:
    """The γ of `GAMMAS` that ranks best, see `_best`."""
    return _best(train, share, GAMMAS, lambda gamma: DecayedCounts(train.num_nodes, gamma))


def tune_window(train: EventStream, share: float = 0.15) -> int:
    """The window that ranks best of `WINDOWS`, in ticks."""

    def ticks(window: float) -> int:
        return int(window * train.span)

    return ticks(_best(train, share, WINDOWS, lambda window: WindowedCounts(train.num_nodes, ticks(window))))


def _best(
    train: EventStream, share: float, among: tuple[float, ...], counts_of: Callable[[float], Counts]
) -> float:
    """The value with the best MRR on the last ``share`` of the training events (20,000 at most), each ranked
    among all destinations of the training split with the state of the last 200-block; the last value where
    there is nothing to try it on."""
    held_out = min(TUNING_EVENTS, int(len(train) * share))
    if held_out == 0:
        return among[-1]
    first = len(train) - held_out
    destinations = np.unique(train.dst)
    return max(among, key=lambda value: _mean_reciprocal_rank(train, first, destinations, counts_of(value)))


def _mean_reciprocal_rank(
    train: EventStream, first: int, destinations: npt.NDArray[np.int32], counts: Counts
) -> float:
    counts.observe(train[:first])
    total = 0.0
    for block in train[first:].blocks(EVENTS_PER_DECAY):
        ranked = np.sort(counts.at(destinations))
        own = counts.at(block.dst)
        above = len(ranked) - np.searchsorted(ranked, own, side="right")
        level = len(ranked) - np.searchsorted(ranked, own, side="left") - 1  # without itself
        total += float(np.sum(1.0 / (1.0 + 0.5 * (above + level))))
        counts.observe(block)
    return total / (len(train) - first)
