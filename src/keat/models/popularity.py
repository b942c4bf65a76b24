"""Counts that fade: how often a node was a destination lately."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keat.events import EventStream
from keat.state import NodeArray

EVENTS_PER_DECAY = 200
GAMMAS = (0.1, 0.2, 0.36, 0.5, 0.6, 0.7, 0.8, 0.9, 0.94, 0.97, 0.99, 0.997, 1.0)
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


def tune_decay(train: EventStream, share: float = 0.15) -> float:
    """The γ of `GAMMAS` with the best MRR on the last ``share`` of the training events (20,000 at most),
    each ranked among all destinations of the training split with the state of the last 200-block."""
    held_out = min(TUNING_EVENTS, int(len(train) * share))
    if held_out == 0:
        return 1.0
    first = len(train) - held_out
    destinations = np.unique(train.dst)
    return max(GAMMAS, key=lambda gamma: _mean_reciprocal_rank(train, first, destinations, gamma))


def _mean_reciprocal_rank(
    train: EventStream, first: int, destinations: npt.NDArray[np.int32], gamma: float
) -> float:
    counts = DecayedCounts(train.num_nodes, gamma)
    counts.add(train.dst[:first])
    total = 0.0
    for block in train[first:].blocks(EVENTS_PER_DECAY):
        ranked = np.sort(counts.at(destinations))
        own = counts.at(block.dst)
        above = len(ranked) - np.searchsorted(ranked, own, side="right")
        level = len(ranked) - np.searchsorted(ranked, own, side="left") - 1  # without itself
        total += float(np.sum(1.0 / (1.0 + 0.5 * (above + level))))
        counts.add(block.dst)
    return total / (len(train) - first)
