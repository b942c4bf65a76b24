"""Two candidates side by side on a page: what is known of either, and what it is worth to the difference."""

from __future__ import annotations

from html import escape

from keat.explain.contrast_wording import difference_line, what_an_effect_is
from keat.explain.phrases import rank_written
from keat.explain.scored import Scored
from keat.report.explained.effect_table import EFFECT, Heading, effect_table


def contrast_section(x: Scored) -> str:
    """The section on the contrast; nothing where none was asked for."""
    contrast = x.contrast
    if contrast is None:
        return ""
    table = effect_table(
        [
            Heading("evidence"),
            Heading(str(x.destination), "asked"),
            Heading(str(contrast.other), "against"),
            EFFECT,
            Heading("rank without", "rank without", right=True),
        ],
        [
            [one.group, one.known, one.known_of_other, one.effect, rank_written(one.rank_without)]
            for one in contrast.groups
        ],
    )
    return f"""<section><h2>{escape(f"{x.destination} against {contrast.other}")}</h2>
<p class="hint">{escape(difference_line(x, contrast))}
<span class="key alpha-key"></span>{escape(what_an_effect_is(x, contrast))}</p>
{table}</section>
"""
