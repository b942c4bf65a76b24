"""The picture of docs/results/fading.md: who gains in which world, and which half-lives are learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

DAY = 86_400.0
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#7A7A7A"  # told apart by colour-blind readers too
MARKS = {"cosine-geometric": (BLUE, "o"), "cosine": (ORANGE, "s")}


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    worlds = list(dict.fromkeys(line["world"] for line in lines if line["encoder"] == "cosine"))
    figure, axes = plt.subplots(
        1, len(worlds) + 1, figsize=(3.1 * (len(worlds) + 1), 3.6), layout="constrained"
    )
    for place, world in zip(axes, worlds, strict=False):
        _gains(place, [line for line in lines if line["world"] == world], world)
    shared = max(abs(value) for place in axes[: len(worlds)] for value in place.get_xlim())
    for place in axes[: len(worlds)]:
        place.set_xlim(-shared, shared)
    for place in axes[1 : len(worlds)]:
        place.set_yticklabels([])
    axes[0].legend(title="time encoding", fontsize=8, title_fontsize=8, loc="lower right")
    _half_lives(axes[-1], lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _gains(axes: Axes, lines: list[dict[str, Any]], world: str) -> None:
    """AUC minus the plain model's of the same seed: a dot a seed, a bar for their mean."""
    kernels = [kernel for kernel in dict.fromkeys(line["kernel"] for line in lines) if kernel != "identity"]
    auc = {(line["encoder"], line["kernel"], line["seed"]): line["test"]["auc"] for line in lines}
    for encoder, (colour, mark) in MARKS.items():
        shift = 0.14 if encoder == "cosine" else -0.14
        for row, kernel in enumerate(kernels):
            gains = [
                auc[encoder, kernel, seed] - plain
                for (e, k, seed), plain in auc.items()
                if (e, k) == (encoder, "identity") and (encoder, kernel, seed) in auc
            ]
            if gains:
                label = f"{encoder}" if row == 0 else None
                axes.plot(
                    gains, [row + shift] * len(gains), mark, color=colour, ms=4.5, alpha=0.75, label=label
                )
                mean = float(np.mean(gains))
                axes.plot([mean, mean], [row + shift - 0.12, row + shift + 0.12], color=colour, lw=2)
    axes.axvline(0, color=GREY, lw=0.8)
    axes.set_yticks(range(len(kernels)), ["planted width" if k == "planted" else k for k in kernels])
    axes.invert_yaxis()
    axes.set_title(f"evidence {world}", fontsize=10)
    axes.set_xlabel("AUC minus the plain model's", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _half_lives(axes: Axes, lines: list[dict[str, Any]]) -> None:
    """Learned against planted, a dot a head; σ, where learning starts, as a dash."""
    for line in lines:
        if line["half_lives"] is None or not line["half_life"] or line["encoder"] != "cosine-geometric":
            continue
        planted = line["half_life"] / DAY
        axes.plot(
            [planted] * len(line["half_lives"]), np.array(line["half_lives"]) / DAY, "o", color=BLUE, ms=4.5
        )
        axes.plot(planted, line["sigma"] * np.log(2) / DAY, "_", color=GREY, ms=14)
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
