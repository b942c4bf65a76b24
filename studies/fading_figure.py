"""The picture of docs/results/fading.md: who gains in which world, and which half-lives are learned."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from studies.fading_lines import FadingLine
from studies.fading_world import DAY

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"  # told apart by colour-blind readers too
PINK, GREY = "#CC79A7", "#7A7A7A"
KERNELS = {
    "laplacian": "Laplacian",
    "learnable": "learnable",
    "planted": "Laplacian,\nplanted width",
}
NAMES = {"tgat": "TGAT", "tgn": "TGN", "dygformer": "DyGFormer"}
HALF_LIVES = ("fades in 6 hours", "fades in a day", "fades in 4 days")  # worlds of the last panel
MARKS = {  # (model, past payments attended to): colour, mark, how far from the row's middle
    ("tgat", 1): (GREEN, "^", -0.3),
    ("tgat", 5): (BLUE, "o", -0.1),
    ("tgn", 5): (ORANGE, "s", 0.1),
    ("dygformer", 5): (PINK, "D", 0.3),
}


def draw(lines: list[FadingLine], path: Path) -> None:
    worlds = list(dict.fromkeys(line.cell.world for line in lines if line.cell.neighbors == 5))
    figure, axes = plt.subplots(
        1, len(worlds) + 1, figsize=(3.1 * (len(worlds) + 1), 3.6), layout="constrained"
    )
    for place, world in zip(axes, worlds, strict=False):
        _gains(place, [line for line in lines if line.cell.world == world], world)
    limits = [place.get_xlim() for place in axes[: len(worlds)]]
    for place in axes[: len(worlds)]:
        place.set_xlim(min(low for low, _ in limits) - 0.01, max(high for _, high in limits) + 0.01)
    for place in axes[1 : len(worlds)]:
        place.set_yticklabels([])
    axes[0].legend(fontsize=8, loc="best")
    _half_lives(axes[-1], lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _gains(axes: Axes, lines: list[FadingLine], world: str) -> None:
    """AUC minus the plain model's of the same seed: a dot for each seed, a bar for their mean."""
    auc = {
        (line.cell.model, line.cell.neighbors, line.cell.kernel, line.cell.seed): line.found.test["auc"]
        for line in lines
    }
    for (model, number), (colour, mark, shift) in MARKS.items():
        plain = {key[3]: value for key, value in auc.items() if key[:3] == (model, number, "identity")}
        for row, kernel in enumerate(KERNELS):
            gains = [
                auc[model, number, kernel, seed] - before
                for seed, before in plain.items()
                if (model, number, kernel, seed) in auc
            ]
            if gains:
                label = f"{NAMES[model]}, last {number}" if row == 0 else None
                axes.plot(gains, [row + shift] * len(gains), mark, color=colour, ms=4, alpha=0.7, label=label)
                mean = float(np.mean(gains))
                axes.plot([mean, mean], [row + shift - 0.1, row + shift + 0.1], color=colour, lw=2)
    axes.axvline(0, color=GREY, lw=0.8)
    axes.set_yticks(range(len(KERNELS)), list(KERNELS.values()))
    axes.set_ylim(-0.6, len(KERNELS) - 0.4)
    axes.invert_yaxis()
    axes.set_title(f"evidence {world}", fontsize=10)
    axes.set_xlabel("AUC minus the plain model's", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _half_lives(axes: Axes, lines: list[FadingLine]) -> None:
    """Learned against planted, a dot for each head; σ, where learning starts, as a dash."""
    for line in lines:
        if line.found.half_lives is None or line.cell.neighbors != 1 or line.cell.world not in HALF_LIVES:
            continue
        assert line.found.half_life is not None
        planted = line.found.half_life / DAY
        axes.plot(
            [planted] * len(line.found.half_lives),
            np.array(line.found.half_lives) / DAY,
            "o",
            color=BLUE,
            ms=4.5,
        )
        axes.plot(planted, line.found.sigma * np.log(2) / DAY, "_", color=GREY, ms=14)
    span = np.array([0.06, 16.0])
    axes.plot(span, span, color=GREY, lw=0.8)
    axes.set(xscale="log", yscale="log", xlim=span, ylim=span)
    ticks = [0.1, 0.25, 1, 4, 10]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("planted half-life, days", fontsize=9)
    axes.set_ylabel("learned half-life, days", fontsize=9)
    axes.set_title("learned width (dash: where it starts)", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
