"""Figures of trained runs, and what else is asked of them, by the names of their recipes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from keat.experiments.as_released import SUFFIX as RELEASED
from keat.experiments.as_released import run_released
from keat.experiments.attention_sweeps import attention_figure
from keat.experiments.hits_over_k import hits_figure
from keat.experiments.recipe_table import table_of
from keat.experiments.reproduction import Reproduction
from keat.report.figures.attention_heatmaps import draw_heatmaps, draw_neighbor_curves
from keat.report.figures.made import Made, PlainRow
from keat.report.figures.run_results import draw_gains, draw_widths

Figure = Callable[[Reproduction, Path], Made]


def width_figure(found: Reproduction, path: Path) -> Made:
    draw_widths(found.tables, path)
    return Made(pictures=[path])


def released_figure(found: Reproduction, path: Path) -> Made:
    """A row for each arm and way to evaluate; the picture has the difference of every seed."""
    again = found.ask(run_released, RELEASED)
    released = [table_of(found.recipe, data, again) for data in found.datasets]
    tables = {"sound": found.tables, "as released": released}
    rows: list[PlainRow] = [
        {
            "dataset": sound["data"],
            "model": row["label"],
            "evaluation": way,
            "seeds": row["seeds"],
            f"test {found.recipe.metric}": row["test"],
            "difference, paired": row["difference"] or "",
        }
        for sound, other in zip(*tables.values(), strict=True)
        for both in zip(sound["rows"], other["rows"], strict=True)
        for way, row in zip(tables, both, strict=True)
    ]
    compared = [(arm.label, arm.against) for arm in found.recipe.arms if arm.against is not None]
    draw_gains(tables, compared, path)
    return Made(rows, pictures=[path])


FIGURES: dict[str, Figure] = {
    "figure-hits": hits_figure,
    "figure-width": width_figure,
    "figure-blurring": lambda found, path: attention_figure(found, path, draw_heatmaps),
    "figure-neighbors": lambda found, path: attention_figure(found, path, draw_neighbor_curves),
    "table-released": released_figure,
}
