"""Probabilities of labels and of pairs, from their logits: a logistic curve (Platt) or steps (isotonic).

Both are monotone, so they change no order but for ties. Which one a run has is decided by the log-loss on
parts of the validation split that the other parts were fitted for. Neither ever says 0 or 1: a finite sample
does not know that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit, logit

from keat.errors import InputError

Floats = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]
FOLDS = 5  # consecutive stretches of the validation split
TINY = 1e-15  # a probability is at least this far from 0 and 1 when its logarithm is taken


@dataclass(frozen=True, slots=True)
class Platt:
    """σ(slope · logit + intercept)."""

    slope: float
    intercept: float
    kind: Literal["platt"] = "platt"

    def __post_init__(self) -> None:
        if not (_finite(self.slope) and _finite(self.intercept) and self.slope >= 0):
            raise InputError("A logistic curve needs a finite intercept and a slope that is not negative.")

    def probabilities(self, logits: npt.NDArray[np.floating]) -> Floats:
        with np.errstate(over="ignore"):  # infinitely sure is sure
            return np.asarray(expit(self.slope * np.asarray(logits, dtype=np.float64) + self.intercept))


@dataclass(frozen=True, slots=True)
class Isotonic:
    """A line from knot to knot that never falls; level before the first and after the last."""

    logits: tuple[float, ...]
    values: tuple[float, ...]  # probabilities at the knots
    kind: Literal["isotonic"] = "isotonic"

    def __post_init__(self) -> None:
        if not (self.logits and len(self.logits) == len(self.values)):
            raise InputError("An isotonic curve needs as many probabilities as logits, and at least one.")
        if not all(_finite(number) for number in (*self.logits, *self.values)):
            raise InputError("The knots of an isotonic curve are finite numbers.")
        if (np.diff(self.logits) <= 0).any() or (np.diff(self.values) < 0).any():
            raise InputError("The knots of an isotonic curve never fall.")
        if not 0 < self.values[0] <= self.values[-1] < 1:
            raise InputError("The probabilities of an isotonic curve lie between 0 and 1.")

    def probabilities(self, logits: npt.NDArray[np.floating]) -> Floats:
        return np.interp(np.asarray(logits, dtype=np.float64), self.logits, self.values)


Fit = Callable[[Floats, Truth], Platt | Isotonic]


def fit_probability(logits: npt.NDArray[np.floating], truth: Truth) -> Platt | Isotonic:
    """The better of the two for these logits, which are in the order of time."""
    scores = np.asarray(logits, dtype=np.float64)
    fits: tuple[Fit, ...] = (fit_platt, fit_isotonic)
    return min(fits, key=lambda fit: _held_out_loss(fit, scores, truth))(scores, truth)


def fit_platt(logits: Floats, truth: Truth) -> Platt:
    """The likeliest curve that does not fall, for targets a little off 0 and 1, as Platt has them: it exists
    even where the two kinds do not overlap, or there is only one of them."""
    positives = int(np.count_nonzero(truth))
    target = np.where(truth, (positives + 1) / (positives + 2), 1 / (len(truth) - positives + 2))
    middle, scale = float(np.mean(logits)), float(np.std(logits)) or 1.0
    standard = (logits - middle) / scale

    def loss(line: Floats) -> tuple[float, Floats]:
        """Convex; and its gradient."""
        z = line[0] * standard + line[1]
        away = expit(z) - target
        return float((np.logaddexp(0, z) - target * z).mean()), np.array(
            [(away * standard).mean(), away.mean()]
        )

    start = np.array([0.0, logit(target.mean())])
    options = {"ftol": 1e-14, "gtol": 1e-9}
    bounds = [(0, None), (None, None)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    slope = float(found[0]) / scale
    return Platt(slope, float(found[1]) - slope * middle)


def fit_isotonic(logits: Floats, truth: Truth) -> Isotonic:
    """The steps closest to the truth, kept as the knots between which they are drawn."""
    from sklearn.isotonic import IsotonicRegression  # a second to import: only when used

    edge = 1 / (len(truth) + 2)
    curve = IsotonicRegression(y_min=edge, y_max=1 - edge).fit(logits, truth.astype(np.float64))
    return Isotonic(tuple(curve.X_thresholds_.tolist()), tuple(curve.y_thresholds_.tolist()))


def log_loss(probabilities: Floats, truth: Truth) -> float:
    """Mean surprise about the truth."""
    given = np.where(truth, probabilities, 1 - probabilities)
    return float(-np.log(np.maximum(given, TINY)).mean())


def _held_out_loss(fit: Fit, logits: Floats, truth: Truth) -> float:
    """The log-loss of each stretch by the curve that was fitted to all others; 0 where there are no
    others."""
    surprise = 0.0
    for held_out in np.array_split(np.arange(len(truth)), min(FOLDS, len(truth))):
        rest = np.ones(len(truth), dtype=bool)
        rest[held_out] = False
        if rest.any():
            curve = fit(logits[rest], truth[rest])
            surprise += len(held_out) * log_loss(curve.probabilities(logits[held_out]), truth[held_out])
    return surprise / len(truth)


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
