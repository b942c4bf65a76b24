"""The table of ranks: the leaderboard's as the paper has it, averaged again, and that of what was measured.

A model that is missing on a dataset gets the rank after the last one: the paper's penalty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from keat.experiments.measured import Known, measured
from keat.experiments.published import paper
from keat.experiments.recipe import load_recipe
from keat.experiments.recipe_table import table_of
from keat.report.figures.made import Made, PlainRow

RANKED = ("tgbl-wiki", "tgbl-review", "tgbl-coin", "tgbl-comment", "tgbl-flight")
PAPER_RANKS: dict[str, list[int]] = paper("ranks")
CAPTION = (
    "A model without an entry on a dataset has the rank after the last, the paper's penalty: "
    f"{len(PAPER_RANKS) + 1} among the leaderboard's {len(PAPER_RANKS)}."
)
MEASURED = ("table-link", "table-flight")


def ranking(sources: Mapping[str, str], path: Path, ledger: Path) -> Made:  # noqa: ARG001
    """Average rank and mean reciprocal rank over datasets, of the paper's ranks and of the ledger's."""
    tables = {"Leaderboard ranks, as in the paper": averages(PAPER_RANKS, RANKED)}
    numbers = _measured(sources, ledger)
    if numbers:
        tables["Ranks of what was measured, by test MRR"] = averages(ranks_of(numbers), list(numbers))
    return Made(by_title=tables, caption=CAPTION)


def averages(ranks: Mapping[str, Sequence[int]], datasets: Sequence[str]) -> list[PlainRow]:
    """A row for each model, the best average first."""
    average = {model: round(float(np.mean(of_model)), 3) for model, of_model in ranks.items()}
    return [
        {
            "model": model,
            **dict(zip(datasets, ranks[model], strict=True)),
            "average rank": average[model],
            "ranking MRR": round(float(np.mean(1 / np.array(ranks[model]))), 3),
        }
        for model in sorted(ranks, key=lambda model: average[model])
    ]


def ranks_of(numbers: Mapping[str, Mapping[str, float]]) -> dict[str, list[int]]:
    """Ranks of models from {dataset: {model: metric}}, the highest first; equals share the better rank."""
    models = list(dict.fromkeys(model for of_data in numbers.values() for model in of_data))
    ranks: dict[str, list[int]] = {model: [] for model in models}
    for of_data in numbers.values():
        order = rankdata([-value for value in of_data.values()], method="min").astype(int).tolist()
        here = dict(zip(of_data, order, strict=True))
        for model in models:
            ranks[model].append(here.get(model, len(models) + 1))
    return ranks


def _measured(sources: Mapping[str, str], ledger: Path) -> dict[str, dict[str, float]]:
    """Mean test MRR of every arm of the link tables that has been run, by dataset."""
    found: dict[str, dict[str, float]] = {}
    known = Known.of(ledger)
    for recipe in map(load_recipe, MEASURED):
        results = measured(recipe, sources, known)
        for data in recipe.datasets:
            rows = table_of(recipe, data, results)["rows"]
            if rows:
                found[data] = {row["label"]: float(np.mean(list(row["values"].values()))) for row in rows}
    return found
