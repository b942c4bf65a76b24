"""What makes a table or figure that is not of one run: rows in plain values, and pictures."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from keat.report.html.report_page import Page, Report, Section, present, write_report
from keat.report.html.text_table import Table

PlainRow = Mapping[str, object]  # a value for each column


@dataclass(frozen=True, slots=True)
class Made:
    """Rows of one table, tables by title where there are several, what to say below, and pictures."""

    rows: Sequence[PlainRow] = ()
    by_title: Mapping[str, Sequence[PlainRow]] = field(default_factory=dict)
    caption: str = ""
    pictures: Sequence[Path] = ()

    def tables(self, title: str) -> list[Table]:
        """As people read them; one that nobody named has this title."""
        return [
            Table(name, list(rows[0]), [[*map(_cell, row.values())] for row in rows], self.caption)
            for name, rows in (self.by_title or {title: self.rows}).items()
            if rows
        ]

    def section(self, title: str) -> Section | None:
        """Pictures and tables; None where there is neither."""
        images = "\n".join(_embedded(picture, title) for picture in self.pictures)
        tables = self.tables(title)
        return Section(title, body=images, tables=tables) if images or tables else None

    def to_json(self) -> dict[str, object]:
        """In plain values; what is empty is left out."""
        pictures = [str(picture) for picture in self.pictures]
        content: dict[str, object] = {
            "rows": list(self.rows),
            "by_title": dict(self.by_title),
            "caption": self.caption,
            "picture": pictures[0] if pictures else "",
            "pictures": pictures,
        }
        return {name: value for name, value in content.items() if value}


def write_computed_page(made: Made, name: str, title: str, paper: str, path: Path) -> Page:
    """The page of a table or figure that needs no training."""
    report = Report(
        title=title,
        eyebrow=reproduced_as(name, paper),
        facts="Computed when it was asked for; nothing was trained.",
        tiles=[(str(len(table.rows)), f"rows: {table.title}") for table in made.tables(title)],
        story="",
        sections=present(made.section(title)),
    )
    return write_report(report, path)


def reproduced_as(name: str, paper: str) -> str:
    """By which command, and where it is in the paper, if it is there."""
    return f"keat reproduce {name}" + (f" · {paper} in the paper" if paper else "")


def _cell(value: object) -> str:
    """Four digits are enough to read; JSON has all of them."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)


def _embedded(picture: Path, title: str) -> str:
    content = base64.b64encode(picture.read_bytes()).decode()
    return f'<img class="picture" alt="{escape(title)}" src="data:image/png;base64,{content}">'
