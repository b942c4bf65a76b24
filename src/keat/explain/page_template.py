"""What the pages of all explanations have in common."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template

import keat
from keat.explain.explained import Explained
from keat.explain.wording import signed
from keat.report.style import base_style


def filled(
    x: Explained,
    *,
    eyebrow: str,
    facts: str,
    story: str,
    tiles: Sequence[tuple[str, str]],
    sections: str,
    notes: Sequence[str],
    program: str = "",
) -> str:
    """The page. ``sections`` and ``program`` are HTML, all else is text; a tile is a number with its name."""
    return template("page.html").substitute(
        title=escape(f"{x.source} → {x.destination}: {signed(x.score, plus=False)}"),
        style=base_style() + asset("page.css"),
        eyebrow=escape(eyebrow),
        source=escape(str(x.source)),
        destination=escape(str(x.destination)),
        score=signed(x.score, plus=False),
        why=escape(x.why),
        facts=escape(facts),
        notice="" if x.notice is None else f'<p class="notice">{escape(x.notice)}</p>',
        tiles="\n".join(f"<li><b>{escape(value)}</b>{escape(what)}</li>" for value, what in tiles),
        story=escape(story),
        sections=sections,
        notes="<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>",
        footer=escape(f"keat {keat.__version__}"),
        program=program,
    )


def template(name: str) -> Template:
    return Template(asset(name))


def asset(name: str) -> str:
    return (files("keat.explain") / "assets" / name).read_text(encoding="utf-8")
