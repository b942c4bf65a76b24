"""The event stream: immutable, columnar, time-ordered edges. A slice is a view."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keat.errors import InputError, Notice
from keat.events.ids import IdMap
from keat.events.node_labels import NodeLabels
from keat.events.units import UNITS, TimeUnit

FORMAT = 1  # of the columnar folder written by `save`; raise it when the layout changes


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
    labels: npt.NDArray[Any] | None = None  # (N,), one label an event
    node_features: npt.NDArray[np.float32] | None = None  # (num_nodes, d_n)
    node_labels: NodeLabels | None = None
    name: str = "events"
    offset: int = field(default=0)  # position of this slice's first event in the whole stream

    def __post_init__(self) -> None:
        n = len(self.t)
        if not (len(self.src) == len(self.dst) == len(self.features) == n):
            raise ValueError("src, dst, t and features must have one row an event")
        for column in ("src", "dst", "t", "features", "labels", "node_features"):
            array = getattr(self, column)
            if array is not None and array.flags.writeable:
                array = array.view()
                array.flags.writeable = False
                object.__setattr__(self, column, array)

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, rows: slice) -> EventStream:
        """``stream[a:b]``: a view of consecutive events."""
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise ValueError("a stream is sliced in steps of 1")
        stop = max(start, stop)
        labels = self.node_labels
        if labels is not None:
            labels = labels.up_to(int(self.t[stop - 1])) if stop > start else labels[:0]
        return replace(
            self,
            src=self.src[start:stop],
            dst=self.dst[start:stop],
            t=self.t[start:stop],
            features=self.features[start:stop],
            labels=None if self.labels is None else self.labels[start:stop],
            node_labels=labels,
            offset=self.offset + start,
        )

    def blocks(self, size: int) -> Iterator[EventStream]:
        """Consecutive slices of ``size`` events; the last may be short."""
        for start in range(0, len(self), size):
            yield self[start : start + size]

    @property
    def feature_dim(self) -> int:
        return self.features.shape[1]

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
        features: npt.NDArray[np.float32] | None = None,
        *,
        num_nodes: int | None = None,
        unit: TimeUnit = "s",
        labels: npt.ArrayLike | None = None,
        node_features: npt.NDArray[np.float32] | None = None,
        node_labels: NodeLabels | None = None,
        ids: IdMap | None = None,
        name: str = "events",
    ) -> EventStream:
        """From arrays whose ids are dense already (0 … num_nodes-1). Sorted by time if need be."""
        src, dst = np.asarray(src), np.asarray(dst)
        time = np.asarray(t)
        if unit not in UNITS:
            raise InputError(f"Unknown time unit '{unit}'; use one of {', '.join(UNITS)}.")
        for column, array in (("src", src), ("dst", dst), ("t", time)):
            if not np.issubdtype(array.dtype, np.integer):
                raise InputError(f"'{column}' of {name} must hold integers, not {array.dtype}.")
            if len(array) and array.min() < 0:
                row = int(np.argmax(array < 0))
                raise InputError(f"'{column}' of {name} is negative ({array[row]}) at row {row}.")
        largest = max(int(src.max(initial=-1)), int(dst.max(initial=-1)))
        num_nodes = largest + 1 if num_nodes is None else num_nodes
        if largest >= num_nodes:
            raise InputError(f"{name} names node {largest} but is said to have {num_nodes} nodes.")
        if features is None:
            features = np.zeros((len(time), 0), dtype=np.float32)
        label_array = None if labels is None else np.asarray(labels)
        time = time.astype(np.int64, copy=False)
        if np.any(time[1:] < time[:-1]):
            first = int(np.argmax(time[1:] < time[:-1])) + 1
            warnings.warn(
                f"{name} was not in time order (first at row {first}); sorted, events of equal time "
                "keep their order.",
                Notice,
                stacklevel=2,
            )
            order = np.argsort(time, kind="stable")
            src, dst, time, features = src[order], dst[order], time[order], features[order]
            label_array = None if label_array is None else label_array[order]
        return cls(
            src=src.astype(np.int32, copy=False),
            dst=dst.astype(np.int32, copy=False),
            t=time,
            features=features.astype(np.float32, copy=False),
            num_nodes=num_nodes,
            ids=ids if ids is not None else IdMap.identity(num_nodes),
            unit=unit,
            labels=label_array,
            node_features=node_features,
            node_labels=node_labels,
            name=name,
        )

    def save(self, folder: Path) -> None:
        """Write the columns as .npy files that `open` maps into memory."""
        folder.mkdir(parents=True, exist_ok=True)
        columns = {"src": self.src, "dst": self.dst, "t": self.t, "features": self.features}
        if self.labels is not None:
            columns["labels"] = self.labels
        if self.node_features is not None:
            columns["node_features"] = self.node_features
        if (nl := self.node_labels) is not None:
            parts = {
                "t": nl.t,
                "node": nl.node,
                "indptr": nl.indptr,
                "classes": nl.classes,
                "weights": nl.weights,
            }
            columns |= {f"node_labels_{part}": array for part, array in parts.items()}
        for column, array in columns.items():
            np.save(folder / f"{column}.npy", array, allow_pickle=False)
        if self.ids.labels is not None:
            self.ids.save(folder / "ids.parquet")
        meta = {
            "format": FORMAT,
            "name": self.name,
            "unit": self.unit,
            "num_nodes": self.num_nodes,
            "num_classes": None if self.node_labels is None else self.node_labels.num_classes,
            "columns": sorted(columns),
        }
        (folder / "stream.json").write_text(json.dumps(meta, indent=1))

    @classmethod
    def open(cls, folder: Path) -> EventStream:
        """Open a saved stream; columns are memory-mapped, so this takes milliseconds at any size."""
        try:
            meta = json.loads((folder / "stream.json").read_text())
            if meta["format"] != FORMAT:
                raise InputError(
                    f"{folder} was written by another version of keat (format {meta['format']}, "
                    f"this one reads {FORMAT}); delete it and load the data again."
                )
            columns: dict[str, Any] = {
                c: np.load(folder / f"{c}.npy", mmap_mode="r", allow_pickle=False) for c in meta["columns"]
            }
        except (FileNotFoundError, ValueError, KeyError) as error:
            raise InputError(
                f"{folder} is not a complete keat stream ({error}); delete it and load again."
            ) from error
        parts = {
            c.removeprefix("node_labels_"): columns.pop(c)
            for c in list(columns)
            if c.startswith("node_labels_")
        }
        id_file = folder / "ids.parquet"
        return cls(
            **columns,
            num_nodes=meta["num_nodes"],
            ids=IdMap.load(id_file) if id_file.exists() else IdMap.identity(meta["num_nodes"]),
            unit=meta["unit"],
            node_labels=NodeLabels(**parts, num_classes=meta["num_classes"]) if parts else None,
            name=meta["name"],
        )
