"""Charts of results as inline SVG: bars and dots with their names above them, so that a phone has room."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from html import escape

from keat.report.html.line_chart import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION

SERIES = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY)
WIDTH, LEFT, RIGHT = 380, 4, 58
BAR, NAME, GAP = 11, 16, 7  # heights


@dataclass(frozen=True, slots=True)
class Dots:
    """A row of a dot chart: a dot for each seed, a line at their mean, diamonds for others' numbers."""

    name: str
    values: Sequence[float]
    others: Sequence[float] = field(default_factory=tuple)
    muted: bool = False  # a heuristic, beside which learned models are seen


def bar_chart(
    title: str, rows: Sequence[tuple[str, Sequence[float]]], what: str, learned: Collection[str]
) -> str:
    """Horizontal bars, a row for each name with a bar for each series; the longest is the full width. Names
    of ``learned`` models stand out."""
    series = max(len(values) for _, values in rows)
    most = max((max(values) for _, values in rows), default=1.0) or 1.0
    step = NAME + series * (BAR + 2) + GAP
    parts = [_opened(title, 24 + step * len(rows), what)]
    for number, (name, values) in enumerate(rows):
        top = 26 + number * step
        kind = "name learned" if name in learned else "name"
        parts.append(f'<text class="{kind}" x="{LEFT}" y="{top + 11}">{escape(name)}</text>')
        for place, value in enumerate(values):
            y = top + NAME + place * (BAR + 2)
            colour = GREY if series == 1 and name not in learned else SERIES[place]
            long = max(value, 0.0) / most * (WIDTH - LEFT - RIGHT)
            parts.append(
                f'<rect x="{LEFT}" y="{y}" width="{long:.1f}" height="{BAR}" rx="2" fill="{colour}"/>'
                f'<text class="value" x="{LEFT + long + 5:.1f}" y="{y + BAR - 1.5}">{value:.4f}</text>'
            )
    return "".join([*parts, "</svg>"])


def dot_chart(title: str, rows: Sequence[Dots], what: str) -> str:
    """A dot for every seed, on one axis for all rows."""
    every = [value for row in rows for value in (*row.values, *row.others)]
    low, high = min(every), max(every)
    room = max((high - low) * 0.06, 1e-3)
    low, high = low - room, high + room
    step = NAME + 22
    bottom = 26 + step * len(rows)

    def x(value: float) -> float:
        return LEFT + 8 + (value - low) / (high - low) * (WIDTH - LEFT - 16)

    parts = [_opened(title, bottom + 18, what)]
    for value in (low + room, (low + high) / 2, high - room):
        place = f"{x(value):.1f}"
        parts.append(f'<line class="axis" x1="{place}" x2="{place}" y1="26" y2="{bottom}"/>')
        parts.append(f'<text x="{place}" y="{bottom + 14}" text-anchor="middle">{value:.3f}</text>')
    for number, row in enumerate(rows):
        y = 26 + number * step + NAME + 8
        colour = GREY if row.muted else BLUE
        mean = sum(row.values) / len(row.values)
        parts.append(f'<text class="name" x="{LEFT}" y="{y - 12}">{escape(row.name)}</text>')
        parts.append(_mean(x(mean), y, 7, colour))
        parts += [_dot(x(value), y, colour) for value in row.values]
        parts += [_diamond(x(value), y, 6) for value in row.others]
    return "".join([*parts, "</svg>"])


def bar_key(names: Sequence[str]) -> str:
    """What the series of a bar chart are."""
    items = (colour_key(colour, name) for name, colour in zip(names, SERIES, strict=False))
    return f'<ul class="legend">{"".join(items)}</ul>'


def colour_key(colour: str, name: str) -> str:
    """An item of a list that says what a colour means."""
    return f'<li><span class="key" style="background:{colour}"></span>{escape(name)}</li>'


def dot_key() -> str:
    """What the marks of a dot chart are."""
    marks = (
        (_dot(6, 5, BLUE), "a seed"),
        (_mean(6, 5, 5, BLUE), "mean"),
        (_dot(6, 5, GREY), "heuristic"),
        (_diamond(6, 5, 5), "published"),
    )
    items = (
        f'<li><svg class="mark" viewBox="0 0 12 10" aria-hidden="true">{mark}</svg>{name}</li>'
        for mark, name in marks
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


def _dot(x: float, y: float, colour: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y}" r="3.6" fill="{colour}" opacity="0.65"/>'


def _mean(x: float, y: float, reach: int, colour: str) -> str:
    place = f'x1="{x:.1f}" x2="{x:.1f}" y1="{y - reach}" y2="{y + reach}"'
    return f'<line {place} stroke="{colour}" stroke-width="2.5"/>'


def _diamond(x: float, y: float, size: int) -> str:
    path = f"M{x:.1f} {y - size}l{size} {size}l-{size} {size}l-{size} -{size}z"
    return f'<path d="{path}" fill="none" stroke="{VERMILION}" stroke-width="1.8"/>'


def _opened(title: str, height: float, what: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(what)}">'
        f'<text class="title" x="{LEFT}" y="14">{escape(title)}</text>'
    )
