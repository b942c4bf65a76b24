"""The paper's pictures of blurring: attention over a shared age, without the kernel, with it, and the
difference; and a curve for each neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from keat.analysis.what_if import Sweep
from keat.events.units import TimeUnit
from keat.explain.phrases import ago
from keat.report.figures.picture import BLUE, ORANGE, pyplot, save_picture, tidy


def draw_heatmaps(sweeps: Sequence[Sweep], ages: Sequence[int], unit: TimeUnit, path: Path) -> None:
    """Three panels for each node: standard attention, KEAT's, and what the kernel changed."""
    size = (13, 0.3 + 3.3 * len(sweeps))
    figure, axes = pyplot().subplots(len(sweeps), 3, figsize=size, layout="constrained", squeeze=False)
    shown = np.linspace(0, len(ages) - 1, 4).round().astype(int)
    for row, sweep in zip(axes, sweeps, strict=True):
        change = sweep.modulated - sweep.plain
        top, most = max(sweep.plain.max(), sweep.modulated.max()), max(np.abs(change).max(), 1e-9)
        panels = (
            ("ψ = 1, φ frozen", sweep.plain, "cividis", 0.0, top),
            ("with the kernel, φ frozen", sweep.modulated, "cividis", 0.0, top),
            ("difference", change, "PuOr_r", -most, most),
        )
        for place, (title, grid, colours, low, high) in zip(row, panels, strict=True):
            image = place.imshow(
                grid, aspect="auto", cmap=colours, vmin=low, vmax=high, interpolation="nearest"
            )
            place.set_title(f"{sweep.name}: {title}", loc="left", fontsize=10)
            place.set_xticks(shown, [ago(ages[g], unit) for g in shown])
            place.set_yticks(range(len(grid)), [f"#{k + 1}" for k in range(len(grid))], fontsize=8)
            figure.colorbar(image, ax=place, shrink=0.85)
        row[0].set_ylabel("past event, newest first")
    for place in axes[-1]:
        place.set_xlabel("age given to every event")
    save_picture(figure, path)


def draw_neighbor_curves(sweeps: Sequence[Sweep], ages: Sequence[int], unit: TimeUnit, path: Path) -> None:
    """A small panel for each past event: its attention without and with the kernel; a block for each node."""
    columns = min(5, max(len(sweep.plain) for sweep in sweeps))
    lines = [-(-len(sweep.plain) // columns) for sweep in sweeps]
    figure, axes = pyplot().subplots(
        sum(lines),
        columns,
        figsize=(2.6 * columns, 2.1 * sum(lines)),
        layout="constrained",
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    shown = np.linspace(0, len(ages) - 1, 3).round().astype(int)
    for sweep, block in zip(sweeps, np.split(axes, np.cumsum(lines)[:-1]), strict=True):
        for k, place in enumerate(block.flat):
            if k >= len(sweep.plain):
                place.set_axis_off()
                continue
            place.plot(sweep.plain[k], color=BLUE, linestyle="--", label="ψ = 1")
            place.plot(sweep.modulated[k], color=ORANGE, label="with the kernel")
            place.set_xticks(shown, [ago(ages[g], unit) for g in shown], fontsize=7)
            tidy(place, f"{sweep.name}: event #{k + 1}", size=8)
    axes[0, 0].legend(frameon=False, fontsize=7)
    figure.supylabel("attention", fontsize=9)
    save_picture(figure, path)
