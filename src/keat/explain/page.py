"""An explanation as one self-contained HTML page: no server, nothing to load, a slider that computes."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np

import keat
from keat.errors import CacheError
from keat.events import humanize
from keat.explain.explanation import Explanation
from keat.explain.page_charts import deletion, sweeps
from keat.explain.page_tables import choices, table
from keat.explain.wording import ago, moment, signed
from keat.report.style import base_style

LOGITS = {
    "edge": "The logit of an event is node + ψ·edge",
    "node": "The logit of an event is ψ·node + edge",
    "both": "The logit of an event is ψ·(node + edge)",
    "none": "The logit of an event is node + edge (this model computes ψ and does not use it)",
}


def write_page(explanation: Explanation, path: Path) -> None:
    try:
        path.write_text(page(explanation), encoding="utf-8")
    except OSError as error:
        raise CacheError(f"Cannot write {path} ({error.strerror or error}); choose another --out.") from error


def page(x: Explanation) -> str:
    """The page as text."""
    assets = files("keat.explain") / "assets"
    labels = [ago(age, x.unit) for age in x.ages]
    pieces = x.pieces | {"labels": labels}
    template = Template((assets / "page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(f"{x.source} → {x.destination}: {signed(x.score, plus=False)}"),
        style=base_style() + (assets / "page.css").read_text(encoding="utf-8"),
        script=(assets / "page.js").read_text(encoding="utf-8"),
        pieces=json.dumps(pieces).replace("</", "<\\/"),
        eyebrow=escape(model_line(x)),
        source=escape(str(x.source)),
        destination=escape(str(x.destination)),
        score=signed(x.score, plus=False),
        facts=escape(facts_line(x)),
        tiles=_tiles(x),
        story=_story(x),
        choices=choices(x),
        last=len(x.ages) - 1,
        ends="\n".join(table(x, side) for side in (0, 1)),
        sweeps="\n".join(sweeps(x, end, labels) for end in x.ends if end.neighbors),
        deletion=deletion(x),
        notes=_notes(x),
        footer=escape(f"keat {keat.__version__}"),
    )


def counterfactual(x: Explanation) -> str | None:
    """The event whose age mattered most, in a sentence; None where there is no past."""
    found = x.most_telling()
    if found is None:
        return None
    end, most = found
    return (
        f"Had the event of {end.node} with {most.node}, {ago(most.since, x.unit)} before, been "
        f"{humanize(x.older, x.unit)} older, the score would be {signed(most.score_if_older, plus=False)} "
        f"({signed(most.score_if_older - x.score)})."
    )


def model_line(x: Explanation) -> str:
    kernel, width = x.model["kernel"], x.model["width"]
    if kernel == "identity":
        what = "no kernel (ψ = 1)"
    elif width == "inf":
        what = f"{kernel} kernel of infinite width (ψ = 1)"
    else:
        what = f"{kernel} kernel of width {humanize(width * x.model['sigma'], x.unit)}"
    age = "query" if x.model["delta"] == "query" else "neighbour's last update"
    return f"{x.model['name']} · {what} · age measured from the {age}"


def facts_line(x: Explanation) -> str:
    parts = [f"at {moment(x.t, x.unit)}"]
    if x.dataset is not None:
        parts.append(x.dataset)
    if x.rank is not None:
        parts.append(f"rank {x.rank:g} of {x.candidates:,} candidates")
    return " · ".join(parts)


def _tiles(x: Explanation) -> str:
    share = x.score - x.score_without_past
    faithful = x.deletion.faithfulness
    tiles = [
        (
            signed(x.score, plus=False),
            f"score, a logit; as a probability {1 / (1 + np.exp(-x.score)):.0%}, uncalibrated",
        ),
        (signed(x.score_without_past, plus=False), "from memory alone, without any past event"),
        (signed(share), "added by attention to past events"),
        ("–" if np.isnan(faithful) else f"{faithful:.2f}×", "faithfulness: most attended against random"),
    ]
    return "\n".join(f"<li><b>{value}</b>{escape(what)}</li>" for value, what in tiles)


def _story(x: Explanation) -> str:
    return escape(counterfactual(x) or "Neither end has a past event: the score comes from memory alone.")


def _notes(x: Explanation) -> str:
    notes = [
        LOGITS[x.model["modulate"]]
        + ", and attention is the softmax of the logits. ψ fades evidence with age; it "
        "does not raise attention to the recent. An event whose evidence speaks against it gains attention "
        "as it gets older.",
        "Ages are changed in the attention only. Memory, in which past events left their traces as they "
        "happened, stays as it was; “memory alone” is the score with all past events out of the attention.",
        "Every number, also those of the slider, is what the model itself gives; nothing is approximated.",
    ]
    if x.model["delta"] == "neighbor":
        notes.append(
            "This model measures the age of an event from the neighbour's last update, not from the "
            "question; where the two differ, the table shows both."
        )
    return "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"
