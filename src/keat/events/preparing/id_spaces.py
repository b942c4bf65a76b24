"""Ids that are collected piece by piece, then looked up. Nodes have to fit into memory, events need not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keat.errors import InputError
from keat.events.dense_ids import FILL, MISSING, Ids, first_rows, hashed
from keat.events.file_column import Column, to_numpy

RUNS = 1 << 20  # integers that are collected before they are sorted into the known ones


class IdSpace(Protocol):
    """Distinct ids of one kind of node."""

    def look(self, columns: list[Column]) -> None:
        """At a piece of the columns that name such nodes."""

    def tell(self) -> None:
        """Notices about all that was seen."""

    def labels(self) -> pa.Array:
        """All ids, in the order of their dense numbers."""

    def size(self) -> int:
        """Bytes that the ids, and what finds them, take by now, about."""


@dataclass(slots=True, eq=False)
class IntegerIds:
    """Integers, in their own order: a table of those that occur as long as they are near each other, else a
    sorted list, and what has not been sorted into it yet."""

    table: int  # the widest range of integers that has a table with a place for each
    low: int = 0
    present: npt.NDArray[np.bool_] | None = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    known: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    waiting: list[npt.NDArray[np.int64]] = field(default_factory=list)

    def look(self, columns: list[Column]) -> None:
        for column in columns:
            values = to_numpy(column.data, np.int64)
            if self.present is not None:
                self._widen(int(values.min()), int(values.max()))
            if self.present is not None:
                self.present[values - self.low] = True
            else:
                self._collect(column.data.unique())

    def tell(self) -> None:
        """There is nothing odd about numbers."""

    def labels(self) -> pa.Array:
        if self.present is not None:
            return pa.array(np.flatnonzero(self.present) + self.low, pa.int64())
        self._merge()
        return pa.array(self.known)

    def size(self) -> int:
        if self.present is not None:
            return 5 * len(self.present)  # and four for the place of each
        return 24 * (len(self.known) + sum(map(len, self.waiting)))  # which are sorted together

    def _widen(self, low: int, high: int) -> None:
        """Make room for a range of integers, or give the table up."""
        assert self.present is not None
        size = len(self.present)
        if not size:
            self.low = low
        new_low, new_high = min(low, self.low), max(high, self.low + size - 1)
        if new_high - new_low >= self.table:
            self.known, self.present = np.flatnonzero(self.present) + self.low, None
            return
        if new_low == self.low and new_high < self.low + size:
            return
        wider = np.zeros(min(max(new_high - new_low + 1, 2 * size), self.table), dtype=np.bool_)
        wider[self.low - new_low : self.low - new_low + size] = self.present
        self.low, self.present = new_low, wider

    def _collect(self, values: pa.Array) -> None:
        self.waiting.append(values.cast(pa.int64()).to_numpy())
        if sum(map(len, self.waiting)) > max(RUNS, len(self.known)):
            self._merge()

    def _merge(self) -> None:
        self.known, self.waiting = np.unique(np.concatenate([self.known, *self.waiting])), []


@dataclass(slots=True, eq=False)
class TextIds:
    """Texts, in order of first appearance, row by row."""

    known: pa.Array = field(default_factory=lambda: pa.array([], pa.large_string()))
    notices: list[tuple[Column, str, int]] = field(default_factory=list)

    def look(self, columns: list[Column]) -> None:
        names, first = _first_seen(columns)
        new = pc.is_null(pc.index_in(names, value_set=self.known)).to_numpy(zero_copy_only=False)
        names, first = names.filter(pa.array(new)), first[new]
        odd = pc.is_in(names, value_set=pa.array(["", *MISSING], names.type)).to_numpy(zero_copy_only=False)
        for place in np.flatnonzero(odd):
            row, position = divmod(int(first[place]), len(columns))
            if not (text := names[int(place)].as_py()):
                raise columns[position].error("the value is missing", do=FILL, row=row)
            self.notices.append((columns[position].without_data(), text, row))
        self.known = pa.concat_arrays([self.known, names])

    def tell(self) -> None:
        for column, text, row in self.notices:
            column.notice(
                f"the id '{text}' looks like a missing value and is a node like any other; "
                "drop such rows if it is none",
                row,
            )

    def labels(self) -> pa.Array:
        return self.known

    def size(self) -> int:
        return 2 * int(self.known.nbytes) + 32 * len(self.known)  # with the table that finds them


def _first_seen(columns: list[Column]) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """The distinct texts of columns in the order in which they appear, row by row, and where that is: row
    times the number of columns, plus the column."""
    parts = [hashed(column.data) for column in columns]
    joined = pa.concat_arrays([labels for _, labels in parts]).dictionary_encode()
    first = np.full(len(joined.dictionary), np.iinfo(np.int64).max)
    seen = [first_rows(codes) * len(columns) + position for position, (codes, _) in enumerate(parts)]
    np.minimum.at(first, joined.indices.to_numpy(), np.concatenate(seen))
    order = np.argsort(first)
    return joined.dictionary.take(pa.array(order)), first[order]


class IdLookup:
    """Dense ids of a piece of a column, each of whose values is among the labels."""

    def __init__(self, labels: pa.Array, table: int) -> None:
        self.labels = labels
        self._rank: npt.NDArray[np.int32] | None = None
        self._low = 0
        self._sorted: npt.NDArray[np.int64] | None = None
        if pa.types.is_integer(labels.type):
            values = labels.to_numpy()
            self._low, high = int(values[0]), int(values[-1])
            self._sorted = values
            if high - self._low < table:
                self._rank = np.zeros(high - self._low + 1, dtype=np.int32)
                self._rank[values - self._low] = np.arange(len(values), dtype=np.int32)

    def index(self, column: Column) -> Ids:
        if self._rank is not None:
            ranks: Ids = self._rank[to_numpy(column.data, np.int64) - self._low]
            return ranks
        if self._sorted is None:
            codes, texts = hashed(column.data)  # there are far fewer of them than rows
            found: npt.NDArray[Any] = pc.index_in(texts, value_set=self.labels).to_numpy()
        else:
            codes, values = _codes(column.data)
            numbers = values.to_numpy()
            order = np.argsort(numbers)  # neighbours are looked for together, which is kind to the cache
            found = np.empty(len(numbers), dtype=np.int32)
            found[order] = np.searchsorted(self._sorted, numbers[order])
        dense: Ids = found.astype(np.int32, copy=False)[codes]
        return dense


def _codes(data: pa.ChunkedArray) -> tuple[Ids, pa.Array]:
    encoded = data.cast(pa.int64()).combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy(), encoded.dictionary


def require_room(size: int, memory: int) -> None:
    """Ids leave half of the memory for everything else."""
    if 2 * size > memory:
        raise InputError(
            f"The ids of these nodes alone need more than {size / 1e9:.2g} GB, and no more than half of the "
            f"memory, which is {memory / 1e9:.2g} GB, can be theirs; allow more memory."
        )
