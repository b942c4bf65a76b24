"""A recipe's table from the ledger: measured, paired, and beside what others published."""

from __future__ import annotations

from collections.abc import Sequence

from keat.errors import InputError
from keat.experiments.job import Job
from keat.experiments.line import COSTS, Line, Metrics
from keat.experiments.published import Published, published
from keat.experiments.recipe import BEST_HEURISTIC, Arm, Recipe
from keat.experiments.recipe_checking import OVER_HEURISTIC
from keat.experiments.statistics import Difference, paired_difference, spread
from keat.report.sections.comparison import RecipeTable, Row

Lines = Sequence[tuple[Job, Line]]
_FORMS = {"milliseconds": ".2f", "parameters": ",.0f", "epochs": ".1f", "train_seconds": ".0f"}  # of COSTS


def table_of(recipe: Recipe, data: str, results: Lines) -> RecipeTable:
    """One dataset as plain values: ``rows`` of the arms that were run, ``others`` that only others have."""
    mine = [(job, line) for job, line in results if job.data == data]
    refreshes = [] if not mine else list(mine[0][1].test)
    rows = [_row(recipe, arm, data, mine, refreshes) for arm in recipe.arms if lines_of(arm, mine)]
    labels = {row["label"] for row in rows}
    numbers = [number for number in published(recipe.name) if number.data == data]
    others = dict.fromkeys(number.row for number in numbers if number.row not in labels)
    return {
        "recipe": recipe.name,
        "title": recipe.title,
        "about": recipe.about,
        "data": data,
        "metric": recipe.metric,
        "also": metrics_beside(recipe),
        "refreshes": [str(refresh) for refresh in recipe.refresh],
        "rows": rows,
        "others": [{"label": label, "beside": _beside(recipe, label, data)} for label in others],
    }


def metrics_beside(recipe: Recipe) -> list[str]:
    """What is shown besides the metric that is compared: what the recipe says and what others published."""
    theirs = [number.metric for number in published(recipe.name) if number.metric is not None]
    return [metric for metric in dict.fromkeys([*recipe.also, *theirs]) if metric != recipe.metric]


def _row(recipe: Recipe, arm: Arm, data: str, results: Lines, refreshes: Sequence[str]) -> Row:
    lines = lines_of(arm, results)
    other = _compared_with(recipe, arm, results)
    difference = _difference(recipe, arm, other, results) if other else None
    values = {seed: _test(line, recipe.metric) for seed, line in lines.items()}
    return {
        "label": arm.label,
        "sample": next(iter(lines.values())).sample,
        "model": arm.model,
        "heuristic": arm.is_heuristic,
        "seeds": len(lines),
        "val": str(spread([_metric(line, line.val, recipe.metric) for line in lines.values()])),
        "test": str(spread(list(values.values()))),
        "values": values,
        "by_refresh": {
            refresh: str(
                spread([_metric(line, line.tested(refresh), recipe.metric) for line in lines.values()])
            )
            for refresh in refreshes
            if all(refresh in line.test for line in lines.values())
        },
        "also": {name: _also(name, recipe, arm, results) for name in metrics_beside(recipe)},
        "difference": None if other is None or difference is None else f"{difference} vs {other.label}",
        "clear": difference is not None and difference.is_clear,
        "beside": _beside(recipe, arm.label, data) or _beside_in_recipe(recipe, arm, data),
    }


def _also(name: str, recipe: Recipe, arm: Arm, results: Lines) -> str:
    """The mean and spread of a metric as text, or what the result took; empty where it is missing, as the
    loss of heuristics is."""
    lines = lines_of(arm, results)
    if name == OVER_HEURISTIC:
        best = _best_heuristic(recipe, results)
        difference = _difference(recipe, arm, best, results) if best and best != arm else None
        return "" if difference is None else f"{difference.mean:+.4f}"
    if name in COSTS:
        costs = [cost for line in lines.values() if (cost := line.cost(name)) is not None]
        return f"{sum(costs) / len(costs):{_FORMS[name]}}" if costs else ""
    if name == "loss":
        found = [line.loss for line in lines.values() if line.loss is not None]
        return str(spread(found)) if found else ""
    return str(spread([_test(line, name) for line in lines.values()]))


def _beside(recipe: Recipe, label: str, data: str) -> dict[str, str]:
    """What others have for a row in the test split, by whose number it is and, if another, of what metric."""

    def column(number: Published) -> str:
        other = number.metric not in (None, recipe.metric)
        return f"{number.by}, {number.metric}" if other else number.by

    return {
        column(number): str(number)
        for number in published(recipe.name)
        if (number.row, number.data, number.split) == (label, data, "test")
    }


def _beside_in_recipe(recipe: Recipe, arm: Arm, data: str) -> dict[str, str]:
    """The same for a recipe of one's own, which has the published numbers in its file."""
    number = arm.published.get(data)
    return {} if number is None else {recipe.published_by or "published": f"{number:.4f}"}


def _compared_with(recipe: Recipe, arm: Arm, results: Lines) -> Arm | None:
    """The arm a difference is from."""
    if arm.against != BEST_HEURISTIC:
        return next((other for other in recipe.arms if other.label == arm.against), None)
    return _best_heuristic(recipe, results)


def _best_heuristic(recipe: Recipe, results: Lines) -> Arm | None:
    """The best in validation, where one was scored."""
    heuristics = [
        (_metric(line, line.val, recipe.metric), other.label, other)
        for other in recipe.arms
        if other.is_heuristic
        for line in lines_of(other, results).values()
    ]
    return max(heuristics)[-1] if heuristics else None


def _difference(recipe: Recipe, arm: Arm, other: Arm, results: Lines) -> Difference | None:
    ours, theirs = (
        {seed: _test(line, recipe.metric) for seed, line in lines_of(which, results).items()}
        for which in (arm, other)
    )
    if other.is_heuristic:  # has no seed: its one result stands beside each of ours
        theirs = dict.fromkeys(ours, *theirs.values()) if theirs else {}
    return paired_difference(ours, theirs)


def lines_of(arm: Arm, results: Lines) -> dict[int, Line]:
    """Lines of an arm by seed."""
    return {job.seed: line for job, line in results if job.arm == arm.label}


def _test(line: Line, metric: str) -> float:
    return _metric(line, line.tested(), metric)


def _metric(line: Line, metrics: Metrics, metric: str) -> float:
    if metric not in metrics:
        raise InputError(f"The line {line.key} of the ledger has no {metric}; delete it and run it again.")
    return float(metrics[metric])
