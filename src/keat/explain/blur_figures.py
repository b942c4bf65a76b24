"""The paper's pictures of blurring: attention over a shared age, without the kernel, with it, and the
difference; and a curve for each neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from keat.analysis.what_if import Past, all_at, attend
from keat.events.units import TimeUnit
from keat.explain.wording import ago
from keat.models.tgn import TGN
from keat.report.plots import BLUE, ORANGE, pyplot

Grid = npt.NDArray[np.float64]


def attention_over_age(
    model: TGN, past: Past, ages: Sequence[int], *, kernel: bool = True, recompute_phi: bool = False
) -> Grid:
    """Attention (n, G) of one node to its n past events, all given the same of G ages; mean over heads."""
    rows = all_at(past, torch.tensor(list(ages)), recompute_phi=recompute_phi)
    alpha = attend(model, rows, kernel=kernel)[1].alpha.mean(dim=2)
    return np.asarray(alpha.T[: int(past.mask.sum())].numpy(), dtype=np.float64)


def draw_heatmaps(plain: Grid, modulated: Grid, ages: Sequence[int], unit: TimeUnit, path: Path) -> None:
    """Three panels: standard attention, KEAT's, and what the kernel changed."""
    plt = pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.6), layout="constrained", sharey=True)
    top, most = max(plain.max(), modulated.max()), max(np.abs(modulated - plain).max(), 1e-9)
    panels = (
        ("ψ = 1, φ frozen", plain, "cividis", 0.0, top),
        ("with the kernel, φ frozen", modulated, "cividis", 0.0, top),
        ("difference", modulated - plain, "PuOr_r", -most, most),
    )
    shown = np.linspace(0, len(ages) - 1, 4).round().astype(int)
    for place, (title, grid, colours, low, high) in zip(axes, panels, strict=True):
        image = place.imshow(grid, aspect="auto", cmap=colours, vmin=low, vmax=high, interpolation="nearest")
        place.set_title(title, loc="left", fontsize=11)
        place.set_xticks(shown, [ago(ages[g], unit) for g in shown])
        place.set_yticks(range(len(grid)), [f"#{k + 1}" for k in range(len(grid))])
        place.set_xlabel("age given to every event")
        figure.colorbar(image, ax=place, shrink=0.85)
    axes[0].set_ylabel("past event, newest first")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_neighbor_curves(
    plain: Grid, modulated: Grid, ages: Sequence[int], unit: TimeUnit, path: Path
) -> None:
    """One small panel a past event: its attention without and with the kernel."""
    plt = pyplot()
    columns = min(5, len(plain))
    lines = -(-len(plain) // columns)
    figure, axes = plt.subplots(
        lines,
        columns,
        figsize=(2.6 * columns, 2.1 * lines),
        layout="constrained",
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    shown = np.linspace(0, len(ages) - 1, 3).round().astype(int)
    for k, place in enumerate(axes.flat):
        if k >= len(plain):
            place.set_axis_off()
            continue
        place.plot(plain[k], color=BLUE, linestyle="--", label="ψ = 1")
        place.plot(modulated[k], color=ORANGE, label="with the kernel")
        place.set_title(f"event #{k + 1}", loc="left", fontsize=9)
        place.set_xticks(shown, [ago(ages[g], unit) for g in shown], fontsize=7)
        place.spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(frameon=False, fontsize=7)
    figure.supylabel("attention", fontsize=9)
    figure.savefig(path, dpi=150)
    plt.close(figure)
