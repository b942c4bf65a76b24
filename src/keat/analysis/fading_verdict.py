"""What the fading meter makes of its curve: fades, lasts or nothing there; how sure that is; and a width.

ψ(age) = e^(-age / w) halves every w ln 2, so means of half-life h ask for w = h / ln 2
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from keat.analysis.faded_sums import Floats
from keat.analysis.fading_meter import NONE, PLAIN, FadingCurve

Verdict = Literal["fades", "lasts", "nothing there"]
RESAMPLES = 2_000
LEAST = 0.003  # of AUC: less is nothing to choose a model by


@dataclass(frozen=True, slots=True)
class Gain:
    """Of AUC: the mean over blocks of time with its 95 % interval (Student's)."""

    mean: float
    low: float
    high: float

    @property
    def is_sure(self) -> bool:
        return self.low > 0 and self.mean >= LEAST


@dataclass(frozen=True, slots=True)
class Fading:
    """``half_life`` is that of the best faded means, in the unit of the stream, also where they are not
    better than plain ones; in 95 % of resampled blocks it lies between ``low`` and ``high``."""

    verdict: Verdict
    half_life: float
    low: float
    high: float
    of_the_past: Gain  # by the best means, over no features
    of_fading: Gain  # by faded means, over the plain one
    at_an_end: bool  # whether the best half-life is the shortest or the longest that was tried

    @property
    def width(self) -> float:
        """Of a Laplacian kernel in the unit of the stream; infinite where evidence lasts."""
        return self.half_life / math.log(2.0) if self.verdict == "fades" else math.inf


def judge(curve: FadingCurve, seed: int = 0) -> Fading:
    """A half-life is chosen by log-loss, and what it gains is asked of blocks that did not choose it."""
    blocks = curve.loss.shape[1]
    faded, plain, nothing = curve.auc[PLAIN + 1 :], curve.auc[PLAIN], curve.auc[NONE]
    others = (curve.loss.sum(axis=1, keepdims=True) - curve.loss)[PLAIN:]  # (1 + H, blocks)
    block = np.arange(blocks)
    of_fading = gain_over_blocks(faded[others[1:].argmin(axis=0), block] - plain)
    of_the_past = gain_over_blocks(curve.auc[PLAIN:][others.argmin(axis=0), block] - nothing)
    half_life = _lowest(curve.half_lives, curve.loss[PLAIN + 1 :].mean(axis=1))
    drawn = np.random.default_rng(seed).integers(0, blocks, (RESAMPLES, blocks))
    low, high = np.quantile(
        [_lowest(curve.half_lives, curve.loss[PLAIN + 1 :, rows].mean(axis=1)) for rows in drawn],
        [0.025, 0.975],
    )
    verdict: Verdict = "nothing there"
    if of_the_past.is_sure:
        verdict = "fades" if of_fading.is_sure else "lasts"
    at_an_end = half_life in (curve.half_lives[0], curve.half_lives[-1])
    return Fading(verdict, half_life, float(low), float(high), of_the_past, of_fading, at_an_end)


def gain_over_blocks(differences: npt.NDArray[np.float64]) -> Gain:
    number = len(differences)
    mean = float(differences.mean())
    if number < 2:
        return Gain(mean, -math.inf, math.inf)
    off = float(student.ppf(0.975, number - 1) * differences.std(ddof=1) / math.sqrt(number))
    return Gain(mean, mean - off, mean + off)


def _lowest(half_lives: Floats, loss: Floats) -> float:
    """Where the parabola through the lowest point and its neighbours, on a scale of logarithms, is lowest."""
    best = int(loss.argmin())
    if best in (0, len(loss) - 1):
        return float(half_lives[best])
    before, here, after = loss[best - 1 : best + 2]
    bend = before - 2 * here + after
    shift = 0.5 * (before - after) / bend if bend > 0 else 0.0
    step = math.log(half_lives[best + 1] / half_lives[best])
    return float(half_lives[best] * math.exp(shift * step))
