"""Line charts as inline SVG: sharp on a phone and in print, nothing to load."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, GREY = (  # of the shared style, which has two of each
    f"var(--{name})" for name in ("blue", "vermilion", "green", "orange", "purple", "sky", "grey")
)
WIDTH, HEIGHT = 320, 220
LEFT, RIGHT, TOP, BOTTOM = 40, 44, 26, 36
TEXT, LETTER = 11, 6.8  # height of a label, and how wide a letter of it is


@dataclass(frozen=True, slots=True)
class Curve:
    """``mark`` is the position of a dot on it, ``band`` its lower and upper edge, ``dots`` marks
    every value."""

    y: Sequence[float]
    colour: str
    label: str = ""
    dash: str = ""
    mark: float | None = None
    band: tuple[Sequence[float], Sequence[float]] | None = None
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Dot:
    """A point anywhere; ``bar`` is the interval that its value may be in."""

    position: float
    value: float
    colour: str
    bar: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """Where positions 0 … count-1 and values low … high are on the paper."""

    count: int
    low: float
    high: float
    left: float = LEFT

    def x(self, position: float) -> float:
        return self.left + position / max(self.count - 1, 1) * (WIDTH - self.left - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (value - self.low) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)

    def points(self, values: Sequence[float]) -> list[str]:
        """A line goes straight past what is NaN."""
        known = ((i, value) for i, value in enumerate(values) if not math.isnan(value))
        return [f"{self.x(i):.1f},{self.y(value):.1f}" for i, value in known]


def chart(
    title: str,
    curves: Sequence[Curve],
    ticks: Sequence[tuple[float, str]],
    low: float,
    high: float,
    what: str,
    marks: Sequence[tuple[float, str]] = (),
    dots: Sequence[Dot] = (),
) -> str:
    """An <svg> of curves over the positions 0, 1, …; ``ticks`` names some of them, ``marks`` draws upright
    lines at others. ``what`` is for those who cannot see it."""
    high = high if high > low else low + 1.0
    values = (low, (low + high) / 2, high)
    named = _numbers(values)
    left = max(LEFT, 7 + LETTER * max(map(len, named)))
    frame = Frame(max((len(curve.y) for curve in curves), default=1), low, high, left)
    floor = f"{frame.y(low):.1f}"
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(what)}">',
        f'<text class="title" x="{LEFT}" y="14">{escape(title)}</text>',
        f'<line class="axis" x1="{left:.1f}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}"/>',
    ]
    for value, shown in zip(values, named, strict=True):
        place = f'x="{left - 5:.1f}" y="{frame.y(value) + 4:.1f}"'
        parts.append(f'<text {place} text-anchor="end">{shown}</text>')
    for position, name in ticks:
        place = f'x="{frame.x(position):.1f}" y="{HEIGHT - 14}"'
        parts.append(f'<text {place} text-anchor="middle">{escape(name)}</text>')
    for position, name in marks:
        x = f"{frame.x(position):.1f}"
        parts.append(
            f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{floor}" stroke="{GREY}" stroke-dasharray="3 3"/>'
        )
        parts.append(f'<text x="{frame.x(position) + 4:.1f}" y="{TOP + 10}">{escape(name)}</text>')
    for curve in curves:
        parts += _drawn(curve, frame)
    for dot in dots:
        parts += _dotted(dot, frame)
    parts += _labels(curves, frame)
    return "".join([*parts, "</svg>"])


def _numbers(values: Sequence[float]) -> list[str]:
    """Numbers of an axis, with as many digits as tell them apart, and two unless they are large."""
    apart = max((values[-1] - values[0]) / 10, 1e-9)
    digits = max(2 if max(map(abs, values)) < 1_000 else 0, math.ceil(-math.log10(apart)))
    return [f"{value:.{digits}f}".replace("-", "−") for value in values]


def _drawn(curve: Curve, frame: Frame) -> list[str]:
    parts = []
    if curve.band is not None:
        lower, upper = (frame.points(edge) for edge in curve.band)
        around = " ".join([*upper, *reversed(lower)])
        parts.append(f'<polygon points="{around}" fill="{curve.colour}" opacity="0.18"/>')
    dash = f' stroke-dasharray="{curve.dash}"' if curve.dash else ""
    path = " ".join(frame.points(curve.y))
    parts.append(f'<polyline points="{path}" fill="none" stroke="{curve.colour}" stroke-width="1.8"{dash}/>')
    if curve.dots:
        places = (point.split(",") for point in frame.points(curve.y))
        parts += [f'<circle cx="{x}" cy="{y}" r="2.6" fill="{curve.colour}"/>' for x, y in places]
    if curve.mark is not None:
        left = min(int(curve.mark), len(curve.y) - 1)
        right = min(math.ceil(curve.mark), len(curve.y) - 1)
        height = curve.y[left] + (curve.mark - left) * (curve.y[right] - curve.y[left])
        place = f'cx="{frame.x(curve.mark):.1f}" cy="{frame.y(height):.1f}"'
        parts.append(f'<circle {place} r="3.4" fill="{curve.colour}"/>')
    return parts


def _dotted(dot: Dot, frame: Frame) -> list[str]:
    x, y = f"{frame.x(dot.position):.1f}", f"{frame.y(dot.value):.1f}"
    parts = [f'<circle cx="{x}" cy="{y}" r="3" fill="{dot.colour}"/>']
    if dot.bar is not None:
        low, high = (f"{frame.y(end):.1f}" for end in dot.bar)
        parts.append(
            f'<line x1="{x}" x2="{x}" y1="{low}" y2="{high}" stroke="{dot.colour}" stroke-width="1.4"/>'
        )
    return parts


def figures(charts: Iterable[str], kind: str = "wide") -> str:
    """Charts as figures in a row, as far as there is room."""
    return f'<div class="panels {kind}">{"".join(f"<figure>{each}</figure>" for each in charts)}</div>'


def legend(curves: Sequence[Curve]) -> str:
    """What the curves of a chart are, each with a piece of it."""
    items = (
        f'<li><svg viewBox="0 0 26 10" aria-hidden="true"><line x1="0" x2="26" y1="5" y2="5" '
        f'stroke="{curve.colour}" stroke-width="2.4" stroke-dasharray="{curve.dash or "none"}"/></svg>'
        f"{escape(curve.label)}</li>"
        for curve in curves
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


def round_steps(reach: float) -> list[float]:
    """0 and up to five round numbers in equal steps, for the ticks of an axis that ends at ``reach``."""
    rough = reach / 5
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough)
    return [step * k for k in range(int(reach / step) + 1)]


def _labels(curves: Sequence[Curve], frame: Frame) -> list[str]:
    """At the ends of the curves; those that end together share one place."""
    places: list[tuple[float, list[str]]] = []
    for curve in sorted((curve for curve in curves if curve.label), key=lambda curve: -curve.y[-1]):
        height = frame.y(curve.y[-1]) + 4
        if places and height - places[-1][0] < TEXT:
            places[-1][1].append(curve.label)
        else:
            places.append((height, [curve.label]))
    x = frame.x(frame.count - 1) + 3
    shown = [(y, ", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]}") for y, names in places]
    return [f'<text x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>' for y, text in shown]


def by_recency(place: int, count: int) -> str:
    """Dark blue for the newest to light ochre for the oldest, in steps that differ in lightness: they stay
    apart for colour-blind eyes and in grey."""
    stops = ((0, 32, 77), (66, 78, 108), (124, 123, 120), (188, 175, 111))
    position = (len(stops) - 1) * (place / max(count - 1, 1))
    first = min(int(position), len(stops) - 2)
    share = position - first
    mixed = (round(a + share * (b - a)) for a, b in zip(stops[first], stops[first + 1], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
