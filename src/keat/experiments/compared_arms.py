"""Which runs of a table are compared with which, and what came of it.

Two runs are compared where they have the same seed and one code (`same_code`). Averages of rows that are
compared are over the seeds that all of them have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keat.errors import InputError
from keat.experiments.job import Job
from keat.experiments.line import Line, Metrics
from keat.experiments.recipe import BEST_HEURISTIC, Arm, Recipe
from keat.experiments.same_code import are_of_one_code
from keat.experiments.statistics import Difference, Value, holm, paired_difference

Runs = dict[int, tuple[Job, Line]]  # of an arm, by seed
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Comparison:
    """An arm beside another; without a difference where their runs are of two codes."""

    against: str
    difference: Difference | None
    p: float = float("nan")  # corrected for the other comparisons of the table

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero, and would among so many comparisons."""
        return self.difference is not None and self.difference.is_clear and self.p < SIGNIFICANT

    def __str__(self) -> str:
        if self.difference is None:
            return f"not compared with {self.against}: another code"
        return f"{self.difference} vs {self.against}"


def shared_seeds(recipe: Recipe, by_arm: Mapping[str, Runs]) -> dict[str, set[int]]:
    """Of each arm the seeds that all arms have which it is compared with, straight or by way of others."""
    group = {arm.label: {arm.label} for arm in recipe.arms}
    for arm in recipe.arms:
        if arm.against in group and by_arm[arm.label] and by_arm[arm.against]:
            together = group[arm.label] | group[arm.against]
            for label in together:
                group[label] = together
    heuristic = {arm.label for arm in recipe.arms if arm.is_heuristic}  # which have one run for all seeds
    shared = {}
    for label, runs in by_arm.items():
        trained = [set(by_arm[other]) for other in group[label] - heuristic]
        shared[label] = set(runs) if label in heuristic or not trained else set.intersection(*trained)
    return shared


def compare(recipe: Recipe, runs: Mapping[str, Runs]) -> dict[str, Comparison]:
    """Every arm that is compared, by its label, with p corrected by Holm's method for all of them."""
    pairs: list[tuple[str, str, Difference | None]] = []
    for arm in recipe.arms:
        other = _compared_with(recipe, arm, runs)
        if other is None or not runs[arm.label] or not runs[other.label]:
            continue
        found = _difference(recipe.metric, runs[arm.label], runs[other.label], other.is_heuristic)
        pairs.append((arm.label, other.label, found))
    corrected = holm([float("nan") if found is None else found.p for *_, found in pairs])
    return {
        label: Comparison(other, found, p) for (label, other, found), p in zip(pairs, corrected, strict=True)
    }


def about_intervals(compared: Sequence[Comparison]) -> str:
    """What the intervals of a table are for, in a sentence."""
    found = [each.difference for each in compared if each.difference is not None and each.difference.n > 1]
    if not found:
        return ""
    with_error = sum(each.has_sampling_error for each in found)
    if with_error == len(found):
        what = "Intervals are for other seeds and other test events"
    elif with_error:
        what = f"{with_error} of {len(found)} intervals are for other seeds and other test events, the rest "
        what += "for other seeds alone"
    else:
        what = "Intervals are for other seeds alone: they leave out the sampling error of the test events"
    return f"{what}; bold is what stands out among {len(compared)} comparisons (Holm)."


def metric_of(line: Line, metrics: Metrics, metric: str) -> float:
    """A metric of a line, which has to have it."""
    if metric not in metrics:
        raise InputError(f"The line {line.key} of the ledger has no {metric}; delete it and run it again.")
    return float(metrics[metric])


def over_best_heuristic(recipe: Recipe, arm: Arm, runs: Mapping[str, Runs]) -> Difference | None:
    """How far an arm is above the best heuristic; nothing for that one itself."""
    best = _best_heuristic(recipe, runs)
    if best is None or best == arm or not runs[arm.label]:
        return None
    return _difference(recipe.metric, runs[arm.label], runs[best.label], of_heuristic=True)


def _compared_with(recipe: Recipe, arm: Arm, runs: Mapping[str, Runs]) -> Arm | None:
    """The arm a difference is from."""
    if arm.against != BEST_HEURISTIC:
        return next((other for other in recipe.arms if other.label == arm.against), None)
    return _best_heuristic(recipe, runs)


def _best_heuristic(recipe: Recipe, runs: Mapping[str, Runs]) -> Arm | None:
    """The best in validation, where one was scored."""
    heuristics = [
        (metric_of(line, line.val, recipe.metric), other.label, other)
        for other in recipe.arms
        if other.is_heuristic
        for _, line in runs[other.label].values()
    ]
    return max(heuristics)[-1] if heuristics else None


def _difference(metric: str, ours: Runs, theirs: Runs, of_heuristic: bool) -> Difference | None:
    if of_heuristic:  # has no seed: its one result stands beside each of ours
        theirs = dict.fromkeys(ours, next(iter(theirs.values())))
    seeds = [seed for seed in ours if seed in theirs and are_of_one_code(ours[seed], theirs[seed])]
    alike = all(ours[seed][1].sample == theirs[seed][1].sample for seed in seeds)
    return paired_difference(
        {seed: _value(metric, ours[seed][1], alike) for seed in seeds},
        {seed: _value(metric, theirs[seed][1], alike) for seed in seeds},
    )


def _value(metric: str, line: Line, asked_alike: bool) -> Value:
    """The metric with what its sampling error needs, if both sides were asked the same questions."""
    blocks = next(iter(line.test.values())).without_block if asked_alike else None
    return Value(metric_of(line, line.tested(), metric), None if blocks is None else blocks.get(metric))
