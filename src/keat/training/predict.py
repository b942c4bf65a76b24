"""Asking a trained model: likely destinations, scores of pairs, embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from pyarrow.csv import read_csv

from keat.errors import CacheError, InputError
from keat.events import IdMap
from keat.models.contract import LearnedLinkModel, Queries
from keat.training.asked import answered, askable_times


def top_destinations(
    model: LearnedLinkModel, ids: IdMap, source: str, now: int, top: int
) -> list[dict[str, Any]]:
    """The likeliest of all nodes that have been destinations, best first."""
    candidates = model.destinations()
    query = Queries(dense_ids(ids, [source], "src"), np.array([now]), candidates)
    scores = model.score(query)[0]
    best = torch.topk(scores, min(top, len(scores)))
    found = (best.values.tolist(), best.values.double().sigmoid().tolist(), best.indices.tolist())
    return answered(
        [
            {"node": ids.label(int(candidates[place])), "score": score, "probability": probability}
            for score, probability, place in zip(*found, strict=True)
        ]
    )


def score_pairs(model: LearnedLinkModel, ids: IdMap, file: Path, now: int) -> list[dict[str, Any]]:
    """The logit of every pair in a CSV with columns source, destination and optionally time."""
    _, source, destination, times = read_pairs(file, now)
    queries = Queries(
        dense_ids(ids, source, "src"),
        askable_times(times, model.last_time(), file),
        dense_ids(ids, destination, "dst")[:, None],
    )
    scores = model.score(queries)[:, 0].tolist()
    return answered(
        [
            {"source": u, "destination": v, "time": t, "score": s}
            for u, v, t, s in zip(source, destination, times, scores, strict=True)
        ]
    )


def read_pairs(file: Path, now: int) -> tuple[pa.Table, list[Any], list[Any], list[Any]]:
    """A CSV of pairs: the table, its sources and destinations, and its times or ``now``."""
    try:
        table = read_csv(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(
            f"{file} cannot be read as CSV ({error}); give it a header and one pair a row."
        ) from error
    if table.num_columns < 2:
        raise InputError(f"{file} needs two columns, source and destination, and may have a third, the time.")
    source, destination = (table.column(i).to_pylist() for i in (0, 1))
    times = table.column(2).to_pylist() if table.num_columns > 2 else [now] * table.num_rows
    return table, source, destination, times


def write_embeddings(model: LearnedLinkModel, ids: IdMap, file: Path, now: int) -> int:
    """One row a node: its label and its embedding at ``now``."""
    nodes = torch.arange(len(ids))
    with torch.no_grad():
        pieces = [model.embeddings(part, torch.full_like(part, now)) for part in torch.split(nodes, 4096)]
    matrix = torch.cat(pieces).numpy()
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
    labels = pa.array([str(ids.label(node)) for node in range(len(ids))])
    try:
        pq.write_table(pa.table({"node": labels, "embedding": vectors}), file)
    except OSError as error:
        raise CacheError(f"Cannot write {file} ({error}); choose another place.") from error
    return len(ids)


def dense_ids(ids: IdMap, labels: list[Any], side: Literal["src", "dst"]) -> npt.NDArray[np.int32]:
    """Dense ids of what the user typed; a number typed on the command line arrives as text."""
    kind = type(ids.label(0))
    try:
        wanted = [kind(label) for label in labels]
    except ValueError:
        raise InputError(f"Nodes of this run are numbers, but '{labels[0]}' is not one.") from None
    return ids.index(wanted, side=side) if ids.boundary is not None else ids.index(wanted)
