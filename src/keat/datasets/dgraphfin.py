"""DGraphFin: who named whom as an emergency contact, with fraud labels on nodes that never change.

An `EventStream` has no room for one fixed label a node, so `DGraphFin` keeps them beside the stream.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keat.datasets.registry import DatasetInfo
from keat.errors import InputError
from keat.events import EventStream


@dataclass(frozen=True, slots=True, eq=False)
class DGraphFin:
    """The stream; ``y`` (0 normal, 1 fraud, 2 and 3 background); and the official split of nodes 0 and 1
    as node numbers, not masks (the file calls them masks)."""

    stream: EventStream
    y: npt.NDArray[np.int64]  # (num_nodes,)
    train: npt.NDArray[np.int64]
    valid: npt.NDArray[np.int64]
    test: npt.NDArray[np.int64]


def read_contacts(raw: Path, info: DatasetInfo) -> EventStream:
    """The edges in order of time (equal days keep the file's order); the edge feature is the type."""
    with _Members(raw / info.raw_files[0]) as members:
        edges, day = members["edge_index"], members["edge_timestamp"]
        order = np.argsort(day, kind="stable")
        nodes = members["x"]
        return EventStream.from_arrays(
            edges[order, 0],
            edges[order, 1],
            day[order].astype(np.int64),
            members["edge_type"][order].astype(np.float32)[:, None],
            num_nodes=len(nodes),
            unit=info.unit,
            node_features=nodes.astype(np.float32),
            name=info.name,
        )


def read_node_labels(raw: Path, info: DatasetInfo, stream: EventStream) -> DGraphFin:
    """Put the labels of the file beside a stream read from it."""
    with _Members(raw / info.raw_files[0]) as members:
        return DGraphFin(
            stream,
            members["y"].astype(np.int64),
            *(members[f"{part}_mask"].astype(np.int64) for part in ("train", "valid", "test")),
        )


class _Members:
    """The arrays of an .npz file, with errors that name the file. Never unpickles."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> _Members:
        try:
            self.file = np.load(self.path, allow_pickle=False)
        except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
            raise InputError(f"{self.path} is not a readable .npz file ({error}); fetch it again.") from error
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def __getitem__(self, member: str) -> npt.NDArray[Any]:
        try:
            array: npt.NDArray[Any] = self.file[member]
        except (KeyError, OSError, ValueError, zipfile.BadZipFile) as error:
            raise InputError(f"{self.path} has no readable array '{member}'; fetch it again.") from error
        return array
