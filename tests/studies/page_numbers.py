"""What a page of results may say: the numbers of its ledgers, by row where a table has a row for each arm."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from keat.experiments.as_released import SUFFIX as RELEASED
from keat.experiments.hits_over_k import SUFFIX as HITS
from keat.experiments.job import Job
from keat.experiments.ledger import Ledger
from keat.experiments.line import Line
from keat.experiments.measured import Known, measured
from keat.experiments.published import published
from keat.experiments.recipe import Recipe, load_recipe
from keat.experiments.recipe_table import table_of
from keat.experiments.statistics import paired_difference, spread

METRIC = re.compile(r"(?<![\w.,])[-+−]?[01]?\.\d{3,}(?!\d|\.\d)")  # three digits or more after the point
MOST_SEEDS = 20  # a page may have more of them than its recipe asks for
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Numbers:
    """What ledgers know: of each row by its label, and in all."""

    by_row: dict[str, set[float]] = field(default_factory=dict)
    anywhere: set[float] = field(default_factory=set)

    def add(self, row: str, values: Sequence[float]) -> None:
        kept = {float(value) for value in values if np.isfinite(value)}
        self.by_row.setdefault(row, set()).update(kept)
        self.anywhere.update(kept)

    def of_row(self, cell: str) -> set[float]:
        """Of the arm that the first cell of a row names; others of its name, set otherwise, count with it."""
        label = re.sub(r" \([\d,]+ positives\)$", "", cell)
        rows = [values for row, values in self.by_row.items() if row == label or row.startswith(f"{label}, ")]
        return set().union(*rows)

    def join(self, other: Numbers) -> None:
        for row, values in other.by_row.items():
            self.by_row.setdefault(row, set()).update(values)
        self.anywhere.update(other.anywhere)


def unknown_numbers(page: str, numbers: Numbers, allowed: Mapping[str, str]) -> list[str]:
    """Numbers of a page that look like a metric and that nobody measured, with the line they stand in."""
    found = []
    for line in CODE.sub(" ", page).splitlines():
        known = numbers.anywhere
        if line.startswith("|"):
            known = numbers.of_row(line.strip("| ").split("|")[0].strip(" *")) or known
        texts = [text for text in METRIC.findall(line) if text not in allowed]
        found += [f"{text} in: {line[:100]}" for text in texts if not is_among(text, known)]
    return found


def is_among(text: str, known: Iterable[float]) -> bool:
    """Whether a number that is known rounds to this. A value may stand without its sign in a sentence."""
    value, close = float(text.replace("−", "-")), 0.51 * 10.0 ** -len(text.partition(".")[2])
    values = np.array(list(known))
    distance = np.abs((values if text[0] in "+-−" else np.abs(values)) - value)
    return bool((distance <= close).any())


def numbers_in(text: str) -> list[float]:
    """All numbers of a text that look like a metric."""
    return [float(each.replace("−", "-")) for each in METRIC.findall(text)]


def differences(text: str) -> set[float]:
    """Of any two numbers that stand in one column of a table of a page."""
    found, columns = set[float](), list[list[float]]()
    for line in [*text.splitlines(), ""]:
        if not line.startswith("|"):
            found.update(one - other for column in columns for one in column for other in column)
            columns = []
            continue
        for place, cell in enumerate(line.strip("|").split("|")):
            columns += [[] for _ in range(place + 1 - len(columns))]
            columns[place] += [float(each.replace("−", "-")) for each in METRIC.findall(cell)[:1]]
    return found


def of_recipes(ledger: Path, names: Sequence[str]) -> Numbers:
    """Of recipes: every metric of every run, means and deviations over its first seeds, and differences."""
    numbers, known = Numbers(), Known.of(ledger)
    others = {line.key: line for line in Ledger(ledger).lines() if "-" in line.key}
    for recipe in (replace(load_recipe(name), seeds=MOST_SEEDS) for name in names):
        runs: dict[tuple[str, str, str], dict[int, Line]] = {}
        results = measured(recipe, {}, known)
        if all(line.code is not None for _, line in results):
            _add_tables(numbers, recipe, results)
        for job, line in results:
            for suffix in ("", HITS, RELEASED):
                at = line if not suffix else others.get(line.key + suffix)
                if at is not None:
                    runs.setdefault((job.data, job.arm, suffix), {})[job.seed] = at
        for (data, arm, suffix), lines in runs.items():
            by_metric = _metrics(lines)
            for values in by_metric.values():
                for count in range(1, len(values) + 1):
                    some = spread([values[seed] for seed in sorted(values)[:count]])
                    numbers.add(arm, [*values.values(), some.mean, some.std])
            for other in _compared(recipe, arm):
                theirs = _metrics(runs.get((data, other, suffix), {}))
                _add_differences(numbers, arm, by_metric, theirs)
        for number in published(recipe.name):
            numbers.add(number.row, [float(part) for part in str(number).split(" ± ")])
        for each in recipe.arms:
            numbers.add(each.label, list(each.published.values()))
    return numbers


def _add_tables(numbers: Numbers, recipe: Recipe, results: Sequence[tuple[Job, Line]]) -> None:
    """What the tables themselves say, whose intervals have the sampling error of the test events."""
    for data in recipe.datasets:
        for row in table_of(recipe, data, results)["rows"]:
            told = " ".join([row["difference"] or "", *row["also"].values()])
            numbers.add(row["label"], numbers_in(told))


def _compared(recipe: Recipe, label: str) -> list[str]:
    (arm,) = (each for each in recipe.arms if each.label == label)
    if arm.against is None:
        return []
    heuristics = [each.label for each in recipe.arms if each.is_heuristic]
    return heuristics if arm.against == "best heuristic" else [arm.against]


def _metrics(lines: Mapping[int, Line]) -> dict[str, dict[int, float]]:
    """By the name of a metric, with where and how fresh it was; then by seed."""
    found: dict[str, dict[int, float]] = {}
    for seed, line in lines.items():
        every = {f"val {name}": value for name, value in line.val.items()}
        for refresh, score in line.test.items():
            every |= {f"{refresh} {name}": value for name, value in score.metrics.items()}
            every |= {
                f"{refresh} {name} error": value for name, value in (score.standard_errors or {}).items()
            }
        if line.loss is not None:
            every["loss"] = line.loss
        for name, value in every.items():
            found.setdefault(name, {})[seed] = value
    return found


def _add_differences(
    numbers: Numbers,
    arm: str,
    ours: Mapping[str, Mapping[int, float]],
    theirs: Mapping[str, Mapping[int, float]],
) -> None:
    for name in ours.keys() & theirs.keys():
        mine, other = ours[name], theirs[name]
        if len(other) == 1 and len(mine) > 1:  # a heuristic beside every seed
            other = dict.fromkeys(mine, next(iter(other.values())))
        for count in range(1, len(mine) + 1):
            some = {seed: mine[seed] for seed in sorted(mine)[:count]}
            found = paired_difference(some, dict(other))
            if found is not None:
                numbers.add(arm, [found.mean, found.low, found.high])


def of_study(lines: Sequence[Any], report: Callable[[Any], str]) -> Numbers:
    """Of a study: every number of its tables and of its lines."""
    numbers = Numbers()
    numbers.add("", numbers_in(report(lines)))
    for line in lines:
        numbers.add("", list(_leaves(line.to_json())))
    return numbers


def _leaves(value: object) -> Iterator[float]:
    match value:
        case bool():
            return
        case int() | float():
            yield float(value)
        case dict():
            for each in value.values():
                yield from _leaves(each)
        case list():
            for each in value:
                yield from _leaves(each)
