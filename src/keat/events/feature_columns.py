"""Feature and label columns → float32 matrix and label array, every value checked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keat.disk import is_file, map_array
from keat.errors import InputError
from keat.events.columns import Column, is_text, to_numpy

Matrix = npt.NDArray[np.float32]
BLOCK = 1 << 16  # rows checked at a time: a mapped matrix is never copied as a whole
CLEAN = "fill in or drop such rows, or leave the column out of the features"
KINDS = "fill in or drop such rows, or, if it holds kinds and not amounts, name the column as categorical"
EXACT = 1 << 24  # whole numbers up to here are themselves in float32


@dataclass(frozen=True, slots=True, eq=False)
class RawColumn:
    """What a column of features is before it is encoded: numbers, or numbers that stand for values."""

    name: str
    width: int  # numbers a row
    values: pa.Array | None = None  # of a categorical column: number k stands for value k


def read_features(
    columns: Sequence[Column], categorical: Collection[str] = (), *, text: str = KINDS
) -> tuple[Matrix, list[RawColumn]]:
    """(N, d): a column of numbers is one feature, a column of equally long lists is as many, and one of
    ``categorical`` values is the number of each. ``text`` is what to do about text among numbers."""
    values: list[pa.Array | None] = []
    blocks: list[npt.NDArray[Any]] = []
    for column in columns:
        kinds = None
        if column.name in categorical:
            block, kinds = _kinds(column)
        else:
            block = _numbers(column, text)
        blocks.append(block)
        values.append(kinds)
    widths = [1 if block.ndim == 1 else block.shape[1] for block in blocks]
    raw = [RawColumn(c.name, width, kinds) for c, width, kinds in zip(columns, widths, values, strict=True)]
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
    return features, raw


def map_features(path: Path, num_events: int) -> Matrix:
    """A ``.npy`` matrix with one row an event, left on disk where it is float32 already."""
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
            "one row an event."
        )
    if len(stored) != num_events:
        raise InputError(
            f"{path} has {len(stored)} rows but there are {num_events} events; write one row an event."
        )
    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite and is found below
        features = np.asarray(stored, dtype=np.float32)
    if (bad := first_not_finite(features)) is not None:
        row, position = bad
        raise InputError(
            f"{path}, column {position + 1}, data row {row + 1}: {stored[row, position]} is not a finite "
            "float32; fill in or drop such rows."
        )
    return features


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


def _kinds(column: Column) -> tuple[npt.NDArray[Any], pa.Array]:
    """(N,) numbers of the values of a column, and the values. One that is missing is the empty text."""
    column = column.plain()
    kind = column.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        column = column.from_bytes()
    elif not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        raise column.error(f"the values are {kind}, not kinds", do="give text or whole numbers")
    written = pc.fill_null(column.data.cast(pa.large_string()), "")
    encoded = pc.utf8_trim_whitespace(written).combine_chunks().dictionary_encode()
    if len(encoded.dictionary) > EXACT:
        raise column.error(f"it has {len(encoded.dictionary):,} values", do="leave it out of the features")
    return encoded.indices.to_numpy(), encoded.dictionary


def _numbers(column: Column, text: str) -> npt.NDArray[Any]:
    """(N,) of a column of numbers, (N, k) of a column of lists of k numbers."""
    column.require_values(CLEAN)
    column = column.plain()
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _matrix(column)
    if is_text(kind):
        row = column.first_not(pa.float64()) or 0
        raise column.error(f"'{column.data[row]}' is not a number", do=text, row=row)
    if not _is_number(kind):
        raise column.error(f"the values are {kind}, not numbers", do=CLEAN)
    return _floats(column.data)


def _matrix(column: Column) -> npt.NDArray[Any]:
    if not _is_number(column.type.value_type):
        raise column.error(f"the lists hold {column.type.value_type}, not numbers", do=CLEAN)
    lengths = to_numpy(pc.list_value_length(column.data))
    if (lengths != lengths[0]).any():
        row = int(np.argmax(lengths != lengths[0]))
        raise column.error(
            f"the list has {lengths[row]} values where the first has {lengths[0]}",
            do="make all lists equally long",
            row=row,
        )
    values = pc.list_flatten(column.data)
    if values.null_count:
        row = pc.index(pc.is_null(values), True).as_py() // int(lengths[0])
        raise column.error("a value in the list is missing", do=CLEAN, row=row)
    return _floats(values).reshape(len(column), int(lengths[0]))


def _is_number(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def _floats(data: pa.ChunkedArray) -> Matrix:
    if pa.types.is_decimal(data.type):
        data = data.cast(pa.float64())
    with np.errstate(over="ignore"):  # too large for float32 becomes infinite, and is found with the others
        return to_numpy(data, np.float32)
