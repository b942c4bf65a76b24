"""The page's charts: attention over age, and the score as events are taken away."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from keat.explain.ends import End
from keat.explain.explanation import Explanation
from keat.report.html.line_chart import BLUE, GREY, VERMILION, Line, by_recency, chart


def sweeps(x: Explanation, end: End, labels: Sequence[str]) -> str:
    ticks = _ticks(labels, 4)
    low, high = axis([alpha for sweep in (end.shared, end.frozen, end.recomputed) for alpha in sweep])
    panels = []
    for title, sweep, alone in (
        ("all at once, φ frozen", end.shared, False),
        ("one alone, φ frozen", end.frozen, True),
        ("one alone, φ recomputed", end.recomputed, True),
    ):
        lines = [
            Line(
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
        panels.append(f"<figure>{chart(title, lines, ticks, low, high, what)}</figure>")
    heading = escape(f"Attention of {end.role} {end.node} over age")
    return f'<h3 class="hint">{heading}</h3><div class="panels by-recency">{"".join(panels)}</div>'


def axis(lines: Sequence[Sequence[float]]) -> tuple[float, float]:
    """From 0 to a little above all; nearer where they lie in a narrow band, which would look flat."""
    low, high = min(map(min, lines)), max(map(max, lines))
    room = max(0.05 * (high - low), 1e-3)
    return (low - room, high + room) if low > high / 2 else (0.0, high * 1.05)


def deletion(x: Explanation) -> str:
    curves = x.deletion
    chance = curves.random.mean(dim=0).tolist()
    band = (curves.random.quantile(0.1, dim=0).tolist(), curves.random.quantile(0.9, dim=0).tolist())
    most, least = curves.most_attended_first.tolist(), curves.least_attended_first.tolist()
    if len(most) < 3:
        return '<p class="hint">There are too few past events to tell.</p>'
    lines = [
        Line(chance, GREY, dash="2 4", band=band),
        Line(least, BLUE, dash="6 4"),
        Line(most, VERMILION),
    ]
    values = [*most, *least, *band[0], *band[1]]
    ticks = [(k, str(k)) for k in range(0, len(most), max(1, len(most) // 6))]
    drawn = chart(
        "score after taking away so many",
        lines,
        ticks,
        min(values),
        max(values),
        "Score as events are deleted",
    )
    key = (
        f'<li><span class="key" style="background:{VERMILION}"></span>most attended first (solid)</li>'
        f'<li><span class="key" style="background:{BLUE}"></span>least attended first (dashed)</li>'
        f'<li><span class="key" style="background:{GREY}"></span>at random (dotted; band: 10 to 90 %)</li>'
    )
    return f'<div class="panels"><figure>{drawn}</figure><ul class="hint">{key}</ul></div>'


def _ticks(labels: Sequence[str], number: int) -> list[tuple[int, str]]:
    places = np.linspace(0, len(labels) - 1, number).round().astype(int).tolist()
    return [(place, labels[place]) for place in places]
