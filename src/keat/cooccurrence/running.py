"""Running means: of shares, of gaps on a log scale, and how late something is by its usual gaps."""

from __future__ import annotations

import math

import numpy as np

from keat.cooccurrence.pair_records import SPANS, Array
from keat.ops import compiled_into

STEP = 0.1  # a running mean moves by this much of the way with each value, by more while there are few
MEAN, VARIANCE = 0, 1  # places in `log_gaps`
_TABLED = 512  # powers that are looked up, since taking one costs more than all else that is done with it
_LEFT = np.array([[(1.0 - 1.0 / span) ** passed for passed in range(_TABLED)] for span in SPANS])


@compiled_into
def share_left(span: int, passed: int) -> float:
    """What is left of a running share over a span after so many events."""
    return _LEFT[span, passed] if passed < _TABLED else (1.0 - 1.0 / SPANS[span]) ** passed


@compiled_into
def step_of(values: float) -> float:
    """The weight of the newest of so many values: a plain mean at first, a fading one later."""
    return max(STEP, 1.0 / values)


@compiled_into
def add_gap(log_gaps: Array, gap: float, gaps: int) -> None:
    """Take in the newest of so many gaps, of which log(1 + gap) is averaged."""
    step = step_of(gaps)
    off = math.log1p(np.float32(gap)) - log_gaps[MEAN]
    log_gaps[MEAN] += step * off
    log_gaps[VARIANCE] = (1.0 - step) * (log_gaps[VARIANCE] + step * off * off)


@compiled_into
def usual_gap(log_gaps: Array) -> float:
    return math.expm1(log_gaps[MEAN])


@compiled_into
def lateness(log_gaps: Array, age: float, gaps: int) -> float:
    """1/(1 + e⁻ᶻ), where z is how many spreads log(1 + age) is above the usual; ½ where no gap is known. The
    spread begins at 1, as if one gap had been off by a factor of e: two equal gaps are not yet a rule."""
    if gaps == 0:
        return 0.5
    spread = math.sqrt((gaps * log_gaps[VARIANCE] + 1.0) / (gaps + 1.0))
    return 1.0 / (1.0 + math.exp((log_gaps[MEAN] - math.log1p(age)) / spread))
