"""A table in which an effect is a bar to the left or right of zero, and a number."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from keat.explain.phrases import signed


class Heading(NamedTuple):
    """``label`` names a cell on a phone, where a row is a card; a cell without one has a line of its own."""

    text: str
    label: str = ""
    right: bool = False


Row = Sequence[str | float]
EFFECT = Heading("effect")  # takes two columns: the bar, and the number


def effect_table(columns: Sequence[Heading], rows: Sequence[Row], reach: float | None = None) -> str:
    """A row begins with its name, after which a second line is small. Every number in it is an effect, and
    the bars are drawn on one axis from -reach to reach, by default the largest effect."""
    effects = [abs(cell) for row in rows for cell in row if isinstance(cell, float)]
    reach = reach or max(effects, default=0.0) or 1.0
    head = "".join(_head(column, reach) for column in columns)
    body = "\n".join(f"<tr>{_row(columns, row, reach)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"


def _head(column: Heading, reach: float) -> str:
    if column == EFFECT:
        return f'<th>effect −{reach:.2f} … +{reach:.2f}</th><th class="right">effect</th>'
    return f"<th{_side(column)}>{escape(column.text)}</th>"


def _row(columns: Sequence[Heading], row: Row, reach: float) -> str:
    name, _, small = str(row[0]).partition("\n")
    below = f"<small>{escape(small)}</small>" if small else ""
    cells = [f'<td class="wide"><span class="who">{escape(name)}</span>{below}</td>']
    for column, cell in zip(columns[1:], row[1:], strict=True):
        if isinstance(cell, float):
            drawn = f'<div class="logits"><i class="zero"></i>{bar("effect", cell / reach)}</div>'
            cells.append(f'<td class="wide">{drawn}</td>')
            cells.append(f'<td class="right" data-label="effect">{signed(cell)}</td>')
        elif column.label:
            cells.append(f'<td{_side(column)} data-label="{column.label}">{escape(cell)}</td>')
        else:
            cells.append(f'<td class="wide">{escape(cell)}</td>')
    return "".join(cells)


def _side(column: Heading) -> str:
    return ' class="right"' if column.right else ""


def bar(kind: str, part: float) -> str:
    """A bar from the middle of an axis, which goes from -1 to 1, to ``part``."""
    left, width = 50 + 50 * min(part, 0), 50 * abs(part)
    return f'<i class="{kind}" style="left:{left:.2f}%;width:{width:.2f}%"></i>'
