"""keat's own labels: any stream becomes a node property task, and labels of nodes become labels of events."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow.csv import ConvertOptions, ReadOptions, read_csv

from keat.datasets.loading import Dataset
from keat.disk import is_file, reason_of
from keat.errors import InputError, Notice, unknown_name
from keat.events import EventStream, NodeLabels
from keat.events.units import SECONDS_PER, TimeUnit
from keat.tasks.kinds import ENDS, End
from keat.tasks.sorted_rows import begins_run

PERIODS = {"minute": 60.0, "hour": 3_600.0, "day": 86_400.0, "week": 604_800.0, "year": SECONDS_PER["year"]}


def label_by_period(
    data: Dataset, period: str | int, *, weight: int | None = None, undirected: bool = False
) -> Dataset:
    """Time is cut into periods, and a node's label is how it will divide its next period: the share of each
    destination in the weight of the node's events, as TGB made its node property sets.

        y_n(p)[v] = Σ weight of events n → v in period p  /  Σ weight of events n → · in period p

    It is asked about at the last moment before p, of the nodes that are active in p, and becomes known when
    p is over. Classes are the destinations, in the order of their ids (`NodeLabels.first_class`).

    - ``period``: minute, hour, day, week, year, or a whole number in the stream's own unit;
    - ``weight``: which feature is the weight; the model is then shown log(1 + weight). None: each event
      counts 1;
    - ``undirected``: an event counts for both of its ends.

    Events of a node with itself are left out of the stream.
    """
    length = period_length(period, data.stream.unit)
    stream = _without_loops(data)
    shares = np.ones(len(stream), dtype=np.float64)
    if weight is not None:
        shares = _weights(stream, weight)
        features = stream.features.copy()
        features[:, weight] = np.log1p(shares)
        stream = replace(stream, features=features)
    node, cls, number = stream.src, stream.dst, stream.t // length
    if undirected:
        node, cls = np.concatenate((node, cls)), np.concatenate((cls, node))
        number, shares = np.tile(number, 2), np.tile(shares, 2)
    kept = (shares > 0) & (number > number.min())  # nothing is known before the first period
    labels = _shares(number[kept], node[kept], cls[kept], shares[kept], length)
    if len(labels) == 0:
        raise InputError(f"{stream.name} spans less than two periods of {period}; choose a shorter one.")
    return replace(data, stream=replace(stream, node_labels=labels), info=None)


def period_length(period: str | int, unit: TimeUnit) -> int:
    """A period in a stream's own unit."""
    if isinstance(period, str) and period in PERIODS:
        length = PERIODS[period] / SECONDS_PER[unit]
        if length < 1:
            raise InputError(f"A {period} is shorter than the stream's unit, {unit}; choose a longer one.")
        return round(length)
    try:
        length = int(period)
    except ValueError:
        length = 0
    if not 1 <= length < 2**63:
        raise InputError(
            f"'{period}' is not a period; use {', '.join(PERIODS)}, or a whole number of the stream's unit."
        )
    return length


def _without_loops(data: Dataset) -> EventStream:
    stream = data.stream
    keep = stream.src != stream.dst
    if keep.all():
        return stream
    if data.reading is not None and (data.reading.scale or data.reading.categorical):
        raise InputError(
            f"{stream.name} has events that join a node with itself; without them the training split, from "
            "which scales and categories are learned, is another, so drop them from the file first."
        )
    warnings.warn(
        f"{len(keep) - np.count_nonzero(keep):,} events of {stream.name} join a node with itself and are "
        "left out.",
        Notice,
        stacklevel=4,
    )
    columns: dict[str, Any] = {name: getattr(stream, name)[keep] for name in ("src", "dst", "t", "features")}
    labels = None if stream.labels is None else stream.labels[keep]
    return replace(stream, **columns, labels=labels)


def _weights(stream: EventStream, column: int) -> npt.NDArray[np.float64]:
    if not 0 <= column < stream.feature_dim:
        raise InputError(f"{stream.name} has {stream.feature_dim} features, so none is number {column}.")
    weights = stream.features[:, column].astype(np.float64)
    if np.any(weights < 0):
        row = int(np.argmax(weights < 0))
        raise InputError(
            f"The weight of {stream.name} is {weights[row]:g} at data row {row + 1}; a share needs weights "
            "of 0 or more."
        )
    return weights


def _shares(
    number: npt.NDArray[np.int64],
    node: npt.NDArray[np.int32],
    cls: npt.NDArray[np.int32],
    weight: npt.NDArray[np.float64],
    length: int,
) -> NodeLabels:
    """Labels from one row for each event: sums over equal (period, node, class), divided by those
    over (period, node)."""
    order = np.lexsort((cls, node, number))
    number, node, cls, weight = number[order], node[order], cls[order], weight[order]
    new_row = begins_run(number, node)
    entries, rows = np.flatnonzero(begins_run(number, node, cls)), np.flatnonzero(new_row)
    sums = np.add.reduceat(weight, entries) if len(entries) else weight
    row_of_entry = np.cumsum(new_row)[entries] - 1
    lowest, highest = (int(cls.min()), int(cls.max())) if len(cls) else (0, 0)
    totals = np.bincount(row_of_entry, weights=sums, minlength=len(rows))
    return NodeLabels(
        t=number[rows] * length - 1,  # the last moment before the period
        node=node[rows],
        indptr=np.append(np.searchsorted(entries, rows), len(entries)),
        classes=cls[entries] - np.int32(lowest),
        weights=(sums / totals[row_of_entry]).astype(np.float32),
        num_classes=highest - lowest + 1,
        first_class=lowest,
    )


def label_events_by_node(
    data: Dataset, positive: npt.NDArray[np.int32], negative: npt.NDArray[np.int32], end: End
) -> Dataset:
    """Labels of nodes as labels of events: an event whose ``end`` is among the positive nodes is labelled 1,
    among the negative 0; the others are not asked about (-1)."""
    label = np.full(data.stream.num_nodes, -1, dtype=np.int64)
    label[negative], label[positive] = 0, 1
    stream = replace(data.stream, labels=label[getattr(data.stream, end)])
    return replace(data, stream=stream)


def label_events_by_file(data: Dataset, file: Path, *, positive: float = 1.0, end: End = "src") -> Dataset:
    """The same from a CSV of two columns, node and a numeric label; with a header or without. The label
    ``positive`` is the one to find, any other is not."""
    if end not in ENDS:
        raise unknown_name("end of an event", end, ENDS)
    if not is_file(file):
        raise InputError(f"There is no file {file}; give a CSV of two columns, node and label.")
    try:
        options = ConvertOptions(column_types={"node": pa.string(), "label": pa.string()})
        table = read_csv(file, ReadOptions(column_names=["node", "label"]), convert_options=options)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(
            f"{file} cannot be read as a CSV of two columns, node and label ({reason_of(error)})."
        ) from error
    nodes, labels = table["node"].to_pylist(), table["label"].to_pylist()
    if labels and _number(labels[0]) is None:
        nodes, labels = nodes[1:], labels[1:]
    values = [_number(label) for label in labels]
    if not values or None in values:
        row = values.index(None) if values else 0
        raise InputError(f"{file} needs a numeric label for every node, but data row {row + 1} has none.")
    node = data.stream.ids.index_written(nodes, side=end)
    wanted = np.array(values) == positive
    if wanted.all() or not wanted.any():
        raise InputError(
            f"{np.count_nonzero(wanted)} of {len(wanted)} nodes of {file} have the label {positive:g}; say "
            "which of its labels is the one to find (positive)."
        )
    return label_events_by_node(data, node[wanted], node[~wanted], end)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
