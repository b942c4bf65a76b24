"""The pictures of docs/understand/payments.md, drawn from the simulator.

python -m studies.payments_figures docs/images
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from keat.datasets.payments import (
    CATEGORIES,
    FEATURES,
    PaymentsConfig,
    PaymentsTruth,
    simulate_payments_with_truth,
)
from keat.events import EventStream

DAY, HOUR, MINUTE = 86_400, 3_600, 60
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#9A9A9A"  # told apart by colour-blind readers too


def draw_ring(stream: EventStream, truth: PaymentsTruth, path: Path) -> None:
    """Sixteen days around the ring with most cards: what its cards and its merchants do."""
    rings = range(int(truth.ring.max()))
    ring = max(rings, key=lambda r: len(np.unique(stream.src[truth.ring == r])))
    members = truth.ring == ring
    begin, end = stream.t[members][[0, -1]]
    window = (stream.t > begin - 8 * DAY) & (stream.t < begin + 8 * DAY)
    merchants = np.unique(stream.dst[members])
    cards = np.unique(stream.src[members])
    active = np.bincount(stream.src[window], minlength=stream.num_nodes)
    bystanders = np.setdiff1d(np.flatnonzero((active > 10) & (active < 40)), cards)[:5]
    days = (stream.t - begin) / DAY

    figure, (top, bottom) = plt.subplots(
        2,
        1,
        figsize=(9, 5.2),
        sharex=True,
        height_ratios=[len(cards) + 5, len(merchants)],
        layout="constrained",
    )
    for axes, nodes, side in (
        (top, np.append(bystanders, cards), stream.src),
        (bottom, merchants, stream.dst),
    ):
        for row, node in enumerate(nodes):
            here = window & (side == node)
            for part, style in (
                (here & ~members, {"color": BLUE, "s": 14, "alpha": 0.6}),
                (here & members, {}),
            ):
                style = style or {"color": ORANGE, "s": 34, "marker": "x", "linewidths": 1.6}
                axes.scatter(days[part], np.full(part.sum(), row), **style)
        axes.axvspan(0, (end - begin) / DAY, color=ORANGE, alpha=0.12, lw=0)
        axes.set_ylim(-0.7, len(nodes) - 0.3)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.grid(axis="y", color="#E6E6E6", lw=0.6)
        axes.tick_params(axis="y", length=0)
    top.set_yticks(range(len(bystanders) + len(cards)), ["cardholder"] * 5 + ["stolen card"] * len(cards))
    bottom.set_yticks(range(len(merchants)), ["colluding shop"] * len(merchants))
    bottom.set_xlabel("days from the ring's first test payment")
    top.scatter([], [], color=BLUE, s=14, alpha=0.6, label="genuine payment")
    top.scatter([], [], color=ORANGE, marker="x", s=34, label="payment of the ring")
    top.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
    figure.savefig(path, dpi=110)


def draw_planted(stream: EventStream, truth: PaymentsTruth, path: Path) -> None:
    """When people pay, and how long a hint is good for: as it is, and with what interferes switched off."""
    alone = PaymentsConfig(bursts=0.0, stay=0.0)
    undisturbed = simulate_payments_with_truth(len(stream), fraud=False, config=alone)
    figure, (gaps, week, fade) = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
    _draw_gaps(gaps, ages_and_agreement(stream, truth)[0])
    _draw_week(week, stream)
    _draw_fade(fade, ages_and_agreement(*undisturbed), BLUE, "hints alone")
    _draw_fade(fade, ages_and_agreement(stream, truth), ORANGE, "default")
    _draw_planted_fade(fade)
    for axes in (gaps, week, fade):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


def ages_and_agreement(stream: EventStream, truth: PaymentsTruth) -> tuple[np.ndarray, np.ndarray]:
    """For consecutive payments of a cardholder: the gap, and whether the second is in the category that the
    first one's basket hinted at."""
    order = np.argsort(stream.src, kind="stable")
    same_card = np.diff(stream.src[order]) == 0
    x, y = (stream.features[:, FEATURES.index(name)] for name in ("basket_x", "basket_y"))
    turns = np.arctan2(y, x) / (2 * np.pi)
    hint = np.rint(turns * len(CATEGORIES)).astype(int) % len(CATEGORIES)
    category = truth.merchant_category[stream.dst - (stream.num_nodes - len(truth.merchant_category))]
    agrees = hint[order][:-1] == category[order][1:]
    return np.diff(stream.t[order])[same_card], agrees[same_card]


def _draw_gaps(axes: Axes, age: np.ndarray) -> None:
    axes.hist(np.maximum(age, 1), bins=np.geomspace(10, 60 * DAY, 70).tolist(), color=BLUE)
    axes.set_xscale("log")
    axes.set_xticks([MINUTE, 30 * MINUTE, 8 * HOUR, 5 * DAY], ["1 min", "30 min", "8 h", "5 days"])
    axes.minorticks_off()
    axes.set_yticks([])
    axes.set_title("Gap to a cardholder's next payment", fontsize=10)


def _draw_week(axes: Axes, stream: EventStream) -> None:
    hours = np.bincount((stream.t + 3 * DAY) // HOUR % 168, minlength=168)  # the epoch was a Thursday
    axes.fill_between(np.arange(168), hours, color=BLUE, lw=0, step="mid")
    axes.set_xticks(np.arange(12, 168, 24), ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
    axes.set_yticks([])
    axes.set_ylim(0)
    axes.set_title("Payments by hour of the week", fontsize=10)


def _draw_fade(axes: Axes, measured: tuple[np.ndarray, np.ndarray], colour: str, label: str) -> None:
    age, agrees = measured
    edges = np.geomspace(MINUTE, 14 * DAY, 26)
    cell = np.digitize(age, edges)
    inside = (cell > 0) & (cell < len(edges))
    count = np.bincount(cell[inside], minlength=len(edges))[1:]
    share = np.bincount(cell[inside], agrees[inside], minlength=len(edges))[1:] / count
    axes.plot(np.sqrt(edges[1:] * edges[:-1]), share, "o", ms=4, color=colour, label=label)


def _draw_planted_fade(axes: Axes) -> None:
    config, chance = PaymentsConfig(), 1 / len(CATEGORIES)
    age = np.geomspace(MINUTE, 14 * DAY, 200)
    follow = 0.7 * config.hint * 2 ** (-age / config.hint_half_life)
    axes.plot(age, chance + (1 - chance) * follow, color=GREY, lw=2, zorder=0, label="formula")
    axes.axhline(chance, color=GREY, lw=1, ls=":")
    axes.set_xscale("log")
    axes.set_xticks([MINUTE, 30 * MINUTE, DAY, 7 * DAY], ["1 min", "30 min", "1 day", "7 days"])
    axes.minorticks_off()
    axes.set_ylim(0, 0.7)
    axes.set_title("Next payment is where the last basket hinted", fontsize=10)
    axes.set_xlabel("age of the basket")
    axes.legend(frameon=False, fontsize=8, loc="lower left")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    draw_ring(*simulate_payments_with_truth(), folder / "payments_ring.png")
    draw_planted(*simulate_payments_with_truth(1_000_000), folder / "payments_planted.png")


if __name__ == "__main__":
    main()
