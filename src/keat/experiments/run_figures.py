"""Figures of trained runs, and what else is asked of them, by the names of their recipes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keat.experiments.attention_figures import draw_blurring, draw_neighbors
from keat.experiments.drawing import Drawing
from keat.experiments.hits_figure import draw_hits
from keat.experiments.released_table import draw_released
from keat.experiments.tables import table_of
from keat.report.figures import COLOURS, grid
from keat.report.made import Made
from keat.report.plots import pyplot, save_picture


def draw_widths(drawing: Drawing) -> Made:
    """The metric over the width of the kernel: every seed a dot, a line through the means."""
    plt = pyplot()
    figure, axes = grid(plt, len(drawing.datasets))
    for place, data in zip(axes, drawing.datasets, strict=True):
        table = table_of(drawing.recipe, data, drawing.results)["rows"]
        for at, row in enumerate(table):
            place.plot([at] * row["seeds"], list(row["values"].values()), "o", color=COLOURS[0], ms=4)
        means = [np.mean(list(row["values"].values())) for row in table]
        place.plot(range(len(table)), means, color=COLOURS[0], linewidth=1.4, label="measured, mean")
        theirs = {at: float(row["beside"]["paper"]) for at, row in enumerate(table) if row["beside"]}
        if theirs:
            place.plot(list(theirs), list(theirs.values()), "D", color=COLOURS[1], label="paper")
        place.set_xticks(range(len(table)), [row["label"] for row in table])
        place.set(xlabel="width of the kernel", ylabel=f"test {drawing.recipe.metric}")
        place.set_title(data, loc="left", fontsize=11)
        place.legend(frameon=False, fontsize=8)
        place.spines[["top", "right"]].set_visible(False)
    save_picture(figure, drawing.path)
    return Made(pictures=[drawing.path])


FIGURES: dict[str, Callable[[Drawing], Made]] = {
    "figure-hits": draw_hits,
    "figure-width": draw_widths,
    "figure-blurring": draw_blurring,
    "figure-neighbors": draw_neighbors,
    "table-released": draw_released,
}
