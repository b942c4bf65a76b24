"""A recipe's table from the ledger: measured, paired, and beside what others published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keat.experiments.job import Job
from keat.experiments.recipe import Arm, Recipe
from keat.experiments.statistics import Difference, paired_difference, spread

Lines = Sequence[tuple[Job, dict[str, Any]]]


def table_of(recipe: Recipe, data: str, results: Lines) -> dict[str, Any]:
    """Rows of one dataset as plain values: {"columns": …, "rows": …}, one row an arm that was run."""
    mine = [(job, line) for job, line in results if job.data == data]
    refreshes = [] if not mine else list(mine[0][1]["test"])
    rows = [_row(recipe, arm, data, mine, refreshes) for arm in recipe.arms if _lines(recipe, arm, mine)]
    return {
        "recipe": recipe.name,
        "data": data,
        "metric": recipe.metric,
        "also": list(recipe.also),
        "rows": rows,
    }


def markdown(table: Mapping[str, Any]) -> str:
    """The table for a page. A difference is bold where its interval excludes zero."""
    metric = table["metric"]
    also = [f"test {other}" for other in table["also"]]
    columns = ["model", "seeds", f"val {metric}", f"test {metric}", *also, "difference in test, paired"]
    published = any(row["published"] for row in table["rows"])
    columns += ["published"] if published else []
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    for row in table["rows"]:
        difference = row["difference"] or ""
        if row["clear"]:
            difference = f"**{difference}**"
        cells = [row["label"], str(row["seeds"]), row["val"], row["test"], *row["also"].values(), difference]
        cells += [row["published"]] if published else []
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _row(recipe: Recipe, arm: Arm, data: str, results: Lines, refreshes: Sequence[str]) -> dict[str, Any]:
    lines = _lines(recipe, arm, results)
    difference = _difference(recipe, arm, results)
    published = arm.published.get(data)
    values = {seed: _test(line, recipe.metric) for seed, line in lines.items()}
    return {
        "label": arm.label,
        "model": arm.model,
        "seeds": len(lines),
        "val": str(spread([line["val"][recipe.metric] for line in lines.values()])),
        "test": str(spread(list(values.values()))),
        "values": values,
        "by_refresh": {
            refresh: str(spread([line["test"][refresh][recipe.metric] for line in lines.values()]))
            for refresh in refreshes
            if all(refresh in line["test"] for line in lines.values())
        },
        "also": {
            metric: str(spread([_test(line, metric) for line in lines.values()])) for metric in recipe.also
        },
        "difference": None if difference is None else f"{difference} vs {arm.against}",
        "clear": difference is not None and difference.is_clear,
        "published": "" if published is None else f"{published:.4f}",
    }


def _difference(recipe: Recipe, arm: Arm, results: Lines) -> Difference | None:
    if arm.against is None:
        return None
    other = next(candidate for candidate in recipe.arms if candidate.label == arm.against)
    ours, theirs = (
        {seed: _test(line, recipe.metric) for seed, line in _lines(recipe, which, results).items()}
        for which in (arm, other)
    )
    return paired_difference(ours, theirs)


def _lines(recipe: Recipe, arm: Arm, results: Lines) -> dict[int, dict[str, Any]]:
    """Lines of an arm by seed."""
    return {
        job.seed: line
        for job, line in results
        if (job.model, job.config, job.fit) == (arm.model, arm.config, recipe.fit | arm.fit)
    }


def _test(line: dict[str, Any], metric: str) -> float:
    return float(next(iter(line["test"].values()))[metric])
