"""Which runs can be explained, and what to do with the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from keat.errors import InputError
from keat.events import IdMap
from keat.models.contract import LearnedLinkModel
from keat.models.gearsage import GEARSAGE_CONFIGS
from keat.models.rank import KeatRank
from keat.models.tgn import TGN
from keat.models.with_pair_term import WithPairTerm
from keat.training.description import read_description
from keat.training.runs import open_run


def open_explainable(folder: Path) -> tuple[LearnedLinkModel, dict[str, Any], IdMap]:
    """The model, description and ids of a run that scores links, by an attention or by a pair term."""
    other = _other_kind(read_description(folder))
    if other is not None:
        raise InputError(f"{folder} {other}; explanations are of scores of links.")
    model, description, ids = open_run(folder)
    if not isinstance(model, TGN | WithPairTerm | KeatRank):
        raise InputError(
            f"{folder} holds a {description['model']}; explanations read the attention of TGN and pair "
            "terms. What it can do: keat predict and keat evaluate."
        )
    return model, description, ids


def _other_kind(description: dict[str, Any]) -> str | None:
    """What a run does that does not score links, and the command for it."""
    if description.get("model") in GEARSAGE_CONFIGS:
        return "labels the nodes of a whole graph, which keat predict RUN --graph FILE ranks"
    if "head" not in description:
        return None
    if description["head"].get("kind") == "node":
        return "tells how a node will divide its next period, with keat predict RUN --source NODE"
    return "labels events, with keat predict RUN --pairs FILE"
