"""What the pages of all explanations have in common."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from keat.explain.explained import Explained
from keat.explain.phrases import signed
from keat.report.html.document import asset, document

STYLE = asset("explained.css")  # beside the shared one


def explained_document(
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
    """The page, which begins with why. ``sections`` and ``program`` are HTML, all else is text."""
    score = signed(x.score, plus=False)
    pair = [f"<b>{escape(str(node))}</b>" for node in (x.source, x.destination)]
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    how_to_read = f'<section class="notes">\n<h2>How to read this</h2>\n<ul>{listed}</ul>\n</section>'
    return document(
        title=f"{x.source} → {x.destination}: {score}",
        heading=f'Why {" → ".join(pair)} scored <b class="number">{score}</b>',
        lead=x.why,
        eyebrow=eyebrow,
        facts=facts,
        notice=x.notice,
        tiles=tiles,
        story=story,
        sections=f"{sections}\n{how_to_read}",
        style=STYLE,
        program=program,
    )
