"""A recipe's table from the ledger: measured, paired, and beside what others published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keat.experiments.compared_arms import (
    Comparison,
    Runs,
    about_intervals,
    compare,
    metric_of,
    over_best_heuristic,
    shared_seeds,
)
from keat.experiments.job import Job
from keat.experiments.line import COSTS, Line
from keat.experiments.published import Published, published
from keat.experiments.recipe import Arm, Recipe
from keat.experiments.recipe_checking import OVER_HEURISTIC
from keat.experiments.same_code import codes_of, require_one_code
from keat.experiments.statistics import Difference, spread
from keat.models.registry import trains_in_turn
from keat.report.sections.comparison import RecipeTable, Row
from keat.runs.spec import RunSpec
from keat.tasks.script import TGB_BATCH

Lines = Sequence[tuple[Job, Line]]
_FORMS = {"milliseconds": ".2f", "parameters": ",.0f", "epochs": ".1f", "train_seconds": ".0f"}  # of COSTS


def table_of(recipe: Recipe, data: str, results: Lines) -> RecipeTable:
    """One dataset as plain values: ``rows`` of the arms that were run, ``others`` that only others have.
    Results that are known to be of two codes make no table."""
    mine = [(job, line) for job, line in results if job.data == data]
    require_one_code(f"The table {recipe.name} of {data}", mine)
    by_arm = {arm.label: runs_of(arm, mine) for arm in recipe.arms}
    shared = shared_seeds(recipe, by_arm)
    left_out = {label: sorted(runs.keys() - shared[label]) for label, runs in by_arm.items()}
    runs = {label: {seed: of[seed] for seed in sorted(shared[label])} for label, of in by_arm.items()}
    compared = compare(recipe, runs)
    refreshes = [] if not mine else list(mine[0][1].test)
    rows = [
        _row(
            recipe,
            arm,
            data,
            runs[arm.label],
            compared.get(arm.label),
            over_best_heuristic(recipe, arm, runs),
            refreshes,
        )
        for arm in recipe.arms
        if runs[arm.label]
    ]
    labels = {row["label"] for row in rows}
    numbers = [number for number in published(recipe.name) if number.data == data]
    others = dict.fromkeys(number.row for number in numbers if number.row not in labels)
    absent = [arm.label for arm in recipe.arms if arm.is_for(data) and not by_arm[arm.label]] if mine else []
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
        "notes": _notes(mine, compared, left_out, absent),
    }


def _notes(
    mine: Lines,
    compared: Mapping[str, Comparison],
    left_out: Mapping[str, Sequence[int]],
    absent: Sequence[str],
) -> list[str]:
    """What a reader of the numbers has to know: their code, what the intervals contain, what is not there."""
    notes = [codes_of(mine)] if mine else []
    notes += [note for note in (about_intervals(list(compared.values())),) if note]
    spare = {label: seeds for label, seeds in left_out.items() if seeds}
    if spare:
        said = "; ".join(f"{label}: {', '.join(map(str, seeds))}" for label, seeds in spare.items())
        notes.append(f"Seeds that not every compared row has are left out ({said}).")
    if absent:
        notes.append(f"Not run: {', '.join(absent)}.")
    return notes


def metrics_beside(recipe: Recipe) -> list[str]:
    """What is shown besides the metric that is compared: what the recipe says and what others published."""
    theirs = [number.metric for number in published(recipe.name) if number.metric is not None]
    return [metric for metric in dict.fromkeys([*recipe.also, *theirs]) if metric != recipe.metric]


def _row(
    recipe: Recipe,
    arm: Arm,
    data: str,
    runs: Runs,
    comparison: Comparison | None,
    over: Difference | None,
    refreshes: Sequence[str],
) -> Row:
    lines = {seed: line for seed, (_, line) in runs.items()}
    values = {seed: metric_of(line, line.tested(), recipe.metric) for seed, line in lines.items()}
    first_job, first = next(iter(runs.values()))
    return {
        "label": arm.label,
        "sample": first.sample,
        "model": arm.model,
        "heuristic": arm.is_heuristic,
        "seeds": len(lines),
        "val": str(spread([metric_of(line, line.val, recipe.metric) for line in lines.values()])),
        "val_refresh": _refresh_of_validation(first_job, first),
        "test": str(spread(list(values.values()))),
        "test_refresh": next(iter(first.test)),
        "values": values,
        "by_refresh": {
            refresh: str(
                spread([metric_of(line, line.tested(refresh), recipe.metric) for line in lines.values()])
            )
            for refresh in refreshes
            if all(refresh in line.test for line in lines.values())
        },
        "also": {name: _also(name, runs, over) for name in metrics_beside(recipe)},
        "difference": None if comparison is None else str(comparison),
        "clear": comparison is not None and comparison.is_clear,
        "beside": _beside(recipe, arm.label, data) or _beside_in_recipe(recipe, arm, data),
    }


def _refresh_of_validation(job: Job, line: Line) -> str:
    """As the line says. Older ones do not: a heuristic was asked as in the test, a trained model as in its
    training."""
    if line.val_refresh is not None:
        return str(line.val_refresh)
    if job.is_heuristic or not job.refresh or not isinstance(job.spec, RunSpec):
        return next(iter(line.test))
    in_turn = job.spec.task.kind != "node-property" and trains_in_turn(job.spec.config)
    return "1" if in_turn else str(TGB_BATCH)


def _also(name: str, runs: Runs, over: Difference | None) -> str:
    """The mean and spread of a metric as text, or what the result took; empty where it is missing, as the
    loss of heuristics is. ``over`` is the difference from the best heuristic."""
    lines = [line for _, line in runs.values()]
    if name == OVER_HEURISTIC:
        return "" if over is None else f"{over.mean:+.4f}"
    if name in COSTS:
        costs = [cost for line in lines if (cost := line.cost(name)) is not None]
        return f"{sum(costs) / len(costs):{_FORMS[name]}}" if costs else ""
    if name == "loss":
        found = [line.loss for line in lines if line.loss is not None]
        return str(spread(found)) if found else ""
    return str(spread([metric_of(line, line.tested(), name) for line in lines]))


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


def runs_of(arm: Arm, results: Lines) -> Runs:
    """Runs of an arm by seed."""
    return {job.seed: (job, line) for job, line in results if job.arm == arm.label}


def lines_of(arm: Arm, results: Lines) -> dict[int, Line]:
    """Lines of an arm by seed."""
    return {seed: line for seed, (_, line) in runs_of(arm, results).items()}
