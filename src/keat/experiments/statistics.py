"""Means, spreads, and differences paired by seed with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation (ddof 1) over seeds."""

    mean: float
    std: float  # NaN for one seed
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.4f}" + ("" if math.isnan(self.std) else f" ± {self.std:.4f}")


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean difference of pairs with a 95 % interval by Student's t; NaN where one pair gives none."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        if self.n < 2:
            return f"{self.mean:+.4f}"
        return f"{self.mean:+.4f} [{self.low:+.4f}, {self.high:+.4f}]"


def spread(values: Sequence[float]) -> Spread:
    std = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    return Spread(float(np.mean(values)), std, len(values))


def paired_difference(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Difference | None:
    """Ours - theirs over the seeds both have."""
    seeds = sorted(ours.keys() & theirs.keys())
    if not seeds:
        return None
    differences = np.array([ours[seed] - theirs[seed] for seed in seeds])
    mean, n = float(differences.mean()), len(seeds)
    if n < 2:
        return Difference(mean, math.nan, math.nan, n)
    half = float(stats.t.ppf(0.975, n - 1) * differences.std(ddof=1) / math.sqrt(n))
    return Difference(mean, mean - half, mean + half, n)
