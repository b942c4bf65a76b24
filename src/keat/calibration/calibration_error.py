"""How far forecasts can be trusted: in bins of equal mass, what was said beside what happened.

The expected calibration error is Σ over bins |Σ forecasts − Σ hits| / questions. Of one forecast a question
(the share of its best candidate, a probability) that is the usual mean distance between said and seen. Of all
shares of a question it is the mass in the wrong bins, between 0 and 2: dividing by the thousands of
candidates instead would make any model look good.

Intervals come from the bootstrap over stretches of consecutive questions: neighbours in time are no
independent witnesses. The error of a finite sample is too large on average, however good the forecasts, and
that of a drawn sample larger again by about as much: so the interval is turned around the error, and reaches
further down than up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
BINS = 15
STRETCHES = 100
DRAWS = 1000
GRAIN, REACH = 20, 30  # fine bins: twenty to each unit of the log-odds, from −30 to 30


@dataclass(frozen=True, slots=True)
class Bin:
    """Forecasts of about the same height: their mean, how often they came true, 95 % of that, how many."""

    forecast: float
    observed: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Reliability:
    """How reliable one kind of forecast is on one split."""

    of: str
    bins: tuple[Bin, ...]
    ece: float
    interval: tuple[float, float]  # 95 %


class Sums:
    """Sums over forecasts by stretch and by fine bin, so that nothing need be kept of each forecast."""

    def __init__(self, questions: int) -> None:
        """How many questions there will be, each with one forecast or many."""
        self.total, self.seen = questions, 0
        shape = (min(STRETCHES, questions), 2 * REACH * GRAIN + 1)
        self.forecasts, self.hits, self.counts = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.questions = np.zeros(shape[0])

    def add(self, forecasts: Floats, hits: Floats) -> None:
        """Questions that follow in time: (B, n) forecasts, and how far each came true. What has no share
        and did not happen was no candidate."""
        stretch = (self.seen + np.arange(len(forecasts))) * len(self.questions) // self.total
        self.seen += len(forecasts)
        first, width = int(stretch[0]), self.forecasts.shape[1]
        last = int(stretch[-1]) + 1
        place = ((stretch - first)[:, None] * width + _fine_bin(forecasts)).ravel()
        size = (last - first) * width
        counted = (forecasts > 0) | (hits > 0)
        for into, values in ((self.forecasts, forecasts), (self.hits, hits), (self.counts, counted)):
            into[first:last] += np.bincount(place, values.ravel(), size).reshape(-1, width)
        self.questions[first:last] += np.bincount(stretch - first, minlength=last - first)

    def reliability(self, of: str, *, equal: str) -> Reliability:
        """Bins hold equal numbers of ``counts``, or equal masses of ``forecasts``."""
        mass = (self.counts if equal == "counts" else self.forecasts).sum(axis=0)
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        number = np.minimum((middle * BINS).astype(np.int64), BINS - 1)
        used = np.unique(number[self.counts.sum(axis=0) > 0])
        into = (number[:, None] == used).astype(np.float64)  # (fine, bins)
        forecasts, hits, counts = (part @ into for part in (self.forecasts, self.hits, self.counts))
        ece = float(np.abs((forecasts - hits).sum(axis=0)).sum() / self.questions.sum())

        stretches = len(self.questions)
        drawn = np.random.default_rng(0).multinomial(stretches, np.full(stretches, 1 / stretches), DRAWS)
        errors = np.abs(drawn @ (forecasts - hits)).sum(axis=1) / (drawn @ self.questions)
        with np.errstate(invalid="ignore"):
            rates = (drawn @ hits) / (drawn @ counts)
        low, high = np.nanquantile(rates, (0.025, 0.975), axis=0)
        count = counts.sum(axis=0)
        columns = (forecasts.sum(axis=0) / count, hits.sum(axis=0) / count, low, high)
        bins = zip(*(column.tolist() for column in columns), count.astype(np.int64).tolist(), strict=True)
        upper, lower = np.maximum(2 * ece - np.quantile(errors, (0.025, 0.975)), 0.0).tolist()
        return Reliability(of, tuple(Bin(*values) for values in bins), ece, (lower, upper))


def _fine_bin(forecasts: Floats) -> npt.NDArray[np.int64]:
    """The bin of each forecast by its log-odds, which have room both near 0 and near 1."""
    with np.errstate(divide="ignore"):
        odds = np.log(forecasts) - np.log1p(-forecasts)
    return np.asarray(np.rint((np.clip(odds, -REACH, REACH) + REACH) * GRAIN), dtype=np.int64)
