"""What a saved stream must hold before anything is indexed with it.

Compiled loops read memory at a node's number without asking, so a number out of range is no error there but
a crash, or worse, somebody else's memory. Everything here is one pass over mapped columns in blocks.
Each function returns what is wrong, as the end of a sentence, or None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from keat.events.feature_columns import BLOCK, first_not_finite
from keat.events.ids import IdMap
from keat.events.node_labels import NodeLabels
from keat.events.units import UNITS

LARGEST = int(np.iinfo(np.int32).max)
SHAPES: dict[str, tuple[str, int]] = {  # of each column: the type, and how many dimensions
    "src": ("int32", 1),
    "dst": ("int32", 1),
    "t": ("int64", 1),
    "features": ("float32", 2),
    "node_features": ("float32", 2),
    "node_labels_t": ("int64", 1),
    "node_labels_node": ("int32", 1),
    "node_labels_indptr": ("int64", 1),
    "node_labels_classes": ("int32", 1),
    "node_labels_weights": ("float32", 1),
}
REQUIRED = ("src", "dst", "t", "features")
NODE_LABEL_PARTS = ("t", "node", "indptr", "classes", "weights")
CLASSES = ("num_classes", "first_class")


def wrong_description(about: Any) -> str | None:
    """What is wrong with the content of ``stream.json``, whose format is known."""
    columns = about.get("columns")
    if not isinstance(columns, list) or any(
        column not in SHAPES and column != "labels" for column in columns if isinstance(column, str)
    ):
        return "'columns' does not list the columns of a stream"
    if any(not isinstance(column, str) for column in columns) or len({*columns}) < len(columns):
        return "'columns' does not list each column once"
    if missing := [column for column in REQUIRED if column not in columns]:
        return f"it has no column {missing[0]}"
    labelled = [part for part in NODE_LABEL_PARTS if f"node_labels_{part}" in columns]
    if labelled and len(labelled) < len(NODE_LABEL_PARTS):
        return "a part of its node labels is missing"
    if not isinstance(about.get("name"), str):
        return "its 'name' is not a text"
    if about.get("unit") not in UNITS:
        return f"its 'unit' is none of {', '.join(UNITS)}"
    if type(about.get("ids", True)) is not bool:
        return "its 'ids' is neither true nor false"
    for key in ("num_nodes", "offset", *(CLASSES if labelled else ())):
        value = about.get(key)
        if type(value) is not int or not 0 <= value <= (LARGEST if key != "offset" else 1 << 62):
            return f"its '{key}' is not a whole number in range"
    return None


def wrong_columns(columns: Mapping[str, npt.NDArray[Any]], num_nodes: int, ids: IdMap) -> str | None:
    """What is wrong with the columns of the events and of the nodes."""
    for name, array in columns.items():
        if name in SHAPES and (array.dtype != np.dtype(SHAPES[name][0]) or array.ndim != SHAPES[name][1]):
            kind, dimensions = SHAPES[name]
            return (
                f"{name} holds {array.dtype} in {array.ndim} dimensions, where {kind} in {dimensions} belongs"
            )
    rows = len(columns["t"])
    for name in ("src", "dst", "features", "labels"):
        if name in columns and (columns[name].ndim == 0 or len(columns[name]) != rows):
            return f"{name} does not have one row for each of the {rows} times"
    if len(ids) != num_nodes:
        return f"it has {len(ids)} ids for {num_nodes} nodes"
    for name in ("src", "dst"):
        if (row := first_outside(columns[name], 0, num_nodes)) is not None:
            return f"{name} names node {columns[name][row]} at row {row + 1}, which is none of its nodes"
    if problem := _wrong_times(columns["t"]):
        return problem
    if (labels := columns.get("labels")) is not None and (problem := wrong_event_labels(labels)):
        return problem
    for name in ("features", "node_features"):
        if name in columns and (bad := first_not_finite(columns[name])) is not None:
            return f"{name} is {columns[name][bad]} at row {bad[0] + 1}"
    if "node_features" in columns and len(columns["node_features"]) != num_nodes:
        return f"node_features does not have one row for each of the {num_nodes} nodes"
    return None


def wrong_event_labels(labels: npt.NDArray[Any]) -> str | None:
    """Labels of events are finite numbers, one an event."""
    if labels.ndim != 1 or labels.dtype.kind not in "biuf":
        return f"labels holds {labels.dtype} in {labels.ndim} dimensions, where one number an event belongs"
    if labels.dtype.kind == "f" and (bad := first_not_finite(labels[:, None])) is not None:
        return f"labels is {labels[bad[0]]} at row {bad[0] + 1}"
    return None


def wrong_node_labels(labels: NodeLabels, num_nodes: int) -> str | None:
    """What is wrong with labels of nodes, whose arrays are of the right types."""
    if len(labels.classes) != len(labels.weights):
        return "its node labels have classes without weights, or weights without classes"
    if (row := first_outside(labels.node, 0, num_nodes)) is not None:
        return f"its node labels name node {labels.node[row]}, which is none of its nodes"
    if (row := first_outside(labels.classes, 0, labels.num_classes)) is not None:
        return f"its node labels name class {labels.classes[row]} of {labels.num_classes}"
    if first_outside(labels.indptr, 0, len(labels.classes) + 1) is not None or first_descent(labels.indptr):
        return "the rows of its node labels do not follow each other"
    if (bad := first_not_finite(labels.weights[:, None])) is not None:
        return f"a weight of its node labels is {labels.weights[bad[0]]}"
    if labels.first_class and labels.first_class + labels.num_classes > num_nodes:
        return "its node labels name classes that are none of its nodes"
    return None


def first_outside(values: npt.NDArray[np.integer[Any]], low: int, high: int) -> int | None:
    """The first row that is not from ``low`` to ``high`` - 1."""
    for start in range(0, len(values), BLOCK):
        block = values[start : start + BLOCK]
        if block.min() < low or block.max() >= high:
            return start + int(np.argmax((block < low) | (block >= high)))
    return None


def first_descent(values: npt.NDArray[np.integer[Any]]) -> int | None:
    """The first row that is less than the one before it."""
    for start in range(0, len(values) - 1, BLOCK):
        block = values[start : start + BLOCK + 1]  # two blocks share a row, so that none is left out
        falls = block[1:] < block[:-1]
        if falls.any():
            return start + int(np.argmax(falls)) + 1
    return None


def _wrong_times(times: npt.NDArray[np.int64]) -> str | None:
    if (row := first_descent(times)) is not None:
        return f"its times are not in order (row {row + 1} is earlier than the one before)"
    if len(times) and times[0] < 0:
        return f"its times begin with {times[0]}, before 0"
    return None
