"""The page of a labelled event: what each part of what was read is worth."""

from __future__ import annotations

from keat.explain.event import EventExplanation
from keat.explain.event_wording import counterfactual, facts_line, model_line, part_row, what_is_usual
from keat.explain.phrases import ago, percent, signed
from keat.report.explained.effect_table import EFFECT, Heading, Row, effect_table
from keat.report.explained.explained_document import explained_document

SHOWN = 30  # parts and past events on the page; all are in `to_json`


def event_page(x: EventExplanation) -> str:
    """The page as text."""
    return explained_document(
        x,
        eyebrow=model_line(x),
        facts=facts_line(x),
        story=counterfactual(x),
        tiles=_tiles(x),
        sections=_parts(x) + _past(x),
        notes=_notes(x),
    )


def _tiles(x: EventExplanation) -> list[tuple[str, str]]:
    tiles = []
    if x.probability is not None:
        tiles.append((percent(x.probability), "probability of the label, calibrated on validation"))
    if x.usual is not None:
        tiles.append((percent(x.usual), "of the training events have it"))
    tiles.append((signed(x.score, plus=False), "score, a logit: what the model itself gives"))
    if x.place is not None:
        tiles.append((f"{x.place[0]:,} of {x.place[1]:,}", "place by score among the events of the split"))
    return tiles


def _parts(x: EventExplanation) -> str:
    more = len(x.parts) - SHOWN
    left_out = f" {more} more have smaller effects." if more > 0 else ""
    columns = [
        Heading("part"),
        Heading("what is known", "known"),
        Heading("put in its place", "instead"),
        EFFECT,
        Heading("score then", "score then", right=True),
    ]
    rows = [part_row(x, part) for part in x.parts[:SHOWN]]
    return f"""<section><h2>What each part is worth</h2>
<p class="hint"><span class="key alpha-key"></span>Effect: how much lower the score would be with that part
replaced. The parts work together, so effects need not add up.{left_out}</p>
{effect_table(columns, rows)}</section>
"""


def _past(x: EventExplanation) -> str:
    """Past events that an attention looked at; nothing where there is none to read."""
    if not x.past:
        return ""
    columns = [
        Heading("event"),
        Heading("age", "age"),
        Heading("attention", "attention", right=True),
        EFFECT,
        Heading("score without it", "without", right=True),
    ]
    rows: list[Row] = [
        [
            f"{event.end} with {event.other}" + ("" if event.row is None else f"\nrow {event.row:,}"),
            ago(event.since, x.unit),
            f"{100 * event.attention:.1f} %",
            event.effect,
            signed(event.score, plus=False),
        ]
        for event in x.past[:SHOWN]
    ]
    return f"""<section><h2>Past events that were looked at</h2>
<p class="hint">Each is taken out of the attention of both ends, one at a time; memory stays as it was.</p>
{effect_table(columns, rows)}</section>
"""


def _notes(x: EventExplanation) -> list[str]:
    notes = [
        f"Every number is what the model itself says with some of its inputs replaced. {what_is_usual(x)}"
    ]
    if x.met:
        notes.append(
            "Somebody new has met nobody, so where an end is made new the pair is, too. A pair that never "
            "met is made to have met once, at the last event of the source."
        )
    notes.append(
        "“The past” of an end is its embedding, in which its events left their traces; in its place is put "
        "that of a node without any."
    )
    if x.usual is not None:
        notes.append("The usual is the share of the labelled training events that have the label.")
    return notes
