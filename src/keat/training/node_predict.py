"""Asking a model of a node task: how a node will divide its next period, which events are suspect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from keat.errors import InputError
from keat.models.contract import NodeQueries
from keat.models.node_head import EventHead, EventQueries, NodeHead
from keat.training.asked import answered, askable_times, numbers_of
from keat.training.predict import Names, dense_ids, labels_of, read_pairs


def coming_shares(
    model: NodeHead, ids: Names, node: str, now: int, top: int, first_class: int = 0
) -> list[dict[str, Any]]:
    """The largest shares of a node's next period; class c is node ``first_class`` + c."""
    if isinstance(model, EventHead):
        raise InputError("This run labels events, so it is asked about events; use --pairs.")
    query = NodeQueries(dense_ids(ids, [node], "src"), np.array([now]))
    shares = torch.softmax(model.score(query)[0], dim=0)
    best = torch.topk(shares, min(top, len(shares)))
    return [
        {"node": ids.label(first_class + place), "share": share}
        for share, place in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    ]


def score_events(model: NodeHead, ids: Names, file: Path, now: int) -> list[dict[str, Any]]:
    """The logit of the label of every event in a CSV: source, destination, time and the event's features.
    Without features the time may be left out."""
    if not isinstance(model, EventHead):
        raise InputError("This run predicts how a node divides its next period; use --source.")
    table, source, destination, times = read_pairs(file, now)
    if table.num_columns < 3 + model.feature_dim and model.feature_dim:
        raise InputError(
            f"{file} needs source, destination, time and then the {model.feature_dim} features an event of "
            f"this run has; it has {table.num_columns} columns."
        )
    src, dst = ids.ends_written(source, destination)
    asked = askable_times(times, model.last_time(), file)
    features = numbers_of(table, range(3, 3 + model.feature_dim), file)
    scores = model.score(EventQueries(src, asked, dst, features))[:, 0].tolist()
    return answered(
        [
            {"source": u, "destination": v, "time": t, "score": s}
            for u, v, t, s in zip(
                labels_of(ids, src, source), labels_of(ids, dst, destination), times, scores, strict=True
            )
        ]
    )
