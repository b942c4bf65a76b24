"""Worlds in which how evidence fades is known, and gaps between events are what one likes.

A source's event says yes or no. It repeats one earlier event of the source, drawn in proportion to what that
still counts, or, with the weight of one fresh event, tosses a coin. Destinations mean nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keat.events import EventStream

DAY, HOUR = 86_400.0, 3_600
EVENTS, SOURCES, DESTINATIONS = 20_000, 500, 60
PACES = 0.5  # standard deviation of the logarithm of how often a source acts

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rule:
    """What an event of an age still counts."""

    half_life: float = math.inf  # in seconds
    in_gaps: float | None = None  # or in mean gaps, whatever they are
    power: bool = False  # 1/(1 + age/half-life), with a heavy tail, instead of 2^(-age/half-life)

    def counts(self, age: Floats, gap: float) -> Floats:
        half_life = self.half_life if self.in_gaps is None else self.in_gaps * gap
        return 1.0 / (1.0 + age / half_life) if self.power else np.exp2(-age / half_life)


WORLDS = {
    "fades in a day": Rule(DAY),
    "half in a day, as a power": Rule(DAY, power=True),
    "fades in three gaps": Rule(in_gaps=3.0),
    "lasts": Rule(),
}


def drifting(rule: Rule, gap: float, seed: int, session: int = 1) -> tuple[EventStream, Floats]:
    """A stream whose sources act once in ``gap`` seconds on average, or in sessions of so many events within
    an hour, with an attribute as `keat.tasks.attribute_source` makes it; and how likely each event was to say
    yes."""
    draw = np.random.default_rng(seed)
    t = np.sort(draw.integers(0, int(gap * EVENTS / SOURCES), EVENTS // session)).astype(np.int64)
    pace = draw.lognormal(0.0, PACES, SOURCES)
    src = draw.choice(SOURCES, len(t), p=pace / pace.sum())
    dst = SOURCES + draw.integers(0, DESTINATIONS, EVENTS)
    tossed, chance, label = draw.random(EVENTS), np.empty(EVENTS), np.zeros(EVENTS, dtype=np.int8)
    if session > 1:
        t = np.repeat(t, session) + draw.integers(0, HOUR, EVENTS)
        order = np.argsort(t, kind="stable")
        t, src = t[order], np.repeat(src, session)[order]
    for source in range(SOURCES):
        rows = np.flatnonzero(src == source)
        times, said = t[rows].astype(np.float64), np.zeros(len(rows))
        for place, row in enumerate(rows):
            counted = rule.counts(times[place] - times[:place], gap)
            chance[row] = (counted @ said[:place] + 0.5) / (counted.sum() + 1.0)
            said[place] = label[row] = tossed[row] < chance[row]
    known = np.stack((np.ones(EVENTS), label), axis=1).astype(np.float32)
    return EventStream.from_arrays(src, dst, t, known, labels=label, name="drifting"), chance
