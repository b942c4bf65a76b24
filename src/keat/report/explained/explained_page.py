"""An explanation as one self-contained HTML page: no server, nothing to load, a slider that computes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from string import Template

from keat.disk import write_text
from keat.explain.event import EventExplanation
from keat.explain.explained import Explained
from keat.explain.explanation import Explanation
from keat.explain.left_out import LeftOut
from keat.explain.link_wording import facts_line, model_line, story
from keat.explain.phrases import ago, signed
from keat.explain.scored import Scored
from keat.report.explained.attention_charts import deletion, sweeps
from keat.report.explained.contrast_table import contrast_section
from keat.report.explained.event_page import event_page
from keat.report.explained.explained_document import explained_document
from keat.report.explained.left_out_table import left_out_section
from keat.report.explained.pair_tables import pair_section
from keat.report.explained.past_tables import choices, table
from keat.report.html.document import asset

LOGITS = {
    "edge": "The logit of an event is node + ψ·edge",
    "node": "The logit of an event is ψ·node + edge",
    "both": "The logit of an event is ψ·(node + edge)",
    "none": "The logit of an event is node + edge (this model computes ψ and does not use it)",
}
CLOCKS = {
    "query": "Age at the question",
    "neighbor": "Δ: its age at the neighbour's last update",
}


def write_page(explanation: Explained, path: Path) -> None:
    write_text(path, page(explanation))


def page(x: Explained) -> str:
    """The page as text. Without attention there is nothing to slide, and no program."""
    if isinstance(x, EventExplanation):
        return event_page(x)
    assert isinstance(x, Scored)
    attention = _attention(x) if isinstance(x, Explanation) else ""
    return explained_document(
        x,
        eyebrow=model_line(x),
        facts=facts_line(x),
        story=story(x),
        tiles=_tiles(x),
        sections="".join((contrast_section(x), pair_section(x), left_out_section(x), attention)),
        notes=_notes(x),
        program=_program(x) if isinstance(x, Explanation) and x.has_past else "",
    )


def _attention(x: Explanation) -> str:
    labels = [ago(age, x.unit) for age in x.ages]
    tables = "\n".join(table(x, side) for side in (0, 1))
    if not x.has_past:
        return tables
    return Template(asset("attention.html")).substitute(
        choices=choices(x),
        last=len(x.ages) - 1,
        clock=CLOCKS[x.model["delta"]],
        ends=tables,
        sweeps="\n".join(sweeps(x, end, labels) for end in x.ends if end.neighbors),
        deletion=deletion(x),
    )


def _program(x: Explanation) -> str:
    pieces = json.dumps(x.pieces | {"labels": [ago(age, x.unit) for age in x.ages]}).replace("</", "<\\/")
    return f"""<script type="application/json" id="pieces">{pieces}</script>
<script>{slider()}</script>"""


def slider() -> str:
    """The program of a page, as it stands between its tags."""
    return f"\n{asset('explained.js')}\n"


def _tiles(x: Scored) -> list[tuple[str, str]]:
    tiles = [(signed(x.score, plus=False), _what_a_score_is(x))]
    if x.pair is not None and x.model["name"] != "keat-rank":  # of which it is all
        tiles.append((signed(x.pair.logit), "from the pair term: what the two have been to each other"))
    if isinstance(x, Explanation):
        faithful = x.deletion.faithfulness
        tiles += [
            (signed(x.score_of_memory, plus=False), "from memory alone, without any past event"),
            (signed(x.score - x.score_without_past), "added by attention to past events"),
            (
                "–" if math.isnan(faithful) else f"{faithful:.2f}×",
                "faithfulness: most attended against random",
            ),
        ]
    elif isinstance(x, LeftOut):
        tiles.append((f"{len(x.past)}", "past events of the two, each left out by itself"))
    elif x.model["name"] != "keat-rank":
        tiles.append((signed(x.score_of_embeddings), "from the embeddings of the two"))
    return tiles


def _what_a_score_is(x: Scored) -> str:
    loss = x.model["loss"]
    if loss != "pairwise":  # it compares candidates; what they have in common is arbitrary
        return f"score, to compare with those of other candidates: trained {loss}, it is no probability"
    return f"score, a logit; as a probability {1 / (1 + math.exp(min(-x.score, 700))):.0%}, uncalibrated"


def _notes(x: Scored) -> list[str]:
    notes = _notes_on_attention(x) if isinstance(x, Explanation) else []
    if isinstance(x, LeftOut):
        notes.append(
            f"The {x.model['name']} knows past events themselves and nothing else of the past, so leaving "
            "one out is exact: the score is what it would be had the event not been. An event further back "
            "may then come into sight. The network is not a sum, so effects need not add up."
        )
    if x.pair is not None:
        notes.append(
            "The pair term reads sums over past events that fade with age, exactly and over all of the past, "
            "and weighs them by a small network. An effect is what the network itself says with some of its "
            "inputs as for strangers."
        )
    if x.pair is not None and isinstance(x, Explanation):
        notes.append("Where ages are changed, the pair term stays as it was.")
    return notes


def _notes_on_attention(x: Explanation) -> list[str]:
    notes = [
        LOGITS[x.model["modulate"]]
        + ", and attention is the softmax of the logits. ψ fades evidence with age; it "
        "does not raise attention to the recent. An event whose evidence speaks against it gains attention "
        "as it gets older.",
        "Ages are changed in the attention only, of both ends where an event is between the two. Memory, in "
        "which past events left their traces as they happened, stays as it was, and so does which events are "
        "looked at; “memory alone” is the score with all past events out of the attention. Within that, "
        "every number, also those of the slider, is what the model itself gives.",
    ]
    if x.model["delta"] == "neighbor":
        notes.append(
            "This model gives to ψ and φ not the age at the question but Δ, the age at the neighbour's last "
            "update; where the two differ, the table shows both. The slider and the sweeps set Δ itself. "
            "“If older” moves the event: where it was the neighbour's last update, that goes back too, so "
            "Δ of the event may stay and that of others may shrink. “Without it” leaves every Δ as it was."
        )
    return notes
