"""Shares of candidates: softmax(logit / T), with T chosen so that what happened in validation is likeliest.

One temperature seldom fits both the few candidates that lead and the long field behind them: among thousands,
it is set by the field, and the leaders come out too sure. So there are three. With L the logarithm of
softmax(logit / T), the share of a candidate goes with

    exp( T/T₋ · min(L, log κ) + T/T₊ · max(L − log κ, 0) ),        κ = 1 %,

which is a temperature T₊ among those with more than κ and T₋ among the rest; T₊ = T₋ = T is the softmax. The
negative log-likelihood is convex in 1/T, and then in (1/T₊, 1/T₋): there is one best choice, and a bounded
search finds it. No order of candidates changes, and a number added to all logits of a question changes
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, minimize

from keat.errors import InputError

Floats = npt.NDArray[np.float64]
WIDEST = 1e4  # T lies within this factor of the largest difference between two logits of a question
NEAR = 10.0  # T₊ and T₋ lie within this factor of T
LEAST = -1e300  # in place of −∞ where it is multiplied by zero


class Contest(NamedTuple):
    """Questions with all their logits: (B, C), −∞ for who does not compete, and the column (B,) of the
    true destination."""

    logits: npt.NDArray[np.floating]
    true: npt.NDArray[np.int64]


class _Margins(NamedTuple):
    """Questions with how far each candidate is below the best, in float64."""

    margins: Floats
    true: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Temperature:
    """Turns the logits of a question into the shares of its candidates, which sum to one.

    A share is among the candidates that are asked about. Where validation asked only about a sample of them
    (``sampled``), that is what it was fitted to: among more candidates, shares are too large.
    """

    temperature: float  # T
    leading: float  # T₊, among candidates with a share above the knot
    trailing: float  # T₋, among the others
    candidates: int  # of a question of validation
    sampled: bool
    questions: int  # of validation that it was fitted to
    knot: float = 0.01  # κ
    kind: Literal["temperature"] = "temperature"

    def __post_init__(self) -> None:
        for name in ("temperature", "leading", "trailing", "knot"):
            value = getattr(self, name)
            if not (type(value) in (int, float) and 0 < value < math.inf):
                raise InputError(f"The {name} of shares is a number above 0, not {value}.")
        for name in ("candidates", "questions"):
            value = getattr(self, name)
            if not (type(value) is int and value >= 1):
                raise InputError(f"Shares are fitted to a number of {name}, not to {value}.")
        if type(self.sampled) is not bool:
            raise InputError(f"Candidates are sampled or not, not {self.sampled}.")

    def shares(self, logits: npt.NDArray[np.floating]) -> Floats:
        """Shares of the candidates along the last axis; a logit of −∞ has none."""
        field, lead = _field_and_lead(_margins(logits) / self.temperature, self.knot)
        slopes = self.temperature / self.trailing, self.temperature / self.leading
        weights = np.exp(_margins(slopes[0] * field + slopes[1] * lead))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def plain(fitted: Temperature) -> Temperature:
    """The softmax of the logits as they are, in place of a fitted one: what it is compared with."""
    return Temperature(1.0, 1.0, 1.0, fitted.candidates, fitted.sampled, fitted.questions)


def fit_temperature(contests: Sequence[Contest], *, sampled: bool) -> Temperature | None:
    """The shares under which the true destinations are likeliest. None where there is nothing to learn
    from: no question has finite logits and two candidates of different ones."""
    usable = [part for part in map(_usable, contests) if len(part.true)]
    spread = max((_spread(part.margins) for part in usable), default=0.0)
    if spread == 0:
        return None
    temperature = _best_temperature(usable, spread)
    candidates = max(part.margins.shape[1] for part in usable)
    questions = sum(len(part.true) for part in usable)
    one = Temperature(temperature, temperature, temperature, candidates, sampled, questions)
    trailing, leading = _best_slopes(usable, one)
    return replace(one, leading=temperature / leading, trailing=temperature / trailing)


def _best_temperature(parts: Sequence[_Margins], spread: float) -> float:
    def slope(log_temperature: float) -> float:
        """The slope of the negative log-likelihood over 1/T: Σ (mean margin under the shares − that of the
        true one). It falls as T grows, through 0 at the best T."""
        inverse = math.exp(-log_temperature)
        return sum(_excess(np.exp(margins * inverse), margins, true) for margins, true in parts)

    low, high = math.log(spread / WIDEST), math.log(spread * WIDEST)
    if slope(low) <= 0:  # the true ones always lead, or are level with those that do: the surer, the likelier
        return _least_sure(parts, slope, low, high)
    if slope(high) >= 0:  # logits tell nothing, or the opposite: all shares alike are likeliest
        return math.exp(high)
    return math.exp(float(brentq(slope, low, high, xtol=1e-4)))  # T₊ and T₋ do the rest


def _least_sure(parts: Sequence[_Margins], slope: Callable[[float], float], low: float, high: float) -> float:
    """Where no T is best, one question more is thought of, in which anybody may be the true one: so few
    questions tell no more than that something else happens less than once in as many."""
    questions = sum(len(true) for _, true in parts)

    def with_one_more(log_temperature: float) -> float:
        weights = [np.exp(margins * math.exp(-log_temperature)) for margins, _ in parts]
        surer = sum(
            float((_mean(each, margins) - _mean(np.where(margins > LEAST, 1.0, 0.0), margins)).sum())
            for each, (margins, _) in zip(weights, parts, strict=True)
        )
        return slope(log_temperature) + surer / questions

    if with_one_more(low) <= 0 or with_one_more(high) >= 0:
        return math.exp(low)
    return math.exp(float(brentq(with_one_more, low, high, xtol=1e-4)))


def _best_slopes(parts: Sequence[_Margins], one: Temperature) -> tuple[float, float]:
    """T/T₋ and T/T₊. A pull towards 1 that weighs as much as one question decides where few questions do."""
    pieces = [(*_field_and_lead(margins / one.temperature, one.knot), true) for margins, true in parts]

    def loss(slopes: Floats) -> tuple[float, Floats]:
        away = slopes - 1.0
        value, gradient = float(away @ away), 2.0 * away
        for field, lead, true in pieces:
            logits = slopes[0] * field + slopes[1] * lead  # at most NEAR · log 1/κ
            weights = np.exp(logits)
            value += float((np.log(weights.sum(axis=1)) - _of_true(logits, true)).sum())
            gradient += [_excess(weights, part, true) for part in (field, lead)]
        return value / one.questions, gradient / one.questions

    bounds = [(1 / NEAR, NEAR)] * 2
    found = minimize(loss, np.ones(2), jac=True, method="L-BFGS-B", bounds=bounds)
    return float(found.x[0]), float(found.x[1])


def _field_and_lead(logits: Floats, knot: float) -> tuple[Floats, Floats]:
    """Logarithms of the softmax, cut at the knot: the part below it and the part above it. The best of the
    logits is 0."""
    shares = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return np.minimum(shares, math.log(knot)), np.maximum(shares - math.log(knot), 0.0)


def _usable(part: Contest) -> _Margins:
    """The questions whose best and whose true logit are finite: others have no likelihood."""
    fine = np.isfinite(part.logits.max(axis=1)) & np.isfinite(_of_true(part.logits, part.true))
    return _Margins(np.maximum(_margins(part.logits[fine]), LEAST), part.true[fine])


def _margins(logits: npt.NDArray[np.floating]) -> Floats:
    """How far each candidate is below the best, in float64: nothing can overflow from here on."""
    wide = np.asarray(logits, dtype=np.float64)
    return np.asarray(wide - wide.max(axis=-1, keepdims=True))


def _spread(margins: Floats) -> float:
    return float(-margins[margins > LEAST].min())


def _of_true(values: npt.NDArray[np.floating], true: npt.NDArray[np.int64]) -> npt.NDArray[np.floating]:
    return np.take_along_axis(values, true[:, None], axis=1)[:, 0]


def _excess(weights: Floats, values: Floats, true: npt.NDArray[np.int64]) -> float:
    """Σ over questions of the mean of ``values`` under the weights minus that of the true candidate."""
    return float((_mean(weights, values) - _of_true(values, true)).sum())


def _mean(weights: Floats, values: Floats) -> Floats:
    return np.asarray(np.einsum("bc,bc->b", weights, values) / weights.sum(axis=1))
