"""The page's charts: attention over age, and the score as events are taken away."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from keat.explain.ends import End
from keat.explain.explanation import Explanation
from keat.report.html.bar_chart import colour_key
from keat.report.html.line_chart import BLUE, GREY, VERMILION, Curve, by_recency, chart, figures


def sweeps(x: Explanation, end: End, labels: Sequence[str]) -> str:
    ticks = _ticks(labels, 4)
    low, high = axis([alpha for sweep in (end.shared, end.frozen, end.recomputed) for alpha in sweep])
    panels = []
    for title, sweep, alone in (
        ("all at once, φ frozen", end.shared, False),
        ("one alone, φ frozen", end.frozen, True),
        ("one alone, φ recomputed", end.recomputed, True),
    ):
        curves = [
            Curve(
                y=alpha,
                colour=by_recency(k, len(sweep)),
                label=f"{k + 1}",
                mark=float(np.interp(end.neighbors[k].age, x.ages, np.arange(len(x.ages))))
                if alone
                else None,
            )
            for k, alpha in enumerate(sweep)
        ]
        what = f"Attention of {end.node} to each past event over its age, {title}"
        panels.append(chart(title, curves, ticks, low, high, what))
    heading = escape(f"Attention of {end.role} {end.node} over age")
    return f'<h3 class="hint">{heading}</h3>{figures(panels, "by-recency")}'


def axis(curves: Sequence[Sequence[float]]) -> tuple[float, float]:
    """From 0 to a little above all; nearer where they lie in a narrow band, which would look flat."""
    low, high = min(map(min, curves)), max(map(max, curves))
    room = max(0.05 * (high - low), 1e-3)
    return (low - room, high + room) if low > high / 2 else (0.0, high * 1.05)


def deletion(x: Explanation) -> str:
    """The score as events are taken away, in three orders."""
    most, least = x.deletion.most_attended_first.tolist(), x.deletion.least_attended_first.tolist()
    if len(most) < 3:
        return '<p class="hint">There are too few past events to tell.</p>'
    low, high = (x.deletion.random.quantile(share, dim=0).tolist() for share in (0.1, 0.9))
    curves = [
        Curve(x.deletion.random.mean(dim=0).tolist(), GREY, dash="2 4", band=(low, high)),
        Curve(least, BLUE, dash="6 4"),
        Curve(most, VERMILION),
    ]
    values = [*most, *least, *low, *high]
    ticks = [(k, str(k)) for k in range(0, len(most), max(1, len(most) // 6))]
    title, what = "score after taking away so many", "Score as events are deleted"
    drawn = chart(title, curves, ticks, min(values), max(values), what)
    named = {
        VERMILION: "most attended first (solid)",
        BLUE: "least attended first (dashed)",
        GREY: "at random (dotted; band: 10 to 90 %)",
    }
    key = "".join(colour_key(colour, name) for colour, name in named.items())
    return f'<div class="panels"><figure>{drawn}</figure><ul class="hint">{key}</ul></div>'


def _ticks(labels: Sequence[str], number: int) -> list[tuple[int, str]]:
    places = np.linspace(0, len(labels) - 1, number).round().astype(int).tolist()
    return [(place, labels[place]) for place in places]
