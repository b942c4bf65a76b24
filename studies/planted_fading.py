"""A world in which the half-life of evidence is known: what the fading meter is tried on.

Sources meet destinations at their own pace. An event says yes or no. It repeats one earlier event of its
source, drawn in proportion to 2^(-age / half-life), or, with the weight of one fresh event, tosses a coin.
"""

from __future__ import annotations

import math

import numpy as np

from keat.datasets.loading import Dataset
from keat.events import EventStream

DAY = 86_400.0
EVENTS, SOURCES, DESTINATIONS, DAYS = 24_000, 200, 60, 60


def planted(half_life: float, seed: int = 0, events: int = EVENTS) -> Dataset:
    """``half_life`` in seconds; infinite where evidence lasts, 0 where there is none. The stream has an
    attribute as `keat.tasks.attribute_source` makes it: labels, and features that end in 1 and the answer."""
    draw = np.random.default_rng(seed)
    t = np.sort(draw.integers(0, int(DAYS * DAY), events)).astype(np.int64)
    pace = draw.lognormal(0.0, 1.0, SOURCES)
    src = draw.choice(SOURCES, events, p=pace / pace.sum())
    dst = SOURCES + draw.integers(0, DESTINATIONS, events)
    rate = 0.0 if half_life == 0 else math.log(2) / half_life
    yes, weight, last = np.zeros(SOURCES), np.zeros(SOURCES), np.zeros(SOURCES)
    chance, label = draw.random(events), np.zeros(events, dtype=np.int8)
    for row, source in enumerate(src):
        left = math.exp(-rate * (t[row] - last[source])) if half_life > 0 else 0.0
        yes[source] *= left
        weight[source] *= left
        label[row] = chance[row] < (yes[source] + 0.5) / (weight[source] + 1.0)
        yes[source] += label[row]
        weight[source] += 1.0
        last[source] = t[row]
    known = np.stack((np.ones(events), label), axis=1).astype(np.float32)
    stream = EventStream.from_arrays(src, dst, t, known, labels=label, name="planted")
    return Dataset(stream)
