"""The event stream: immutable, columnar, time-ordered edges. A slice is a view."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keat.errors import InputError, Notice
from keat.events.feature_columns import first_not_finite
from keat.events.ids import IdMap
from keat.events.node_labels import NodeLabels, read_only
from keat.events.saved_stream import damaged, open_folder, save_folder
from keat.events.soundness import CLASSES, NODE_LABEL_PARTS, wrong_event_labels, wrong_node_labels
from keat.events.units import TimeUnit, require_unit


@dataclass(frozen=True, slots=True, eq=False)
class EventStream:
    """Time-ordered events (src, dst, t, features), one row each.

    Events of equal time keep the order of the file they came from. All arrays are read-only;
    ``stream[a:b]`` shares them. ``num_nodes``, ``ids`` and ``node_features`` belong to the whole
    stream and are the same in every slice; ``node_labels`` of a slice end at its last event, so that
    a slice of the past cannot show a label of the future.
    """

    src: npt.NDArray[np.int32]  # (N,)
    dst: npt.NDArray[np.int32]  # (N,)
    t: npt.NDArray[np.int64]  # (N,), non-decreasing, in `unit`
    features: npt.NDArray[np.float32]  # (N, d), d may be 0
    num_nodes: int
    ids: IdMap
    unit: TimeUnit = "s"
    labels: npt.NDArray[Any] | None = None  # (N,), one label for each event
    node_features: npt.NDArray[np.float32] | None = None  # (num_nodes, d_n)
    node_labels: NodeLabels | None = None
    label_classes: int = 0  # how many there are, where labels are classes
    name: str = "events"
    offset: int = field(default=0)  # position of this slice's first event in the whole stream

    def __post_init__(self) -> None:
        n = len(self.t)
        if not (len(self.src) == len(self.dst) == len(self.features) == n):
            raise ValueError("src, dst, t and features must have one row for each event")
        if self.labels is not None and len(self.labels) != n:
            raise ValueError("labels must have one row for each event")
        for column in ("src", "dst", "t", "features", "labels", "node_features"):
            if (array := getattr(self, column)) is not None:
                object.__setattr__(self, column, read_only(array))

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, rows: slice) -> EventStream:
        """``stream[a:b]``: a view of consecutive events."""
        if not isinstance(rows, slice):  # also what a for loop over a stream comes to
            raise TypeError(
                "a stream is sliced, as stream[a:b] or stream.blocks(size), not indexed or iterated"
            )
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise ValueError("a stream is sliced in steps of 1")
        stop = max(start, stop)
        labels = self.node_labels
        if labels is not None:
            labels = labels.up_to(int(self.t[stop - 1])) if stop > start else labels[:0]
        return self._with_rows(slice(start, stop), node_labels=labels, offset=self.offset + start)

    def _with_rows(self, rows: slice | npt.NDArray[np.intp], **changes: Any) -> EventStream:
        """Some of the events, or all in another order."""
        every = {column: getattr(self, column) for column in ("src", "dst", "t", "features", "labels")}
        chosen = {column: array[rows] for column, array in every.items() if array is not None}
        return replace(self, **chosen, **changes)

    def blocks(self, size: int) -> Iterator[EventStream]:
        """Consecutive slices of ``size`` events; the last may be short."""
        for start in range(0, len(self), size):
            yield self[start : start + size]

    @property
    def feature_dim(self) -> int:
        return int(self.features.shape[1])

    @property
    def span(self) -> int:
        """Time from the first event to the last."""
        return int(self.t[-1] - self.t[0]) if len(self) else 0

    def __repr__(self) -> str:
        return (
            f"EventStream({self.name}: {len(self):,} events, {self.num_nodes:,} nodes, "
            f"{self.feature_dim} features, time in {self.unit})"
        )

    @classmethod
    def from_arrays(
        cls,
        src: npt.ArrayLike,
        dst: npt.ArrayLike,
        t: npt.ArrayLike,
        features: npt.ArrayLike | None = None,
        *,
        num_nodes: int | None = None,
        unit: TimeUnit = "s",
        labels: npt.ArrayLike | None = None,
        node_features: npt.ArrayLike | None = None,
        node_labels: NodeLabels | None = None,
        ids: IdMap | None = None,
        name: str = "events",
    ) -> EventStream:
        """A stream of arrays whose ids are dense already (0 … num_nodes-1). It is sorted by time if need
        be."""
        require_unit(unit)
        checked = {c: _counts(name, c, array) for c, array in (("src", src), ("dst", dst), ("t", t))}
        n = len(checked["t"])
        label_array = None if labels is None else _vector(name, "labels", labels)
        for column, array in (*checked.items(), ("labels", label_array)):
            if array is not None and len(array) != n:
                raise InputError(f"'{column}' of {name} has {len(array)} rows but 't' has {n}.")
        if features is None:
            features = np.zeros((n, 0), dtype=np.float32)
        largest = max(int(checked[side].max(initial=-1)) for side in ("src", "dst"))
        num_nodes = largest + 1 if num_nodes is None else num_nodes
        if largest >= num_nodes:
            raise InputError(f"{name} names node {largest} but is said to have {num_nodes} nodes.")
        if num_nodes > np.iinfo(np.int32).max:
            raise InputError(
                f"Node ids of {name} go up to {largest}; make them dense, 0 to the number of nodes."
            )
        if ids is not None and len(ids) != num_nodes:
            raise InputError(f"'ids' of {name} has {len(ids)} labels but there are {num_nodes} nodes.")
        if label_array is not None and (problem := wrong_event_labels(label_array)):
            raise InputError(f"The labels of {name} are not sound: {problem}.")
        if node_labels is not None and (problem := wrong_node_labels(node_labels, num_nodes)):
            raise InputError(f"The node labels of {name} are not sound: {problem}.")
        unsorted = cls(
            src=checked["src"].astype(np.int32, copy=False),
            dst=checked["dst"].astype(np.int32, copy=False),
            t=checked["t"].astype(np.int64, copy=False),
            features=_matrix(name, "features", features, n, "events"),
            num_nodes=num_nodes,
            ids=ids if ids is not None else IdMap.identity(num_nodes),
            unit=unit,
            labels=label_array,
            node_features=None
            if node_features is None
            else _matrix(name, "node_features", node_features, num_nodes, "nodes"),
            node_labels=node_labels,
            name=name,
        )
        return unsorted.in_time_order()

    def in_time_order(self) -> EventStream:
        """This stream, sorted by time with a notice if it is not sorted already."""
        backwards = self.t[1:] < self.t[:-1]
        if not backwards.any():
            return self
        warnings.warn(
            f"{self.name} was not in time order (data row {int(np.argmax(backwards)) + 2} is the first that "
            "is earlier than the one before); sorted, events of equal time keep their order.",
            Notice,
            stacklevel=3,
        )
        return self._with_rows(np.argsort(self.t, kind="stable"))

    def save(self, folder: str | Path) -> None:
        """Write the columns as .npy files that `open` maps into memory; all of them or nothing."""
        columns = {c: getattr(self, c) for c in ("src", "dst", "t", "features", "labels", "node_features")}
        if self.node_labels is not None:
            columns |= {f"node_labels_{part}": getattr(self.node_labels, part) for part in NODE_LABEL_PARTS}
        present = {column: array for column, array in columns.items() if array is not None}
        save_folder(Path(folder), present, self.ids, self.about())

    def about(self) -> dict[str, Any]:
        """What a saved stream says of itself beside its columns and ids."""
        about: dict[str, Any] = {
            "name": self.name,
            "unit": self.unit,
            "num_nodes": self.num_nodes,
            "offset": self.offset,
        }
        if self.node_labels is not None:
            about |= {name: getattr(self.node_labels, name) for name in CLASSES}
        return about

    @classmethod
    def open(cls, folder: str | Path) -> EventStream:
        """Open a saved stream. Columns are checked in one pass and stay mapped from disk."""
        folder = Path(folder)
        columns, ids, meta = open_folder(folder)
        parts: dict[str, Any] = {
            part: columns.pop(f"node_labels_{part}")
            for part in NODE_LABEL_PARTS
            if f"node_labels_{part}" in columns
        }
        labels = None
        if parts:
            try:
                labels = NodeLabels(**parts, **{name: meta[name] for name in CLASSES})
            except ValueError as error:
                raise damaged(folder, str(error)) from error
            if problem := wrong_node_labels(labels, meta["num_nodes"]):
                raise damaged(folder, problem)
        fields: dict[str, Any] = {key: meta[key] for key in ("name", "unit", "num_nodes", "offset")}
        return cls(**fields | columns, ids=ids, node_labels=labels)


def _counts(name: str, column: str, values: npt.ArrayLike) -> npt.NDArray[np.integer]:
    """``values`` as an array of whole numbers from 0."""
    array = _vector(name, column, values)
    if len(array) == 0:
        return array.astype(np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"'{column}' of {name} must hold integers, not {array.dtype}.")
    outside = (array < 0) | (array > np.iinfo(np.int64).max)
    if outside.any():
        row = int(np.argmax(outside))
        raise InputError(
            f"'{column}' of {name} is {array[row]} at data row {row + 1}; it must be from 0 to 2**63 - 1."
        )
    return array


def _vector(name: str, column: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"'{column}' of {name} must have one value for each event, not shape {array.shape}.")
    return array


def _matrix(name: str, column: str, values: npt.ArrayLike, rows: int, of: str) -> npt.NDArray[np.float32]:
    """``values`` as finite float32, one row for each of the ``rows`` events or nodes."""
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is found below
            matrix = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"'{column}' of {name} must be a matrix of numbers ({error}).") from error
    if matrix.ndim != 2:
        raise InputError(
            f"'{column}' of {name} must be a matrix with one row each, not shape {matrix.shape}."
        )
    if len(matrix) != rows:
        raise InputError(f"'{column}' of {name} has {len(matrix)} rows but there are {rows} {of}.")
    if (bad := first_not_finite(matrix)) is not None:
        row, position = bad
        raise InputError(f"'{column}' of {name} is {matrix[row, position]} at row {row + 1}; fill it in.")
    return matrix
