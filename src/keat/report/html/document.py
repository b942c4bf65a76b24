"""One HTML file without a server, a library or a network: what every page of keat has in common."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template

import keat


def document(
    *,
    title: str,
    eyebrow: str,
    facts: str,
    tiles: Sequence[tuple[str, str]],
    story: str,
    sections: str,
    style: str,
    heading: str | None = None,
    lead: str = "",
    notice: str | None = None,
    program: str = "",
) -> str:
    """The page as text. ``heading`` (the title, unless it is given), ``sections`` and ``program`` are HTML,
    and ``style`` is CSS that not every page needs; all else is text. A tile is a number, and what it is."""
    return Template(asset("page.html")).substitute(
        title=escape(title),
        style=style_of(style),
        eyebrow=escape(eyebrow),
        heading=escape(title) if heading is None else heading,
        lead=_paragraph("why", lead),
        facts=escape(facts),
        notice=_paragraph("notice", notice or ""),
        tiles="\n".join(f"<li><b>{escape(value)}</b>{escape(what)}</li>" for value, what in tiles),
        story=_paragraph("story", story),
        sections=sections,
        footer=escape(f"keat {keat.__version__}"),
        program=program,
    )


def style_of(more: str) -> str:
    """All CSS of a page, as it stands between its tags; ``more`` is what not every page needs."""
    return f"\n{asset('base.css')}{more}\n"


def asset(name: str) -> str:
    """A file that comes with keat: CSS, a template or a program of a page."""
    return (files("keat.report") / "assets" / name).read_text(encoding="utf-8")


def in_notebook(page: str) -> str:
    """A page within a notebook, whose style it neither gets nor changes."""
    content = escape(page, quote=True)
    return f'<iframe srcdoc="{content}" style="width: 100%; height: 48em; border: 0"></iframe>'


def _paragraph(kind: str, text: str) -> str:
    return f'<p class="{kind}">{escape(text)}</p>' if text else ""
