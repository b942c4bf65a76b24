"""What the fading meter asks, of an attribute of the coming event or of links, and what is known by then.

Questions are sampled where there are many; the past never is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from keat.analysis.faded_sums import Floats, PastOfKeys, Whole
from keat.errors import InputError
from keat.events import EventStream
from keat.events.attributes import attribute_kind, is_asked, known_evidence

Of = Literal["pair", "source", "destination"]
MOST_QUESTIONS = 40_000
FEWEST = 600  # below, blocks of time are too small to say anything
WARM_UP = 0.1  # of the events: a past to begin with


@dataclass(frozen=True, slots=True)
class Questions:
    """Is ``truth`` so, of a pair at a time, given the ``values`` of rows that were known before?"""

    about: str  # in words
    t: Whole  # (n,) not decreasing
    truth: npt.NDArray[np.bool_]  # (n,)
    pasts: dict[Of, PastOfKeys]
    values: Floats  # (rows, D) of what is averaged; D is 0 for links
    times_of_rows: Whole

    def without_features(self) -> Floats:
        """(n, C): how much past there is, and how long ago the last of it was; of links, only how popular the
        destination is."""
        if self.values.shape[1] == 0:
            return np.log1p(self._weights("destination", np.inf))[:, None]
        columns = []
        for of, past in self.pasts.items():
            columns += [np.log1p(self._weights(of, np.inf)), np.where(past.has, np.log1p(past.age), -1.0)]
        return np.stack(columns, axis=1)

    def faded(self, half_life: float, of: Of) -> Floats:
        """(n, D + 1): means of the past's values, one more witness being their mean at the first question,
        and how much there is."""
        known = self.values[self.times_of_rows < self.t[0]]
        prior = known.mean(axis=0) if len(known) else np.zeros(self.values.shape[1])
        ones = np.ones((len(self.values), 1))
        sums = self.pasts[of].sums(np.concatenate((self.values, ones), axis=1), half_life)
        means = (sums[:, :-1] + prior) / (sums[:, -1:] + 1.0)
        return np.concatenate((means, np.log1p(sums[:, -1:])), axis=1)

    def _weights(self, of: Of, half_life: float) -> Floats:
        return self.pasts[of].sums(np.ones((len(self.values), 1)), half_life)[:, 0]


def attribute_questions(events: EventStream, seed: int = 0) -> Questions:
    """Of events that are labelled with an attribute (`keat.tasks.attribute_source`). A value is asked as
    whether it is above the median, a class as whether it is the commonest."""
    kind = attribute_kind(events)
    asked = _sampled(np.flatnonzero(is_asked(events)), seed)
    assert events.labels is not None
    labels = events.labels[asked]
    about = "it is so"
    if kind == "value":
        middle = float(np.median(labels))
        truth, about = labels > middle, f"it is above {middle:g}, the median"
    elif kind == "class":
        commonest = int(np.bincount(labels).argmax())
        truth, about = labels == commonest, "it is of the commonest class"
    else:
        truth = labels > 0
    if truth.all() or not truth.any():
        raise InputError(f"The attribute of {events.name} is the same in all events; name another target.")
    known, evidence = known_evidence(events)
    others = events.features[known, : -1 - evidence.shape[1]].astype(np.float64)
    values = np.concatenate((evidence[known], others), axis=1)
    ends = (events.src[asked], events.dst[asked], events.t[asked])
    return _questions(about, ends, truth, events, np.flatnonzero(known), values)


def link_questions(events: EventStream, seed: int = 0) -> Questions:
    """Is it this destination that the source goes to now, or another: one it went to before, or for every
    second question one drawn from all events?"""
    asked = _sampled(np.arange(len(events)), seed)[::2]  # two questions of each
    draw = np.random.default_rng(seed)
    other = events.dst[draw.integers(0, len(events), len(asked))].copy()
    by_source = np.argsort(events.src, kind="stable")  # then by time
    first = np.searchsorted(events.src[by_source], events.src[asked])
    place = np.empty(len(events), dtype=np.int64)
    place[by_source] = np.arange(len(events))
    before = place[asked] - first
    met = np.flatnonzero((before > 0) & (np.arange(len(asked)) % 2 == 0))
    chosen = first[met] + (draw.random(len(met)) * before[met]).astype(np.int64)
    other[met] = events.dst[by_source[chosen]]
    differs = other != events.dst[asked]
    asked, other = asked[differs], other[differs]
    src, t = np.repeat(events.src[asked], 2), np.repeat(events.t[asked], 2)
    dst = np.stack((events.dst[asked], other), axis=1).ravel()
    truth = np.tile([True, False], len(asked))
    nothing = np.zeros((len(events), 0))
    return _questions("it is this destination", (src, dst, t), truth, events, np.arange(len(events)), nothing)


def _sampled(rows: npt.NDArray[np.intp], seed: int) -> npt.NDArray[np.intp]:
    rows = rows[int(WARM_UP * len(rows)) :]
    if len(rows) < FEWEST:
        raise InputError(
            f"There are {len(rows)} events to ask about before the test split; fading is measured from "
            f"{FEWEST} on."
        )
    if len(rows) <= MOST_QUESTIONS:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, MOST_QUESTIONS, replace=False))


def _questions(
    about: str,
    asked: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Whole],
    truth: npt.NDArray[np.bool_],
    events: EventStream,
    rows: npt.NDArray[np.intp],
    values: Floats,
) -> Questions:
    src, dst, t = asked
    wide = np.int64(events.num_nodes)
    every = np.concatenate((events.src[rows] * wide + events.dst[rows], src * wide + dst))
    pairs = np.unique(every, return_inverse=True)[1].astype(np.int64)
    keys: dict[Of, tuple[Whole, Whole]] = {
        "pair": (pairs[: len(rows)], pairs[len(rows) :]),
        "source": (events.src[rows].astype(np.int64), src.astype(np.int64)),
        "destination": (events.dst[rows].astype(np.int64), dst.astype(np.int64)),
    }
    times = events.t[rows]
    pasts = {of: PastOfKeys(key, times, asked_key, t) for of, (key, asked_key) in keys.items()}
    return Questions(about, t, truth, pasts, values, times)
