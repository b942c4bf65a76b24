"""An explained link in words: the model, the time and the rank, and the one thing that tells most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keat.events import humanize
from keat.explain.ends import End
from keat.explain.explanation import Explanation
from keat.explain.left_out import LeftOut, most_telling
from keat.explain.pair_wording import evidence
from keat.explain.phrases import ago, rank_written, signed, where_and_when
from keat.explain.scored import Scored

LOGIT_PARTS = {
    "edge": ("node", "ψ·edge"),
    "node": ("ψ·node", "edge"),
    "both": ("ψ·node", "ψ·edge"),
    "none": ("node", "edge"),
}
SMALLEST = 0.0005  # an effect that is written as 0.000


def story(x: Scored) -> str:
    """The most telling thing in a sentence: of the attention, or of the pair."""
    if isinstance(x, Explanation):
        return counterfactual(x) or "Neither end has a past event: the score comes from memory alone."
    if isinstance(x, LeftOut):
        return most_telling(x)
    most = None if x.pair is None else next(iter(evidence(x.pair, x.unit)), None)
    if most is None:
        return "Nothing is known of the two."
    if abs(most.effect) < SMALLEST:
        return "Nothing that is known of the two changes the score."
    return (
        f"What counted most: {most.group} ({most.known}). As for strangers, the score would be "
        f"{signed(x.score - most.effect, plus=False)} ({signed(-most.effect)})."
    )


def counterfactual(x: Explanation, sides: Sequence[int] = (0, 1)) -> str | None:
    """The event whose age mattered most, in a sentence: of both ends, or of one. None without a past."""
    found = x.most_telling(sides)
    if found is None:
        return None
    end, most = found
    return (
        f"In the attention alone: had the event of {end.node} with {most.node}, "
        f"{ago(most.since, x.unit)} before, been {humanize(x.older, x.unit)} older, "
        f"the score would be {signed(most.score_if_older, plus=False)} "
        f"({signed(most.score_if_older - x.score)})."
    )


def model_line(x: Scored) -> str:
    term = "" if x.pair is None else " · pair term"
    if not isinstance(x, Explanation):
        return f"{x.model['name']}{term}"
    kernel, width = x.model["kernel"], x.model["width"]
    if kernel == "identity":
        what = "no kernel (ψ = 1)"
    elif width == "inf":
        what = f"{kernel} kernel of infinite width (ψ = 1)"
    else:
        what = f"{kernel} kernel of width {humanize(width * x.model['sigma'], x.unit)}"
    age = "query" if x.model["delta"] == "query" else "neighbour's last update"
    return f"{x.model['name']} · {what} · age measured from the {age}{term}"


def facts_line(x: Scored) -> str:
    parts = [where_and_when(x)]
    if x.rank is not None:
        parts.append(f"rank {rank_written(x.rank)} of {x.candidates:,} candidates")
    return " · ".join(parts)


def logit_parts(x: Explanation, end: End) -> npt.NDArray[np.float64]:
    """Node and edge parts of the logits with their ψ, (n, 2): means over the heads, the node's centred."""
    columns = [[getattr(n, name) for n in end.neighbors] for name in ("node_logit", "edge_logit", "psi")]
    node, edge, psi = (np.array(column) for column in columns)  # (n, H)
    modulate = x.model["modulate"]
    node = node * psi if modulate in ("node", "both") else node
    edge = edge * psi if modulate in ("edge", "both") else edge
    return np.stack((node.mean(axis=1) - node.mean(), edge.mean(axis=1)), axis=1)
