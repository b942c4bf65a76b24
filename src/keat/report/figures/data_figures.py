"""Figures of data: the gaps between events, and how periodic the events of a node are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from keat.analysis.spectral import Of, spectral_entropies
from keat.datasets.loading import Dataset
from keat.report.figures.made import Made
from keat.report.figures.picture import COLOURS, DASHES, panels, pyplot, save_picture, tidy
from keat.report.sections.drift import gap_shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def gap_curves(axes: Axes, data: Dataset) -> None:
    """p(Δt): shares of log gaps back to the node's previous event, by split, with σ."""
    found = gap_shares(data)
    for (name, shares), colour, style in zip(found.shares.items(), COLOURS, DASHES, strict=False):
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
    tidy(axes, "p(Δt) by split", legend="upper left")


def gap_densities(datasets: Mapping[str, Dataset], path: Path) -> Made:
    """p(Δt) of every split of every dataset."""
    figure, axes = panels(len(datasets))
    for place, (name, data) in zip(axes, datasets.items(), strict=True):
        gap_curves(place, data)
        place.set_title(name, loc="left", fontsize=11)
    save_picture(figure, path)
    return Made(pictures=[path])


def spectral_densities(datasets: Mapping[str, Dataset], path: Path) -> Made:
    """Density of the nodes' spectral entropies: of timestamps, as in the paper, and of counts. A row a
    dataset, each as high as the others: one narrow density would flatten all."""
    height = 1.2 + 0.55 * len(datasets)
    figure, axes = pyplot().subplots(1, 2, figsize=(11, height), layout="constrained", sharey=True)
    rows = []
    kinds: tuple[Of, ...] = ("timestamps", "counts")
    for place, of in zip(axes, kinds, strict=True):
        found = {name: spectral_entropies(data.stream, of) for name, data in datasets.items()}
        everything = np.concatenate(list(found.values()))
        edges = np.linspace(everything.min(), everything.max(), 81)
        for line, ((name, entropies), colour) in enumerate(
            zip(found.items(), COLOURS * len(datasets), strict=False)
        ):
            density, _ = np.histogram(entropies, bins=edges)
            top = -line + 0.9 * density / max(density.max(), 1)
            place.stairs(top, edges, baseline=-line, fill=True, color=colour, alpha=0.85)
            median = float(np.median(entropies))
            place.plot([median, median], [-line, -line + 0.9], color="0.15", linewidth=1.2)
            rows.append({"dataset": name, "of": of, "median H": round(median, 3)})
        place.set(xlabel="spectral entropy H, nats (line: median)", title=f"of {of}")
        place.set_yticks([-line for line in range(len(found))], list(found))
        place.spines[["top", "right", "left"]].set_visible(False)
        place.tick_params(axis="y", length=0)
    save_picture(figure, path)
    return Made(rows, pictures=[path])
