"""Past events on a page, each with what it is worth: for models from which any event can be left out."""

from __future__ import annotations

from keat.explain.left_out import LeftOut
from keat.explain.phrases import ago, signed
from keat.explain.scored import Scored
from keat.report.explained.effect_table import EFFECT, Heading, effect_table


def left_out_section(x: Scored) -> str:
    """The section on past events; nothing for other kinds of explanations, and where there are none."""
    if not isinstance(x, LeftOut) or not x.past:
        return ""
    columns = [
        Heading("event"),
        Heading("age", "age", right=True),
        Heading("score without it", "without it", right=True),
        EFFECT,
    ]
    rows: list[list[str | float]] = [
        [
            f"{one.end} with {one.other}" + ("" if one.row is None else f"\nrow {one.row}"),
            ago(one.since, x.unit),
            signed(x.score - one.effect, plus=False),
            one.effect,
        ]
        for one in x.past
    ]
    hint = (
        '<p class="hint"><span class="key alpha-key"></span>Effect: how much lower the score would be had '
        "that event not been.</p>"
    )
    return f"<section><h2>What past events are worth</h2>{hint}{effect_table(columns, rows)}</section>"
