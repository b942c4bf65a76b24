"""An explanation as one picture."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from keat.explain.ends import End
from keat.explain.event import EventExplanation
from keat.explain.explained import Explained
from keat.explain.explanation import Explanation
from keat.explain.page import counterfactual, facts_line, model_line, story
from keat.explain.page_charts import axis
from keat.explain.page_tables import LOGIT_PARTS, logit_parts
from keat.explain.picture_event import write_event_picture
from keat.explain.picture_pair import draw_evidence, draw_widths
from keat.explain.scored import Scored
from keat.explain.wording import ago, signed
from keat.report.plots import BLUE, GREEN, pyplot, save_picture
from keat.report.svg import by_recency

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VERMILION, GREY = "#D55E00", "0.55"


def write_picture(x: Explained, path: Path) -> None:
    """A PNG of all there is: logits and attention of every past event, two sweeps and the deletion curves;
    the parts of the pair term; or what each part of a labelled event is worth."""
    if isinstance(x, EventExplanation):
        write_event_picture(x, path)
        return
    assert isinstance(x, Scored)
    plt = pyplot()
    attention = x if isinstance(x, Explanation) and x.has_past else None
    ratios = [1.25, 1, 1, 1] if attention is not None else []
    ratios += [] if x.pair is None else [1.25]
    tall = 7.6 if ratios else 1.6
    figure = plt.figure(figsize=(3 + 3 * max(sum(ratios), 2.25), tall), layout="constrained")
    title = f"{x.source} → {x.destination} scored {signed(x.score, plus=False)}"
    figure.suptitle(f"{title}\n{model_line(x)}\n{facts_line(x)}", fontsize=11)
    if ratios:
        axes = figure.subplots(2, len(ratios), squeeze=False, width_ratios=ratios)
    else:
        figure.text(0.5, 0.15, story(x), ha="center", fontsize=11)
    if attention is not None:
        _attention(axes[:, :4], attention)
    if x.pair is not None:
        draw_evidence(axes[0, -1], x)
        draw_widths(axes[1, -1], x)
    save_picture(figure, path, dpi=130)


def _attention(axes: npt.NDArray[np.object_], x: Explanation) -> None:
    for row, end in zip(axes, x.ends, strict=True):
        if not end.neighbors:
            for empty in row[:3]:
                empty.set_axis_off()
            row[0].set_title(f"{end.role} {end.node}: no past event", loc="left", fontsize=10)
            continue
        _events(row[0], x, end)
        _sweep(row[1], x, end, end.shared, "all at once, φ frozen", marked=False)
        _sweep(row[2], x, end, end.recomputed, "one alone, φ recomputed", marked=True)
    _deletion(axes[0, 3], x)
    axes[1, 3].set_axis_off()
    axes[1, 3].text(0, 0.6, fill(counterfactual(x) or "", 34), fontsize=11)


def _events(axes: Axes, x: Explanation, end: End) -> None:
    """Node and edge part of each logit, and the share of attention beside them."""
    axes.set_title(f"{end.role} {end.node}: logits, attention in %", loc="left", fontsize=10)
    parts, place = logit_parts(x, end), np.arange(len(end.neighbors))
    names = LOGIT_PARTS[x.model["modulate"]]
    axes.barh(place - 0.19, parts[:, 0], 0.36, color=BLUE, label=f"{names[0]}, against its mean")
    axes.barh(
        place + 0.19, parts[:, 1], 0.36, color=VERMILION, hatch="///", edgecolor="white", label=names[1]
    )
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_yticks(
        place,
        [f"#{k + 1} {n.node}, {ago(n.since, x.unit)}" for k, n in enumerate(end.neighbors)],
        fontsize=8,
    )
    for k, n in enumerate(end.neighbors):
        axes.annotate(
            f"{100 * n.attention:.0f}",
            (1.0, k),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=GREEN,
            fontweight="bold",
        )
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize=8, loc="best")
    axes.spines[["top", "right"]].set_visible(False)


def _sweep(
    axes: Axes, x: Explanation, end: End, sweep: list[list[float]], title: str, *, marked: bool
) -> None:
    axes.set_title(title, loc="left", fontsize=10)
    places = np.arange(len(x.ages))
    for k, alpha in enumerate(sweep):
        colour = by_recency(k, len(sweep))
        axes.plot(places, alpha, color=colour, linewidth=1.3)
        if marked:
            at = np.interp(end.neighbors[k].age, x.ages, places)
            axes.plot(at, np.interp(at, places, alpha), "o", color=colour, markersize=4)
    shown = np.linspace(0, len(x.ages) - 1, 4).round().astype(int)
    axes.set_xticks(shown, [ago(x.ages[g], x.unit) for g in shown], fontsize=8)
    axes.set_ylim(*axis(sweep))
    axes.set_ylabel("attention", fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _deletion(axes: Axes, x: Explanation) -> None:
    curves = x.deletion
    steps = np.arange(len(curves.most_attended_first))
    low, high = (curves.random.quantile(q, dim=0).numpy() for q in (0.1, 0.9))
    axes.fill_between(steps, low, high, color=GREY, alpha=0.25, linewidth=0)
    axes.plot(steps, curves.random.mean(dim=0), color=GREY, linestyle=":", label="at random (10 to 90 %)")
    axes.plot(steps, curves.least_attended_first, color=BLUE, linestyle="--", label="least attended first")
    axes.plot(steps, curves.most_attended_first, color=VERMILION, label="most attended first")
    axes.set_title("score as events are taken away", loc="left", fontsize=10)
    axes.set_xlabel("events taken away", fontsize=8)
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
