"""The picture that `keat demo` ends with: models side by side, and the gaps of their data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from keat.datasets.loading import Dataset
from keat.report.figures.data_figures import gap_curves
from keat.report.figures.picture import COLOURS, pyplot, save_picture, tidy
from keat.report.sections.results import Result, best_first, state_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def overview(data: Dataset, results: Sequence[Result], path: Path) -> None:
    """Models side by side, stale and fresh, and the gaps between events of each split."""
    figure, (left, right) = pyplot().subplots(
        1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=[1.15, 1]
    )
    _bars(left, results)
    gap_curves(right, data)
    save_picture(figure, path)


def _bars(axes: Axes, results: Sequence[Result]) -> None:
    """MRR of each model, one bar for each freshness of the state; the best on top."""
    refreshes = sorted({r.refresh for r in results if r.refresh is not None}, reverse=True)
    groups = [[r for r in results if r.refresh == refresh] for refresh in refreshes]
    models = best_first(groups, "mrr")[::-1]  # the first is at the bottom
    height = 0.8 / len(refreshes)
    for number, (refresh, colour) in enumerate(zip(refreshes, COLOURS, strict=False)):
        where = np.arange(len(models)) + 0.4 - height * (number + 0.5)
        values = [mrr[number] for _, mrr in models]
        bars = axes.barh(where, values, height * 0.92, color=colour, label=state_of(refresh))
        axes.bar_label(bars, fmt="%.3f", padding=3, fontsize=8)
    axes.set_yticks(np.arange(len(models)), [name for name, _ in models])
    axes.set_xlim(0, 1.15 * max(models[-1][1]))
    first = results[0]
    axes.set_xlabel(f"test MRR among {first.candidates:,} candidates")
    tidy(axes, f"{first.dataset}: {first.events:,} test events", legend="lower right")
