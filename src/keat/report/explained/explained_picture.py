"""An explanation as one picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from keat.explain import event_wording
from keat.explain.ends import End
from keat.explain.event import EventExplanation
from keat.explain.explained import Explained
from keat.explain.explanation import Explanation
from keat.explain.left_out import LeftOut
from keat.explain.link_wording import (
    LOGIT_PARTS,
    counterfactual,
    facts_line,
    logit_parts,
    model_line,
    story,
)
from keat.explain.pair_wording import by_width, evidence
from keat.explain.phrases import ago, signed
from keat.explain.scored import Scored
from keat.report.explained.attention_charts import axis
from keat.report.figures.picture import (
    BLUE,
    GREEN,
    GREY,
    VERMILION,
    pyplot,
    save_picture,
    tidy,
    with_short_words,
)
from keat.report.html.line_chart import by_recency

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BARS = 12  # in a panel of a labelled event
PAST = "past events: effect of each"
LABEL = 40  # letters in a line beside a bar
Effects = Sequence[tuple[str, float]]  # by name


def write_picture(x: Explained, path: Path) -> None:
    """A picture of all there is: logits and attention of every past event, two sweeps and the deletion
    curves; the parts of the pair term; or what each part of a labelled event is worth."""
    if isinstance(x, EventExplanation):
        _write_event_picture(x, path)
        return
    assert isinstance(x, Scored)
    if isinstance(x, LeftOut):
        _write_effects(x, model_line(x), {PAST: _past_effects(x)}, path)
        return
    attention = x if isinstance(x, Explanation) and x.has_past else None
    ratios = [1.25, 1, 1, 1] if attention is not None else []
    ratios += [] if x.pair is None else [1.25]
    tall = 7.6 if ratios else 1.6
    figure = pyplot().figure(figsize=(3 + 3 * max(sum(ratios), 2.25), tall), layout="constrained")
    title = f"{x.source} → {x.destination} scored {signed(x.score, plus=False)}"
    figure.suptitle(f"{title}\n{model_line(x)}\n{facts_line(x)}", fontsize=11)
    if ratios:
        axes = figure.subplots(2, len(ratios), squeeze=False, width_ratios=ratios)
    else:
        figure.text(0.5, 0.15, story(x), ha="center", fontsize=11)
    if attention is not None:
        _attention(axes[:, :4], attention)
    if x.pair is not None:
        known = [(one.group, one.effect) for one in evidence(x.pair, x.unit)]
        _effects(axes[0, -1], "pair term: effect of each part", known)
        widths = [(one.width, one.effect) for one in by_width(x.pair, x.unit)]
        _effects(axes[1, -1], "and of its memory, by width", widths)
    save_picture(figure, path, dpi=130)


def _write_event_picture(x: EventExplanation, path: Path) -> None:
    """Effects of the parts, and of the past events where there is an attention to read."""
    parts = [
        (_filled(f"{event_wording.title(x, part)}: {event_wording.known(x, part)}", LABEL), part.effect)
        for part in x.parts[:BARS]
    ]
    titled = {
        "effect: how much lower the score would be otherwise": parts,
        PAST: _past_effects(x),
    }
    _write_effects(x, event_wording.model_line(x), titled, path)


def _filled(text: str, letters: int) -> str:
    return fill(with_short_words(text), letters)


def _past_effects(x: EventExplanation | LeftOut) -> Effects:
    return [(f"{one.end} with {one.other}, {ago(one.since, x.unit)}", one.effect) for one in x.past[:BARS]]


def _write_effects(x: Explained, model: str, titled: Mapping[str, Effects], path: Path) -> None:
    """A panel of bars for each title that has any, under the sentence why."""
    drawn = {title: effects for title, effects in titled.items() if effects}
    tall = 2.2 + 0.3 * max(map(len, drawn.values()), default=0)
    figure = pyplot().figure(figsize=(4 + 5 * max(1, len(drawn)), tall), layout="constrained")
    why = _filled(x.why, 60 + 60 * len(drawn))
    figure.suptitle(f"{why}\n{model}", fontsize=10)
    for place, (title, effects) in enumerate(drawn.items()):
        _effects(figure.add_subplot(1, len(drawn), place + 1), title, effects)
    save_picture(figure, path, dpi=130)


def _effects(axes: Axes, title: str, effects: Effects) -> None:
    """A bar for each effect, the first on top."""
    axes.barh(range(len(effects)), [effect for _, effect in effects], color=GREEN)
    axes.set_yticks(range(len(effects)), [with_short_words(name) for name, _ in effects], fontsize=8)
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.invert_yaxis()
    tidy(axes, title, size=10)


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
    axes[1, 3].text(0, 0.6, _filled(counterfactual(x) or "", 34), fontsize=11)


def _events(axes: Axes, x: Explanation, end: End) -> None:
    """Node and edge part of each logit, and the share of attention beside them."""
    parts, place = logit_parts(x, end), np.arange(len(end.neighbors))
    names = LOGIT_PARTS[x.model["modulate"]]
    axes.barh(place - 0.19, parts[:, 0], 0.36, color=BLUE, label=f"{names[0]}, against its mean")
    axes.barh(
        place + 0.19, parts[:, 1], 0.36, color=VERMILION, hatch="///", edgecolor="white", label=names[1]
    )
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_yticks(
        place,
        [with_short_words(f"#{k + 1} {n.node}, {ago(n.since, x.unit)}") for k, n in enumerate(end.neighbors)],
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
    tidy(axes, f"{end.role} {end.node}: logits, attention in %", size=10, legend="best")


def _sweep(
    axes: Axes, x: Explanation, end: End, sweep: list[list[float]], title: str, *, marked: bool
) -> None:
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
    tidy(axes, title, size=10)


def _deletion(axes: Axes, x: Explanation) -> None:
    curves = x.deletion
    steps = np.arange(len(curves.most_attended_first))
    low, high = (curves.random.quantile(q, dim=0).numpy() for q in (0.1, 0.9))
    axes.fill_between(steps, low, high, color=GREY, alpha=0.25, linewidth=0)
    axes.plot(steps, curves.random.mean(dim=0), color=GREY, linestyle=":", label="at random (10 to 90 %)")
    axes.plot(steps, curves.least_attended_first, color=BLUE, linestyle="--", label="least attended first")
    axes.plot(steps, curves.most_attended_first, color=VERMILION, label="most attended first")
    axes.set_xlabel("events taken away", fontsize=8)
    tidy(axes, "score as events are taken away", size=10, legend="best")
