"""Id maps: what the user calls a node ↔ the dense integer keat works with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from keat.disk import is_file, reason_of, unreadable
from keat.errors import InputError
from keat.events.columns import is_text

Side = Literal["src", "dst"]
Dense = npt.NDArray[np.int32]
BLANKS = " \t"  # around an id in a text file, where they are no part of it
WHOLE_NUMBER = "^(0|-?[1-9][0-9]*)$"


class IdMap:
    """A bijection between labels (strings or integers) and 0 … n-1.

    ``labels`` is an Arrow array; position is the dense id. ``labels=None`` is the identity map over
    ``size`` ids, which costs nothing.

    In a bipartite stream sources and destinations are different kinds of node whose labels may
    coincide (user 5 and item 5). Then ``boundary`` is the number of sources: ids below it are sources,
    the others destinations, and `index` has to be told which ``side`` a label is on.
    """

    __slots__ = ("boundary", "labels", "size")

    def __init__(self, labels: pa.Array | None, size: int | None = None, boundary: int | None = None) -> None:
        if labels is None and size is None:
            raise ValueError("an identity map needs its size")
        if labels is not None:  # one type for all whole numbers and one for all text, so maps compare
            whole = pa.types.is_integer(labels.type)
            labels = labels.cast(pa.int64() if whole else pa.large_string())
        self.labels = labels
        self.size: int = len(labels) if labels is not None else int(size or 0)
        self.boundary = boundary

    @classmethod
    def identity(cls, size: int) -> IdMap:
        return cls(None, size)

    def __len__(self) -> int:
        return self.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IdMap):
            return NotImplemented
        if (self.size, self.boundary) != (other.size, other.boundary):
            return False
        return bool(self._materialized().equals(other._materialized()))

    __hash__ = None  # type: ignore[assignment]  # a container of labels, not a key

    def __repr__(self) -> str:
        kind = "identity" if self.labels is None else str(self.labels.type)
        sides = "" if self.boundary is None else f", the first {self.boundary:,} sources"
        return f"IdMap({self.size:,} nodes, {kind}{sides})"

    def label(self, index: int) -> str | int:
        """What the user calls node ``index``."""
        if not 0 <= index < self.size:
            raise InputError(f"Node {index} does not exist: this stream has nodes 0 to {self.size - 1}.")
        if self.labels is None:
            return int(index)
        value: str | int = self.labels[int(index)].as_py()
        return value

    def side(self, index: int) -> Side | None:
        """Which kind of node ``index`` is; None if the stream is not bipartite."""
        if self.boundary is None:
            return None
        return "src" if index < self.boundary else "dst"

    def index(
        self,
        labels: Sequence[Any] | npt.NDArray[Any] | pa.Array,
        *,
        side: Side | None = None,
        strangers: bool = False,
    ) -> Dense:
        """Dense ids of ``labels``; an unknown label is an error that names it, or -1 if ``strangers`` may
        be among them."""
        try:
            wanted = labels if isinstance(labels, pa.Array) else pa.array(labels)
            wanted = wanted.cast(pa.int64() if self.labels is None else self.labels.type)
        except pa.ArrowException as error:
            raise InputError(f"The nodes of this stream are whole numbers ({error}).") from error
        return self._known(self._find(wanted, side), labels, strangers)

    def index_written(
        self, labels: Sequence[str | int], *, side: Side | None = None, strangers: bool = False
    ) -> npt.NDArray[np.int32]:
        """Dense ids of labels as they are written in a text file or on a command line; see `index`.

        What is text in the stream is looked for as it is written, or else without blanks around it. What is a
        whole number is written like one: 7 is not written ``007``, ``7.0`` or ``7e0``.
        """
        try:
            written = pa.array([str(label) for label in labels], pa.large_string())
        except UnicodeEncodeError as error:  # half a letter, which no file can hold
            raise InputError(f"Node {error.object!r} does not occur in this stream; check it.") from error
        if not self._is_text():
            whole = pc.match_substring_regex(pc.ascii_trim(written, BLANKS), WHOLE_NUMBER)
            if (odd := pc.index(whole, False).as_py()) >= 0:
                raise InputError(
                    "The nodes of this stream are whole numbers, written like 7 or 42; "
                    f"'{labels[odd]}' is not."
                )
        return self._known(self.find_written(written, side=side), labels, strangers)

    def ends_written(
        self, source: Sequence[str | int], destination: Sequence[str | int]
    ) -> tuple[Dense, Dense]:
        """Dense ids of both ends of pairs, as they are written."""
        return self.index_written(source, side="src"), self.index_written(destination, side="dst")

    def find_written(self, written: pa.Array, *, side: Side | None = None) -> npt.NDArray[np.int64]:
        """The same of an array of text, with -1 for what is nobody's id."""
        trimmed = pc.ascii_trim(written, BLANKS)
        if self._is_text():
            found = self._find(written, side)
            return np.where(found < 0, self._find(trimmed, side), found)
        whole = pc.match_substring_regex(trimmed, WHOLE_NUMBER).to_pylist()
        fits = [
            number and len(text) <= 20 and -(1 << 63) <= int(text) < 1 << 63
            for number, text in zip(whole, trimmed.to_pylist(), strict=True)
        ]
        rows = np.flatnonzero(fits)
        found = np.full(len(trimmed), -1, dtype=np.int64)
        found[rows] = self._find(trimmed.take(pa.array(rows)).cast(pa.int64()), side)
        return found

    def _is_text(self) -> bool:
        return self.labels is not None and not pa.types.is_integer(self.labels.type)

    def _find(self, wanted: pa.Array, side: Side | None) -> npt.NDArray[np.int64]:
        """Dense ids of labels of the right type, -1 for those that are nobody's."""
        start, stop = self._range(side)
        if self.labels is None:
            numbers = wanted.to_numpy(zero_copy_only=False)
            return np.where((numbers >= start) & (numbers < stop), numbers, -1)
        position = pc.index_in(wanted, value_set=self.labels.slice(start, stop - start))
        found: npt.NDArray[np.int64] = pc.fill_null(pc.add(position.cast(pa.int64()), start), -1).to_numpy()
        return found

    @staticmethod
    def _known(
        found: npt.NDArray[np.int64], labels: Sequence[Any] | npt.NDArray[Any] | pa.Array, strangers: bool
    ) -> Dense:
        if not strangers and np.any(found < 0):
            unknown = labels[int(np.argmax(found < 0))]
            raise InputError(f"Node '{unknown}' does not occur in this stream; check the spelling.")
        return np.asarray(found, dtype=np.int32)

    def _range(self, side: Side | None) -> tuple[int, int]:
        if self.boundary is None:
            return 0, self.size
        if side is None:
            raise InputError("Sources and destinations of this stream are different kinds; give the side.")
        return (0, self.boundary) if side == "src" else (self.boundary, self.size)

    def _materialized(self) -> pa.Array:
        return self.labels if self.labels is not None else pa.array(np.arange(self.size, dtype=np.int64))

    def save(self, path: Path) -> None:
        """Write the labels, in id order, as a one-column Parquet file."""
        table = pa.table({"label": self._materialized()})
        if self.boundary is not None:
            table = table.replace_schema_metadata({"keat.boundary": str(self.boundary)})
        pq.write_table(table, path)

    @classmethod
    def load(cls, path: Path) -> IdMap:
        """Read what `save` wrote; each label is somebody's alone, or the file is damaged."""
        if not is_file(path):
            raise InputError(f"{path}, the file of the ids, is missing; make what it belongs to again.")
        try:
            with pq.ParquetFile(path) as file:  # not read_table, which takes a folder "a=b" for a column
                table = file.read()
            table.validate(full=True)
            boundary = (table.schema.metadata or {}).get(b"keat.boundary")
            read = cls(_labels_in(table), boundary=None if boundary is None else int(boundary))
            read._require_one_each()
        except PermissionError as error:
            raise unreadable(path, error) from error
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            raise InputError(
                f"{path} is damaged: {reason_of(error)}; make it again from the data."
            ) from error
        return read

    def _require_one_each(self) -> None:
        if self.boundary is not None and not 0 <= self.boundary <= self.size:
            raise ValueError(f"{self.boundary} of {self.size} are said to be sources")
        cut = self.boundary or 0
        for kind in (self._materialized()[:cut], self._materialized()[cut:]):
            if pc.count_distinct(kind, mode="all").as_py() < len(kind):
                raise ValueError("an id is there twice")


def _labels_in(table: pa.Table) -> pa.Array:
    if table.column_names != ["label"]:
        raise ValueError("it needs one column, 'label'")
    labels = table["label"].combine_chunks()
    if not (pa.types.is_integer(labels.type) or is_text(labels.type)):
        raise ValueError(f"they are {labels.type}, neither whole numbers nor text")
    if labels.null_count:
        raise ValueError("one is missing")
    return labels
