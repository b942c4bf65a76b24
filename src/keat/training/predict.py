"""Asking a trained model: likely destinations, scores of pairs, embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from pyarrow.csv import ConvertOptions, open_csv, read_csv

from keat.calibration.fitting import Calibration
from keat.calibration.temperature import Temperature
from keat.disk import is_file, new_file, reason_of
from keat.errors import InputError
from keat.models.contract import LearnedLinkModel, Queries
from keat.training.asked import answered, askable_times


class Names(Protocol):
    """What the user calls the nodes of a run."""

    def __len__(self) -> int: ...
    def label(self, node: int, /) -> str | int: ...
    def ends_written(
        self, source: Sequence[str | int], destination: Sequence[str | int]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...
    def index_written(
        self, labels: Sequence[str | int], *, side: Literal["src", "dst"]
    ) -> npt.NDArray[np.int32]: ...


def top_destinations(
    model: LearnedLinkModel,
    ids: Names,
    source: str,
    now: int,
    top: int,
    calibration: Calibration | None = None,
) -> list[dict[str, Any]]:
    """The likeliest of all nodes that have been destinations, best first; with a temperature each with its
    share among all of them, with a curve of probabilities each with its own."""
    candidates = model.destinations()
    query = Queries(dense_ids(ids, [source], "src"), np.array([now]), candidates)
    scores = model.score(query)[0].detach().cpu()
    best = torch.topk(scores, min(top, len(scores)))
    places = best.indices.tolist()
    rows = answered(
        [
            {"node": ids.label(int(candidates[place])), "score": score}
            for score, place in zip(best.values.tolist(), places, strict=True)
        ]
    )
    if isinstance(calibration, Temperature):
        shares = calibration.shares(scores.numpy())[places].tolist()
        return [row | {"share": share} for row, share in zip(rows, shares, strict=True)]
    return with_probabilities(rows, calibration)


def with_probabilities(rows: list[dict[str, Any]], calibration: Calibration | None) -> list[dict[str, Any]]:
    """Rows with a ``score``, and its probability where the run has a curve to read it from."""
    if calibration is None or isinstance(calibration, Temperature):
        return rows
    found = calibration.probabilities(np.array([row["score"] for row in rows])).tolist()
    return [row | {"probability": probability} for row, probability in zip(rows, found, strict=True)]


def score_pairs(model: LearnedLinkModel, ids: Names, file: Path, now: int) -> list[dict[str, Any]]:
    """The logit of every pair in a CSV with columns source, destination and optionally time."""
    _, source, destination, times = read_pairs(file, now)
    src, dst = ids.ends_written(source, destination)
    asked = askable_times(times, model.last_time(), file)
    scores = model.score(Queries(src, asked, dst[:, None]))[:, 0].tolist()
    return answered(
        [
            {"source": u, "destination": v, "time": t, "score": s}
            for u, v, t, s in zip(
                labels_of(ids, src, source), labels_of(ids, dst, destination), times, scores, strict=True
            )
        ]
    )


def read_pairs(file: Path, now: int) -> tuple[pa.Table, list[Any], list[Any], list[Any]]:
    """A CSV of pairs: the table, its sources and destinations, and its times or ``now``. Ids are text here,
    as they are written: whether 007 is a number is for the run to say."""
    if not is_file(file):
        raise InputError(f"There is no file {file}; give a CSV with one pair a row.")
    try:
        names = open_csv(file).schema.names
        as_written = ConvertOptions(column_types=dict.fromkeys(names[:2], pa.string()))
        table = read_csv(file, convert_options=as_written)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(
            f"{file} cannot be read as CSV ({reason_of(error)}); give it a header and one pair a row."
        ) from error
    if table.num_columns < 2:
        raise InputError(f"{file} needs two columns, source and destination, and may have a third, the time.")
    source, destination = (table.column(i).to_pylist() for i in (0, 1))
    for column, side in ((source, "source"), (destination, "destination")):
        if "" in column:
            raise InputError(f"{file}, data row {column.index('') + 1}: the {side} is missing; fill it in.")
    if table.num_columns < 3:
        return table, source, destination, [now] * table.num_rows
    times = table.column(2)
    if times.null_count or not pa.types.is_integer(times.type):
        raise InputError(
            f"The third column of {file} must hold times, whole numbers in the unit of the run; fill them "
            "in, or leave the column out."
        )
    return table, source, destination, times.to_pylist()


def write_embeddings(model: LearnedLinkModel, ids: Names, file: Path, now: int) -> int:
    """One row a node: its label and its embedding at ``now``."""
    nodes = torch.arange(len(ids))
    with torch.no_grad():
        pieces = [model.embeddings(part, torch.full_like(part, now)) for part in torch.split(nodes, 4096)]
    matrix = torch.cat(pieces).numpy()
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
    labels = pa.array([str(ids.label(node)) for node in range(len(ids))])
    with new_file(file) as part:
        pq.write_table(pa.table({"node": labels, "embedding": vectors}), part)
    return len(ids)


def dense_ids(ids: Names, labels: list[Any], side: Literal["src", "dst"]) -> npt.NDArray[np.int32]:
    """Dense ids of what the user typed or wrote into a file."""
    return ids.index_written(labels, side=side)


def labels_of(ids: Names, nodes: npt.NDArray[np.int32], written: Sequence[Any]) -> list[Any]:
    """What nodes are called; strangers, whose numbers are beyond all nodes, as they were written."""
    return [
        ids.label(node) if node < len(ids) else label
        for node, label in zip(nodes.tolist(), written, strict=True)
    ]
