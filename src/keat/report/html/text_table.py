"""A table once, for a page of HTML, for Markdown and for the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

NARROW = 52  # letters in a row that fit a phone
# What means something else than itself: an underscore within a word does not, nor does a lonely bracket.
MARKUP = re.compile(r"[\\`*<|$~]|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])|&(?=#?\w+;)")


class Strong(str):
    """A cell that stands out, where a test says that it may."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows of text. The first ``text_columns`` are words, the others numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    text_columns: int = 1

    def markdown(self) -> str:
        head = " | ".join(map(_marked, self.columns))
        lines = [f"| {head} |", "|" + " --- |" * len(self.columns)]
        lines += ["| " + " | ".join(_marked(cell) for cell in row) + " |" for row in self.rows]
        return "\n".join(lines)

    def html(self) -> str:
        """On a phone a table that is not narrow has a card for each row; a cell then says what it is."""
        head = "".join(
            f"<th{self._side(place)}>{escape(column)}</th>" for place, column in enumerate(self.columns)
        )
        body = "\n".join(f"<tr>{self._row(row)}</tr>" for row in self.rows)
        caption = f'<p class="hint">{escape(self.caption)}</p>' if self.caption else ""
        narrow = ' class="narrow"' if self._is_narrow() else ""
        table = f"<table{narrow}><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
        return f'<div class="scroll">{table}</div>{caption}'

    def _is_narrow(self) -> bool:
        """Whether a phone has room for it as it is."""
        widths = [max(len(row[place]) for row in self.rows) for place in range(len(self.columns))]
        return bool(self.rows) and sum(widths) + len(widths) <= NARROW

    def _row(self, row: Sequence[str]) -> str:
        first = f'<td class="wide who">{_shown(row[0])}</td>'
        others = (
            f'<td{self._side(place)} data-label="{escape(self.columns[place])}">{_shown(cell)}</td>'
            for place, cell in enumerate(row)
            if place
        )
        return first + "".join(others)

    def _side(self, place: int) -> str:
        return "" if place < self.text_columns else ' class="right"'


def as_markdown(text: str) -> str:
    """Text that Markdown shows as it is, on one line: names of files and nodes may hold anything."""
    return MARKUP.sub(r"\\\g<0>", " ".join(text.splitlines()))


def _marked(cell: str) -> str:
    text = "<br>".join(map(as_markdown, cell.splitlines()))
    return f"**{text}**" if isinstance(cell, Strong) else text


def _shown(cell: str) -> str:
    text = escape(cell).replace(" ± ", "\u00a0±\u00a0").replace("\n", "<br>")
    return f"<b>{text}</b>" if isinstance(cell, Strong) else text
