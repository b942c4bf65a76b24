"""Feature and label columns → float32 matrix and label array, every value checked."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keat.disk import is_file, map_array
from keat.errors import InputError
from keat.events.file_column import Column, is_text, to_numpy

Matrix = npt.NDArray[np.float32]
BLOCK = 1 << 16  # rows checked at a time: a mapped matrix is never copied as a whole
CLEAN = "fill in or drop such rows, or leave the column out of the features"
KINDS = "fill in or drop such rows, or, if it holds kinds and not amounts, name the column as categorical"
POINT = "write it with a decimal point, as in 4.50 (in Python, pandas.read_csv(…, decimal=',') does)"
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
EXACT = 1 << 24  # whole numbers up to here are themselves in float32


@dataclass(frozen=True, slots=True, eq=False)
class RawColumn:
    """What a column of features is before it is encoded: numbers, or numbers that stand for values."""

    name: str
    width: int  # numbers in each row
    values: pa.Array | None = None  # of a categorical column: number k stands for value k


def read_features(
    columns: Sequence[Column], categorical: Collection[str] = (), *, text: str = KINDS
) -> tuple[Matrix, list[RawColumn]]:
    """(N, d): a column of numbers is one feature, a column of equally long lists is as many, and one of
    ``categorical`` values is the number of each. ``text`` is what to do about text among numbers."""
    reading = FeatureReading(tuple(categorical), text)
    matrix = reading.look(columns)
    reading.tell()
    return matrix, reading.raw


@dataclass(slots=True)
class FeatureReading:
    """Columns of features, read whole or piece by piece: `raw` is what is known of each by now."""

    categorical: tuple[str, ...]
    text: str = KINDS  # what to do about text among numbers
    raw: list[RawColumn] = field(default_factory=list)
    _refusal: InputError | None = None  # of text that may yet turn out to be no numbers further down

    def look(self, columns: Sequence[Column]) -> Matrix:
        """(N, d) of a piece that is sound."""
        known = self.raw or [RawColumn(column.name, 0) for column in columns]
        blocks: list[npt.NDArray[Any]] = []
        self.raw, first = [], not self.raw
        for column, before in zip(columns, known, strict=True):
            kinds = before.values
            if column.name in self.categorical:
                block, kinds = _kinds(column, kinds)
            else:
                block = self._numbers(column, None if first else before.width)
            blocks.append(block)
            self.raw.append(RawColumn(column.name, 1 if block.ndim == 1 else block.shape[1], kinds))
        widths = [column.width for column in self.raw]
        if len(blocks) == 1:
            features = blocks[0].reshape(-1, widths[0]).astype(np.float32, copy=False)
        else:
            features = np.empty((len(columns[0]), sum(widths)), dtype=np.float32)
            for block, width, end in zip(blocks, widths, np.cumsum(widths), strict=True):
                features[:, end - width : end] = block.reshape(-1, width)
        if (bad := first_not_finite(features)) is not None:
            row, position = bad
            column = columns[int(np.searchsorted(np.cumsum(widths), position, side="right"))]
            raise column.error(f"{column.data[row]} is not a finite float32", do=CLEAN, row=row)
        return features

    def tell(self) -> None:
        """What is wrong with columns as a whole."""
        if self._refusal is not None:
            raise self._refusal

    def _numbers(self, column: Column, width: int | None) -> npt.NDArray[Any]:
        """(N,) of a column of numbers, (N, k) of a column of lists of k numbers, which are ``width`` where
        that is known."""
        column.require_values(CLEAN)
        column = column.plain()
        kind = column.type
        if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            return _matrix(column, width)
        if is_text(kind):
            row = column.first_not(pa.float64())
            value = str(column.data[row or 0])
            do = POINT if DECIMAL_COMMA.fullmatch(value) else self.text
            refusal = column.error(f"'{value}' is not a number", do=do, row=row or 0)
            if row is not None:
                raise refusal
            self._refusal = self._refusal or refusal
            return np.zeros(len(column), dtype=np.float32)
        if not _is_number(kind):
            raise column.error(f"the values are {kind}, not numbers", do=CLEAN)
        return _floats(column.data)


def map_features(path: Path, num_events: int) -> Matrix:
    """A ``.npy`` matrix with one row for each event, left on disk where it is float32 already."""
    stored = stored_matrix(path, num_events)
    if stored.dtype == np.float32:
        return stored
    return np.asarray(stored, dtype=np.float32)


def stored_matrix(path: Path, num_events: int) -> npt.NDArray[Any]:
    """A ``.npy`` matrix with one row for each event, every number of which is a finite float32; mapped."""
    if not is_file(path):
        raise InputError(f"The feature file {path} does not exist; check the path.")
    try:
        stored = map_array(path)
    except ValueError as error:
        raise InputError(
            f"{path} is not a readable .npy file ({error}); write it with numpy.save."
        ) from error
    if stored.ndim != 2 or stored.dtype.kind not in "fiub":
        raise InputError(
            f"{path} holds {stored.dtype} of shape {stored.shape}; features are a matrix of numbers, "
            "one row for each event."
        )
    if len(stored) != num_events:
        raise InputError(
            f"{path} has {len(stored)} rows but there are {num_events} events; write one row for each event."
        )
    for start in range(0, len(stored), BLOCK):
        with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite and is found
            block = stored[start : start + BLOCK].astype(np.float32, copy=False)
        if (bad := first_not_finite(block)) is not None:
            row, position = start + bad[0], bad[1]
            raise InputError(
                f"{path}, column {position + 1}, data row {row + 1}: {stored[row, position]} is not a finite "
                "float32; fill in or drop such rows."
            )
    return stored


def read_labels(column: Column) -> npt.NDArray[Any]:
    """Whole numbers and booleans as int64, other numbers as float32."""
    column.require_values("give every event a label or read the stream without labels")
    column = column.plain()
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        column = column.cast(pa.int64(), "{value} is beyond 64-bit integers", do="use smaller labels")
        return to_numpy(column.data, np.int64)
    if not pa.types.is_floating(kind):
        raise column.error(f"labels must be numbers, not {kind}", do="encode the classes as 0, 1, 2, …")
    labels = to_numpy(column.data, np.float32)
    if (bad := first_not_finite(labels[:, None])) is not None:
        row = bad[0]
        raise column.error(f"the label is {column.data[row]}", do="give every event a label", row=row)
    return labels


def first_not_finite(matrix: npt.NDArray[np.floating]) -> tuple[int, int] | None:
    """(row, position) of the first NaN or infinity, row by row."""
    for start in range(0, len(matrix), BLOCK):
        finite = np.isfinite(matrix[start : start + BLOCK])
        if not finite.all():
            row, position = divmod(int(np.argmin(finite)), matrix.shape[1])
            return start + row, position
    return None


def _kinds(column: Column, known: pa.Array | None) -> tuple[npt.NDArray[Any], pa.Array]:
    """(N,) numbers of the values of a column, and the values, those that are known before others. One that
    is missing is the empty text."""
    column = column.decoded()
    kind = column.type
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        raise column.error(f"the values are {kind}, not kinds", do="give text or whole numbers")
    written = pc.fill_null(column.data.cast(pa.large_string()), "")
    encoded = pc.utf8_trim_whitespace(written).combine_chunks().dictionary_encode()
    codes, values = encoded.indices.to_numpy(), encoded.dictionary
    if known is not None:
        places = pc.index_in(values, value_set=known)
        new = values.filter(pc.is_null(places))
        known = pa.concat_arrays([known, new])
        codes, values = pc.index_in(values, value_set=known).to_numpy()[codes], known
    if len(values) > EXACT:
        raise column.error(f"it has more than {EXACT:,} values", do="leave it out of the features")
    return codes, values


def _matrix(column: Column, width: int | None) -> npt.NDArray[Any]:
    if not _is_number(column.type.value_type):
        raise column.error(f"the lists hold {column.type.value_type}, not numbers", do=CLEAN)
    lengths = to_numpy(pc.list_value_length(column.data))
    first = int(lengths[0]) if width is None else width
    column.refuse(
        lengths != first,
        lambda row: f"the list has {lengths[row]} values where the first has {first}",
        do="make all lists equally long",
    )
    values = pc.list_flatten(column.data)
    if values.null_count:
        row = pc.index(pc.is_null(values), True).as_py() // first
        raise column.error("a value in the list is missing", do=CLEAN, row=row)
    return _floats(values).reshape(len(column), first)


def _is_number(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def _floats(data: pa.ChunkedArray) -> Matrix:
    if pa.types.is_decimal(data.type):
        data = data.cast(pa.float64())
    with np.errstate(over="ignore"):  # too large for float32 becomes infinite, and is found with the others
        return to_numpy(data, np.float32)
