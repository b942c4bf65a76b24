"""The paper's figures that need no trained model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from keat.analysis.moments import exponential_ratio, moment_ratios
from keat.analysis.spectral import Of, spectral_entropies
from keat.datasets.loading import Dataset
from keat.kernels import create_kernel
from keat.report.made import Made
from keat.report.plots import BLUE, DASHES, GREEN, ORANGE, gap_curves, pyplot, save_picture

COLOURS = (BLUE, ORANGE, GREEN, "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
RATES = (0.5, 1.0, 2.0)
ORDERS = range(11)


def kernel_shapes(path: Path) -> Made:
    """ψ over age in multiples of σ, for the kernels that have a shape before training."""
    plt = pyplot()
    ages = np.linspace(0, 5, 201)
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    scale = 1_000  # ages are whole numbers of a unit
    shapes = (("identity", "none"), ("laplacian", "Laplacian"), ("rbf", "RBF"))
    for (name, label), colour, style in zip(shapes, COLOURS, DASHES, strict=False):
        kernel = create_kernel(name, float(scale), 1.0, 1)
        psi = kernel(torch.from_numpy((ages * scale).astype(np.int64))).detach().flatten().numpy()
        axes.plot(ages, np.broadcast_to(psi, ages.shape), color=colour, linestyle=style, label=label)
    axes.set(xlabel="age Δt / σ", ylabel="ψ(Δt)", ylim=(0, 1.05))
    axes.legend(frameon=False)
    save_picture(figure, path)
    return Made(pictures=[path])


def moment_decay(path: Path) -> Made:
    """R_n = E[ψ tⁿ]/E[tⁿ] for t ~ Exp(1), ψ = e^{-at}: by quadrature, and (1 + a)^-(n+1)."""
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    rows = []
    for rate, colour, style, marker in zip(RATES, COLOURS, DASHES, "os^", strict=False):
        found = moment_ratios(lambda t, a=rate: np.exp(-a * t), lambda t: -t, list(ORDERS))  # type: ignore[misc]
        closed = exponential_ratio(rate, list(ORDERS))
        axes.semilogy(list(ORDERS), closed, color=colour, linestyle=style, label=f"(1 + {rate:g})^-(n+1)")
        axes.semilogy(list(ORDERS), found, marker, color=colour, markersize=4)
        rows += [{"a": rate, "n": n, "R_n": float(found[n]), "closed form": float(closed[n])} for n in ORDERS]
    axes.set(xlabel="order n", ylabel="R_n")
    axes.legend(frameon=False)
    save_picture(figure, path)
    return Made(rows, pictures=[path])


def gap_densities(datasets: Mapping[str, Dataset], path: Path) -> Made:
    """p(Δt) of every split of every dataset."""
    plt = pyplot()
    figure, axes = grid(plt, len(datasets))
    for place, (name, data) in zip(axes, datasets.items(), strict=True):
        gap_curves(place, data)
        place.set_title(name, loc="left", fontsize=11)
    save_picture(figure, path)
    return Made(pictures=[path])


def spectral_densities(datasets: Mapping[str, Dataset], path: Path) -> Made:
    """Density of the nodes' spectral entropies: of timestamps, as in the paper, and of counts. A row a
    dataset, each as high as the others: one narrow density would flatten all."""
    plt = pyplot()
    height = 1.2 + 0.55 * len(datasets)
    figure, axes = plt.subplots(1, 2, figsize=(11, height), layout="constrained", sharey=True)
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


def grid(plt: Any, number: int, columns: int = 3) -> tuple[Any, list[Any]]:
    """A figure of so many panels."""
    columns = min(columns, max(number, 1))
    lines = -(-number // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(4.4 * columns, 3.2 * lines), layout="constrained", squeeze=False
    )
    for spare in axes.flat[number:]:
        spare.set_axis_off()
    return figure, list(axes.flat[:number])
