"""Figures of the results of trained runs: Hits@K over K, a metric over the width, and gains seed by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from keat.report.figures.picture import COLOURS, panels, save_picture, tidy
from keat.report.sections.comparison import RecipeTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, eq=False)
class HitsCurve:
    """Hits@K of one model, (seeds, K)."""

    model: str
    ks: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    heuristic: bool


def draw_hits(curves: Mapping[str, Sequence[HitsCurve]], ks: Sequence[int], path: Path) -> None:
    """A panel for each title: mean over seeds; the band is one standard deviation."""
    figure, axes = panels(len(curves), columns=2)
    for place, (title, models) in zip(axes, curves.items(), strict=True):
        for curve, colour in zip(models, COLOURS, strict=False):
            mean, several = curve.values.mean(axis=0), len(curve.values) > 1
            std = curve.values.std(axis=0, ddof=1) if several else np.zeros(len(curve.ks))
            style = "--" if curve.heuristic else "-o"
            place.plot(curve.ks, mean, style, color=colour, label=curve.model, ms=3)
            place.fill_between(curve.ks, mean - std, mean + std, color=colour, alpha=0.18, linewidth=0)
        place.set_xscale("log")
        place.set_xticks(ks, [str(k) for k in ks])
        place.minorticks_off()
        place.set(xlabel="K", ylabel="Hits@K", ylim=(0, 1))
        tidy(place, title)
    axes[0].legend(frameon=False, fontsize=8, loc="lower right")
    save_picture(figure, path)


def draw_widths(tables: Sequence[RecipeTable], path: Path) -> None:
    """The metric over the width of the kernel: every seed a dot, a line through the means."""
    figure, axes = panels(len(tables))
    for place, table in zip(axes, tables, strict=True):
        rows = table["rows"]
        for at, row in enumerate(rows):
            place.plot([at] * row["seeds"], list(row["values"].values()), "o", color=COLOURS[0], ms=4)
        means = [np.mean(list(row["values"].values())) for row in rows]
        place.plot(range(len(rows)), means, color=COLOURS[0], linewidth=1.4, label="measured, mean")
        theirs = {at: float(row["beside"]["paper"]) for at, row in enumerate(rows) if row["beside"]}
        if theirs:
            place.plot(list(theirs), list(theirs.values()), "D", color=COLOURS[1], label="paper")
        place.set_xticks(range(len(rows)), [row["label"] for row in rows])
        place.set(xlabel="width of the kernel", ylabel=f"test {table['metric']}")
        tidy(place, table["data"], legend="best")
    save_picture(figure, path)


def draw_gains(
    by_way: Mapping[str, Sequence[RecipeTable]], compared: Sequence[tuple[str, str]], path: Path
) -> None:
    """Differences of the pairs of models that are ``compared``, a dot for each seed and way to evaluate."""
    first = next(iter(by_way.values()))
    figure, axes = panels(len(first))
    for number, (place, table) in enumerate(zip(axes, first, strict=True)):
        _gains(place, {way: tables[number] for way, tables in by_way.items()}, compared)
        place.set_xlabel(f"difference in test {table['metric']}, a dot for each seed")
        tidy(place, table["data"])
    save_picture(figure, path)


def _gains(place: Axes, tables: Mapping[str, RecipeTable], compared: Sequence[tuple[str, str]]) -> None:
    values = {(row["label"], way): row["values"] for way, table in tables.items() for row in table["rows"]}
    colours = dict(zip(tables, COLOURS, strict=False))
    beside = place.get_yaxis_transform()  # across the panel, whatever the differences are
    lines = [(label, against, way) for label, against in compared for way in tables]
    for at, (label, against, way) in enumerate(lines):
        ours, theirs = values[label, way], values[against, way]
        gains = [ours[seed] - theirs[seed] for seed in ours.keys() & theirs.keys()]
        place.plot(gains, [-at] * len(gains), "o", color=colours[way])
        place.text(0, -at + 0.18, f"{label}, {way}", transform=beside, fontsize=8)
    place.axvline(0, color="0.4", linewidth=0.8)
    place.set_ylim(0.4 - len(lines), 0.6)
    place.set_yticks([])
    place.spines["left"].set_visible(False)
