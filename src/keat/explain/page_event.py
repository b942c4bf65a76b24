"""The page of a labelled event: what each part of what was read is worth."""

from __future__ import annotations

from html import escape

from keat.explain.event import EventExplanation, Part, PastEvent
from keat.explain.event_wording import counterfactual, instead, known, model_line, title, what_is_usual
from keat.explain.page_pair import effect_cells
from keat.explain.page_template import filled
from keat.explain.wording import ago, percent, signed, where_and_when

SHOWN = 30  # parts and past events on the page; all are in `to_json`


def event_page(x: EventExplanation) -> str:
    """The page as text."""
    return filled(
        x,
        eyebrow=model_line(x),
        facts=facts_line(x),
        story=counterfactual(x),
        tiles=_tiles(x),
        sections=_parts(x) + _past(x),
        notes=_notes(x),
    )


def facts_line(x: EventExplanation) -> str:
    """When and where it was, and what became of it."""
    parts = [where_and_when(x)]
    if x.row is not None:
        parts.append(f"row {x.row:,}")
    if x.truth is not None:
        parts.append(f"its label is {x.truth}")
    return " · ".join(parts)


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
    shown = x.parts[:SHOWN]
    reach = max((abs(part.effect) for part in shown), default=0.0) or 1.0
    rows = "\n".join(_part(x, part, reach) for part in shown)
    more = len(x.parts) - len(shown)
    left_out = f" {more} more have smaller effects." if more else ""
    return f"""<section><h2>What each part is worth</h2>
<p class="hint"><span class="key alpha-key"></span>Effect: how much lower the score would be with that part
replaced. The parts work together, so effects need not add up.{left_out}</p>
<table><thead><tr><th>part</th><th>what is known</th><th>put in its place</th>
<th>effect −{reach:.2f} … +{reach:.2f}</th><th class="right">effect</th>
<th class="right">score then</th></tr></thead>
<tbody>
{rows}
</tbody></table></section>
"""


def _part(x: EventExplanation, part: Part, reach: float) -> str:
    return (
        f'<tr><td class="wide"><span class="who">{escape(title(x, part))}</span></td>'
        f'<td data-label="known">{escape(known(x, part))}</td>'
        f'<td data-label="instead">{escape(instead(x, part))}</td>{effect_cells(part.effect, reach)}'
        f'<td class="right" data-label="score then">{signed(part.score, plus=False)}</td></tr>'
    )


def _past(x: EventExplanation) -> str:
    """Past events that an attention looked at; nothing where there is none to read."""
    shown = x.past[:SHOWN]
    if not shown:
        return ""
    reach = max(abs(event.effect) for event in shown) or 1.0
    rows = "\n".join(_past_event(x, event, reach) for event in shown)
    return f"""<section><h2>Past events that were looked at</h2>
<p class="hint">Each is taken out of the attention of both ends, one at a time; memory stays as it was.</p>
<table><thead><tr><th>event</th><th>age</th><th class="right">attention</th>
<th>effect −{reach:.2f} … +{reach:.2f}</th><th class="right">effect</th>
<th class="right">score without it</th></tr></thead>
<tbody>
{rows}
</tbody></table></section>
"""


def _past_event(x: EventExplanation, event: PastEvent, reach: float) -> str:
    row = "" if event.row is None else f"<small>row {event.row:,}</small>"
    return (
        f'<tr><td class="wide"><span class="who">{escape(f"{event.end} with {event.other}")}</span>{row}</td>'
        f'<td data-label="age">{escape(ago(event.since, x.unit))}</td>'
        f'<td class="right" data-label="attention">{100 * event.attention:.1f} %</td>'
        f"{effect_cells(event.effect, reach)}"
        f'<td class="right" data-label="without">{signed(event.score, plus=False)}</td></tr>'
    )


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
