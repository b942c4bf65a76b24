"""Means, spreads, and differences paired by seed, with intervals that say what they contain.

Two things make another experiment come out otherwise: another seed, and other test events. The spread over
seeds tells of the first. Of the second tells what a metric would be without each twentieth of the questions
(the jackknife over blocks of consecutive events, which are no independent witnesses of each other), where
lines have it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from scipy import stats

BLOCKS = 20  # of the questions of a test split
DIGITS = 7  # that are kept of a metric without a block


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
    p: float = field(default=math.nan, compare=False)  # two-sided, that there is no difference
    has_sampling_error: bool = False  # the interval is also for other test events, not for other seeds alone

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        if self.n < 2:
            return f"{self.mean:+.4f}"
        return f"{self.mean:+.4f} [{self.low:+.4f}, {self.high:+.4f}]"


@dataclass(frozen=True, slots=True)
class Value:
    """A metric of one run, and what it would be without each block of questions, if that is known."""

    number: float
    without_block: Sequence[float] | None = None


def spread(values: Sequence[float]) -> Spread:
    std = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    return Spread(float(np.mean(values)), std, len(values))


def without_blocks(
    metrics: Callable[[torch.Tensor], dict[str, float]], outcomes: torch.Tensor, blocks: int = BLOCKS
) -> dict[str, list[float]] | None:
    """Each metric without the first, the second … twentieth of the outcomes; None of a few outcomes."""
    number = len(outcomes)
    if number < 2 * blocks:
        return None
    edges = np.linspace(0, number, blocks + 1).astype(int).tolist()
    kept = [torch.cat((outcomes[:low], outcomes[high:])) for low, high in pairwise(edges)]
    found = [metrics(outcomes) for outcomes in kept]
    if not all(math.isfinite(value) for each in found for value in each.values()):
        return None  # a metric needs both kinds of outcome, and a part has one
    return {name: [round(each[name], DIGITS) for each in found] for name in found[0]}


def paired_difference(
    ours: Mapping[int, float | Value], theirs: Mapping[int, float | Value]
) -> Difference | None:
    """Ours - theirs over the seeds both have. With the blocks of all, the variance of the mean is that over
    seeds and that over test events, which is on the safe side: what both cause together is in both."""
    seeds = sorted(ours.keys() & theirs.keys())
    if not seeds:
        return None
    pairs = [(_value(ours[seed]), _value(theirs[seed])) for seed in seeds]
    differences = np.array([our.number - their.number for our, their in pairs])
    mean, n = float(differences.mean()), len(seeds)
    if n < 2:
        return Difference(mean, math.nan, math.nan, n)
    of_seeds, freedom = float(differences.var(ddof=1)) / n, float(n - 1)
    variance, sampling = of_seeds, _sampling_variance(pairs)
    if sampling is not None:
        variance = of_seeds + sampling
        parts = of_seeds**2 / (n - 1) + sampling**2 / (BLOCKS - 1)
        freedom = variance**2 / parts if parts > 0 else freedom  # Satterthwaite's
    error = math.sqrt(variance)
    half = float(stats.t.ppf(0.975, freedom)) * error
    p = float(2 * stats.t.sf(abs(mean) / error, freedom)) if error > 0 else float(mean == 0)
    return Difference(mean, mean - half, mean + half, n, p, sampling is not None)


def holm(p: Sequence[float]) -> list[float]:
    """Holm's p of several comparisons: below 0.05 for one that would stand out among so many. Those that
    have none (NaN) are not counted."""
    values = np.asarray(p, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    corrected = np.full(len(values), np.nan)
    steps = (len(order) - np.arange(len(order))) * values[order]
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(order) else steps
    return [float(each) for each in corrected]


def _value(given: float | Value) -> Value:
    return given if isinstance(given, Value) else Value(float(given))


def _sampling_variance(pairs: Sequence[tuple[Value, Value]]) -> float | None:
    """Of the mean difference over seeds, by the jackknife over blocks of questions."""
    parts: list[npt.NDArray[np.float64]] = []
    for our, their in pairs:
        if our.without_block is None or their.without_block is None:
            return None
        parts.append(np.asarray(our.without_block) - np.asarray(their.without_block))
    left_out = np.mean(parts, axis=0)
    number = len(left_out)
    return float((number - 1) / number * np.sum((left_out - left_out.mean()) ** 2))
