"""Id maps: what the user calls a node ↔ the dense integer keat works with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from keat.errors import InputError


class IdMap:
    """A bijection between labels (strings or integers) and 0 … n-1.

    ``labels`` is an Arrow array; position is the dense id. ``labels=None`` is the identity map over
    ``size`` ids, which costs nothing.
    """

    __slots__ = ("labels", "size")

    def __init__(self, labels: pa.Array | None, size: int | None = None) -> None:
        if labels is None and size is None:
            raise ValueError("an identity map needs its size")
        self.labels = labels
        self.size: int = len(labels) if labels is not None else int(size or 0)

    @classmethod
    def identity(cls, size: int) -> IdMap:
        return cls(None, size)

    def __len__(self) -> int:
        return self.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IdMap):
            return NotImplemented
        return self.size == other.size and self._materialized().equals(other._materialized())

    __hash__ = None  # type: ignore[assignment]  # a container of labels, not a key

    def __repr__(self) -> str:
        kind = "identity" if self.labels is None else str(self.labels.type)
        return f"IdMap({self.size:,} nodes, {kind})"

    def label(self, index: int) -> str | int:
        """What the user calls node ``index``."""
        if not 0 <= index < self.size:
            raise InputError(f"Node {index} does not exist: this stream has nodes 0 to {self.size - 1}.")
        if self.labels is None:
            return index
        value: str | int = self.labels[index].as_py()
        return value

    def index(self, labels: Any) -> npt.NDArray[np.int32]:
        """Dense ids of ``labels`` (a sequence); an unknown label is an error that names it."""
        if self.labels is None:
            found = np.asarray(labels, dtype=np.int64)
            missing = np.flatnonzero((found < 0) | (found >= self.size))
        else:
            wanted = pa.array(labels)
            if not wanted.type.equals(self.labels.type):
                wanted = wanted.cast(self.labels.type)
            found = pc.fill_null(pc.index_in(wanted, value_set=self.labels), -1).to_numpy(
                zero_copy_only=False
            )
            missing = np.flatnonzero(found < 0)
        if len(missing):
            raise InputError(
                f"Node '{labels[missing[0]]}' does not occur in this stream; check the spelling."
            )
        return found.astype(np.int32)

    def _materialized(self) -> pa.Array:
        return self.labels if self.labels is not None else pa.array(np.arange(self.size, dtype=np.int64))

    def save(self, path: Path) -> None:
        """Write the labels, in id order, as a one-column Parquet file."""
        pq.write_table(pa.table({"label": self._materialized()}), path)

    @classmethod
    def load(cls, path: Path) -> IdMap:
        return cls(pq.read_table(path)["label"].combine_chunks())
