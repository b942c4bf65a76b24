"""Reading the benchmarks' CSV files with Arrow, column by position, and numbering nodes as py-tgb does.

py-tgb walks the same files row by row in Python, 3 to 6 µs a row, which is 7 minutes for tgbl-flight;
nothing here loops over rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from keat.errors import InputError

NAME = pa.dictionary(pa.int32(), pa.string())  # a column of names: each distinct one is stored once
INT = pa.int64()
FLOAT = pa.float64()

_BLOCK = 1 << 22  # bytes; more than this and the blocks fall out of the processor's cache


def read_columns(path: Path, types: Mapping[int, pa.DataType]) -> dict[int, pa.ChunkedArray]:
    """The columns at the given positions; the first line is a header and skipped, whatever it says.

    The headers are no help: JODIE's names 5 columns for 176, TGB's differ from file to file.
    """
    if not path.is_file():
        raise InputError(f"{path} does not exist; fetch the dataset again.")
    try:
        table = _read(path, types, use_threads=True)
    except pa.ArrowInvalid:
        try:  # Arrow names the offending row only when it reads with one thread
            table = _read(path, types, use_threads=False)
        except pa.ArrowInvalid as error:
            raise InputError(f"{path} is not the CSV file expected ({error}); fetch it again.") from error
    except pa.ArrowKeyError as error:
        raise InputError(
            f"{path} needs at least {max(types) + 1} columns ({error}); fetch it again."
        ) from error
    columns = {position: table[f"f{position}"] for position in types}
    for position, column in columns.items():
        if column.null_count:
            row = int(np.argmax(pc.is_null(column).to_numpy()))
            raise InputError(
                f"{path} has no number in column {position + 1} of line {row + 2}; fetch it again."
            )
    return columns


def _read(path: Path, types: Mapping[int, pa.DataType], *, use_threads: bool) -> pa.Table:
    names = {f"f{position}": kind for position, kind in types.items()}
    return csv.read_csv(
        path,
        read_options=csv.ReadOptions(
            skip_rows=1, autogenerate_column_names=True, block_size=_BLOCK, use_threads=use_threads
        ),
        convert_options=csv.ConvertOptions(column_types=names, include_columns=list(names)),
    )


def count_columns(path: Path) -> int:
    """How many columns the first line after the header has."""
    if not path.is_file():
        raise InputError(f"{path} does not exist; fetch the dataset again.")
    with path.open(encoding="utf-8", errors="replace") as file:
        file.readline()
        line = file.readline()
    if not line.strip():
        raise InputError(f"{path} has no rows; fetch it again.")
    return line.count(",") + 1


def number_names(*columns: pa.ChunkedArray) -> tuple[list[npt.NDArray[np.int32]], pa.Array]:
    """Number the names of one or more `NAME` columns 0, 1, 2 … in the order in which they first appear,
    reading row by row and within a row from left to right, as py-tgb's readers do.

    Returns the numbers of each column, and the names by number.
    """
    dictionaries, codes = zip(*map(split_dictionary, columns), strict=True)
    merged = pa.concat_arrays(dictionaries).dictionary_encode()  # names that two columns share fall together
    place = merged.indices.to_numpy()
    starts = np.cumsum([0, *map(len, dictionaries)])
    merged_codes = [place[start:][code] for start, code in zip(starts, codes, strict=False)]

    width, rows = len(columns), len(codes[0])
    first = np.full(len(merged.dictionary), width * rows, dtype=np.int64)
    for offset, code in enumerate(merged_codes):
        seen = np.full(len(first), width * rows, dtype=np.int64)
        # Backwards, so that of several rows with the same name the earliest is written last and stays.
        seen[code[::-1]] = np.arange(rows - 1, -1, -1) * width + offset
        np.minimum(first, seen, out=first)
    order = np.argsort(first)
    number = np.empty(len(order), dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return [number[code] for code in merged_codes], merged.dictionary.take(pa.array(order))


def look_up(column: pa.ChunkedArray, names: pa.Array, path: Path, what: str) -> npt.NDArray[np.int32]:
    """The number of each entry of a `NAME` column in ``names``; an unknown one is an error."""
    dictionary, codes = split_dictionary(column)
    place = pc.fill_null(pc.index_in(dictionary, value_set=names), -1).to_numpy(zero_copy_only=False)
    found: npt.NDArray[np.int32] = place.astype(np.int32)[codes]
    if np.any(found < 0):
        row = int(np.argmax(found < 0))
        name = dictionary[int(codes[row])].as_py()
        raise InputError(
            f"{path} names the {what} '{name}' in line {row + 2}, which the edge list does not have; "
            "fetch both files again."
        )
    return found


def refuse_first(
    bad: npt.NDArray[np.bool_], numbers: npt.NDArray[np.float64], path: Path, what: str, why: str
) -> None:
    """An error about the first number that is bad, and the line it is in."""
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"{path} has the {what} {numbers[row]} in line {row + 2}, {why}.")


def split_dictionary(column: pa.ChunkedArray) -> tuple[pa.Array, npt.NDArray[np.int32]]:
    """The distinct names of a `NAME` column, and for each row the place of its name among them."""
    unified = column.unify_dictionaries()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in unified.chunks])
    return unified.chunk(0).dictionary, codes
