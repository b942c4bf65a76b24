"""The pair term in a picture: what each part of it is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from keat.explain.pair_wording import by_width, evidence
from keat.explain.scored import Scored
from keat.report.plots import GREEN

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_evidence(axes: Axes, x: Scored) -> None:
    assert x.pair is not None
    known = evidence(x.pair, x.unit)
    effect_bars(
        axes, "pair term: effect of each part", [one.group for one in known], [one.effect for one in known]
    )


def draw_widths(axes: Axes, x: Scored) -> None:
    assert x.pair is not None
    widths = by_width(x.pair, x.unit)
    title = "and of its memory, by width"
    effect_bars(axes, title, [one.width for one in widths], [one.effect for one in widths])


def effect_bars(axes: Axes, title: str, names: list[str], effects: list[float]) -> None:
    """One bar an effect, the first on top."""
    axes.set_title(title, loc="left", fontsize=10)
    axes.barh(range(len(names)), effects, color=GREEN)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.axvline(0, color="0.55", linewidth=0.8)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
