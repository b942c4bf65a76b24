"""DGraphFin: who named whom as an emergency contact, with fraud labels on nodes that never change.

An `EventStream` has no room for one fixed label a node, so `DGraphFin` keeps them beside the stream.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keat.datasets.dataset_info import DatasetInfo
from keat.disk import NOT_AN_ARRAY, is_file, reason_of, unreadable
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

    @property
    def name(self) -> str:
        return self.stream.name


def read_contacts(raw: Path, info: DatasetInfo) -> EventStream:
    """The edges in order of time (equal days keep the file's order); the edge feature is the type."""
    with _Members(raw / info.raw_files[0]) as members:
        nodes = members.read("x", "biuf", (None, None))
        edges = members.read("edge_index", "iu", (None, 2))
        day = members.read("edge_timestamp", "iuf", (len(edges),))
        kinds = members.read("edge_type", "iuf", (len(edges),))
        order = np.argsort(day, kind="stable")
        return EventStream.from_arrays(
            edges[order, 0],
            edges[order, 1],
            day[order].astype(np.int64),
            kinds[order].astype(np.float32)[:, None],
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
            members.read("y", "iuf", (stream.num_nodes,)).astype(np.int64),
            *(members.nodes(f"{part}_mask", stream.num_nodes) for part in ("train", "valid", "test")),
        )


class _Members:
    """The arrays of an .npz file, with errors that name the file. Never unpickles."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> _Members:
        if not is_file(self.path):
            raise InputError(f"{self.path} does not exist; fetch it again.")
        try:
            self.file = np.load(self.path, allow_pickle=False)
        except PermissionError as error:
            raise unreadable(self.path, error) from error
        except (*NOT_AN_ARRAY, zipfile.BadZipFile) as error:
            raise InputError(
                f"{self.path} is not a readable .npz file ({reason_of(error)}); fetch it again."
            ) from error
        if isinstance(self.file, np.ndarray):
            raise InputError(f"{self.path} is not a readable .npz file (but one array); fetch it again.")
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def read(self, member: str, kinds: str, shape: tuple[int | None, ...]) -> npt.NDArray[Any]:
        """An array of numbers of one of the ``kinds`` and of a ``shape``, where None is any length."""
        try:
            array: npt.NDArray[Any] = self.file[member]
        except (KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError, *NOT_AN_ARRAY) as error:
            raise InputError(f"{self.path} has no readable array '{member}'; fetch it again.") from error
        fits = isinstance(array, np.ndarray) and array.dtype.kind in kinds and array.ndim == len(shape)
        if not fits or any(size not in (None, found) for size, found in zip(shape, array.shape, strict=True)):
            wanted = ", ".join("…" if size is None else str(size) for size in shape)
            raise InputError(
                f"The array '{member}' of {self.path} is {getattr(array, 'dtype', 'no array')} of shape "
                f"{np.shape(array)}, where numbers of shape ({wanted}) belong; fetch it again."
            )
        return array

    def nodes(self, member: str, num_nodes: int) -> npt.NDArray[np.int64]:
        """An array of node numbers."""
        array = self.read(member, "iu", (None,))
        if len(array) and not 0 <= array.min() <= array.max() < num_nodes:
            raise InputError(
                f"The array '{member}' of {self.path} names nodes that are not among its {num_nodes}; "
                "fetch it again."
            )
        return array.astype(np.int64)
