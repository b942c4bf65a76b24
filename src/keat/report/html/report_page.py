"""A report: one HTML file without a server, a library or a network, and its tables as Markdown beside it."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from keat.disk import write_text
from keat.report.html.document import asset, document, in_notebook
from keat.report.html.text_table import Table, as_markdown


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report: words, charts as HTML, and tables."""

    title: str
    hint: str = ""
    body: str = ""
    tables: Sequence[Table] = ()
    beside: bool = False  # whether the tables are small enough to stand beside the body

    def html(self) -> str:
        hint = f'<p class="hint">{escape(self.hint)}</p>' if self.hint else ""
        several = len(self.tables) > 1
        tables = "".join(
            (f"<h3>{escape(table.title)}</h3>" if several else "") + table.html() for table in self.tables
        )
        content = f"{self.body}\n{tables}"
        if self.beside:
            content = f'<div class="beside"><div>{self.body}</div><div>{tables}</div></div>'
        return f"<section>\n<h2>{escape(self.title)}</h2>{hint}\n{content}\n</section>"


def command_line() -> str:
    """What was typed, to be typed again: paths with spaces are quoted. Nothing where it was no command."""
    return shlex.join(["keat", *sys.argv[1:]]) if Path(sys.argv[0]).stem in ("keat", "__main__") else ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a command found. ``story`` is the one sentence to take away."""

    title: str
    eyebrow: str
    facts: str
    tiles: Sequence[tuple[str, str]]  # a number, and what it is
    story: str
    sections: Sequence[Section]
    command: str = field(default_factory=command_line)


@dataclass(frozen=True, slots=True)
class Page:
    """A page that was written. Shows itself in a notebook."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def _repr_html_(self) -> str:
        return in_notebook(self.path.read_text(encoding="utf-8"))


def write_report(report: Report, path: Path) -> Page:
    """The page at ``path`` and its tables beside it, as ``.md``."""
    write_text(path, html(report))
    write_text(path.with_suffix(".md"), markdown(report))
    return Page(path)


def present(*sections: Section | None) -> list[Section]:
    """The sections without those that are None."""
    return [section for section in sections if section is not None]


def html(report: Report) -> str:
    sections = [section.html() for section in report.sections]
    if report.command:
        made = f"<pre>{escape(report.command)}</pre>"
        sections.append(f"<section>\n<h2>Make it again</h2>{made}\n</section>")
    return document(
        title=report.title,
        eyebrow=report.eyebrow,
        facts=report.facts,
        tiles=report.tiles,
        story=report.story,
        sections="\n".join(sections),
        style=asset("report.css") + asset("explained.css"),
    )


def markdown(report: Report) -> str:
    """The tables, for a page of documentation."""
    parts = [f"# {as_markdown(report.title)}", as_markdown(report.facts), as_markdown(report.story)]
    for section in report.sections:
        for table in section.tables:
            parts += [f"## {as_markdown(table.title)}", table.markdown(), as_markdown(table.caption)]
    if report.command:
        longest = max((len(run) for run in re.findall("`+", report.command)), default=0)
        fence = "`" * max(3, longest + 1)
        parts.append(f"{fence}text\n{report.command}\n{fence}")
    return "\n\n".join(part for part in parts if part) + "\n"
