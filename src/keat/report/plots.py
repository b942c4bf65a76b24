"""Pictures. Colours are Okabe and Ito's, which stay apart for colour-blind eyes and in print."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from keat.datasets.loading import Dataset
from keat.disk import new_file
from keat.errors import InputError, MissingExtraError
from keat.report.drift import gap_shares
from keat.report.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN = "#0072B2", "#E69F00", "#009E73"
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (5, 1.5, 1, 1.5)))  # without colours


def overview(data: Dataset, results: Sequence[Result], path: Path) -> None:
    """Models side by side, stale and fresh, and the gaps between events of each split."""
    plt = pyplot()
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=[1.15, 1]
    )
    _bars(left, results)
    gap_curves(right, data)
    save_picture(figure, path)


def _bars(axes: Axes, results: Sequence[Result]) -> None:
    """MRR of each model, one bar for each freshness of the state; the best on top."""
    refreshes = sorted({r.refresh for r in results if r.refresh is not None}, reverse=True)
    best = {r.model: 0.0 for r in results}
    for r in results:
        best[r.model] = max(best[r.model], r.metrics["mrr"])
    models = sorted(best, key=lambda model: best[model])
    height = 0.8 / len(refreshes)
    for place, (refresh, colour) in enumerate(zip(refreshes, (BLUE, ORANGE, GREEN), strict=False)):
        values = [
            next(r.metrics["mrr"] for r in results if r.model == m and r.refresh == refresh) for m in models
        ]
        where = np.arange(len(models)) + 0.4 - height * (place + 0.5)
        label = f"state refreshed every {refresh} events" if refresh > 1 else "state always fresh"
        bars = axes.barh(where, values, height * 0.92, color=colour, label=label)
        axes.bar_label(bars, fmt="%.3f", padding=3, fontsize=8)
    axes.set_yticks(np.arange(len(models)), models)
    axes.set_xlim(0, 1.15 * max(best.values()))
    first = results[0]
    axes.set_xlabel(f"test MRR among {first.candidates:,} candidates")
    axes.set_title(f"{first.dataset}: {first.events:,} test events", loc="left", fontsize=11)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)


def gap_curves(axes: Axes, data: Dataset) -> None:
    """p(Δt): shares of log gaps back to the node's previous event, by split, with σ."""
    found = gap_shares(data)
    for (name, shares), colour, style in zip(
        found.shares.items(), (BLUE, ORANGE, GREEN), DASHES, strict=False
    ):
        apart = {"at once": found.none[name], "longer or first": found.beyond[name]}
        label = ", ".join([name, *(f"{share:.0%} {what}" for what, share in apart.items() if share >= 0.005)])
        axes.stairs(shares, found.edges, color=colour, label=label, linewidth=1.4, linestyle=style)
    axes.axvline(found.sigma, color="0.35", linewidth=0.8)
    axes.annotate(
        "σ",
        (found.sigma, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
    )
    top = max(float(shares.max(initial=0.0)) for shares in found.shares.values())
    axes.set_ylim(0, 1.35 * top or 1)  # curves may be high anywhere: room for the legend above them
    axes.set_xscale("log")
    axes.set_xticks(list(found.ticks.values()), list(found.ticks), minor=False)
    axes.minorticks_off()
    axes.set_xlabel("time since the previous event of the node")
    axes.set_ylabel("share")
    axes.set_title("p(Δt) by split", loc="left", fontsize=11)
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)


def pyplot() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError(
            "Pictures need matplotlib; install it with: pip install 'keat[report]'"
        ) from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def save_picture(figure: Figure, path: Path, dpi: int = 150) -> None:
    """Write a figure and let go of it. Text is shown as it is: an id like ``$x_1$`` is no formula. Every
    picture of keat is written here."""
    from matplotlib import pyplot as plt

    kind, known = path.suffix[1:].lower() or "png", figure.canvas.get_supported_filetypes()
    try:
        if kind not in known:
            raise InputError(f"Pictures are written as {', '.join(sorted(known))}, so not as {path}.")
        _turn_formulas_off(figure)
        with new_file(path) as part, warnings.catch_warnings():
            # A letter that no font has is drawn as a box, which says enough.
            warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
            figure.savefig(part, dpi=dpi, format=kind)
    finally:
        plt.close(figure)


def _turn_formulas_off(figure: Figure) -> None:
    """Of all text but the powers of ten of a logarithmic axis, which are the only formulas there are."""
    from matplotlib.text import Text
    from matplotlib.ticker import LogFormatter

    powers: set[int] = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if isinstance(axis.get_major_formatter(), LogFormatter):
                ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
                powers.update(id(text) for tick in ticks for text in (tick.label1, tick.label2))
    for text in figure.findobj(Text):
        if id(text) not in powers:
            text.set_parse_math(False)
