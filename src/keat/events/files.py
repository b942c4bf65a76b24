"""Files and frames as Arrow tables: what columns there are, and the wanted ones read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from keat.errors import InputError

DELIMITERS = {".csv": ",", ".tsv": "\t"}
KNOWN = ".csv, .tsv (or those with .gz), .parquet, .arrow or .feather"
CSV_BLOCK = 8 << 20  # bytes a thread parses at a time


@dataclass(frozen=True, slots=True)
class Source:
    """Something with named columns. ``read`` loads only those asked for."""

    where: str  # what errors call it
    name: str  # what its stream is called
    columns: list[str]
    read: Callable[[list[str]], pa.Table]


def open_frame(frame: Any) -> Source:
    """pyarrow, pandas, polars or anything else that speaks the Arrow PyCapsule protocol."""
    where = f"{type(frame).__module__.split('.')[0]} {type(frame).__name__}"
    if not (hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__")):
        raise InputError(
            f"Cannot read events from a {where}; give a path or a pyarrow, pandas or polars table."
        )
    try:
        table = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = "; ".join(str(part) for part in error.args)
        raise InputError(f"Arrow cannot read the {where} ({reason}); mend or drop that column.") from error
    return Source(where, "events", table.column_names, table.select)


def open_file(path: Path) -> Source:
    """The file's columns; nothing but its header is read yet."""
    _require_file(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    kind = suffixes[-1] if suffixes else ""
    if kind in DELIMITERS:
        return _open_csv(path, DELIMITERS[kind])
    if path.suffix.lower() == ".parquet":
        return _open_parquet(path)
    if path.suffix.lower() in (".arrow", ".feather"):
        return _open_arrow(path)
    raise InputError(f"Cannot tell what kind of file {path} is; its name should end in {KNOWN}.")


def _require_file(path: Path) -> None:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        siblings = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, siblings, n=1)
        hint = f"did you mean '{path.parent / near[0]}'?" if near else "check the path."
        raise InputError(f"The file {path} does not exist; {hint}") from None
    except OSError as error:
        raise InputError(f"Cannot read {path} ({error.strerror}); check the path and its rights.") from error
    if size == 0:
        raise InputError(f"The file {path} is empty (0 bytes); write or download it again.")


def _open_csv(path: Path, delimiter: str) -> Source:
    parse = pacsv.ParseOptions(delimiter=delimiter)

    def read(columns: list[str]) -> pa.Table:
        convert = pacsv.ConvertOptions(include_columns=columns)
        options = pacsv.ReadOptions(block_size=CSV_BLOCK)
        with _readable(path, "CSV"):
            try:
                return pacsv.read_csv(path, options, parse, convert)
            except pa.ArrowInvalid:  # line breaks in quotes, or a bad row, whose number only one thread knows
                options.use_threads = False
                careful = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
                return pacsv.read_csv(path, options, careful, convert)

    with _readable(path, "CSV"):
        nothing_but_names = pacsv.ParseOptions(delimiter=delimiter, invalid_row_handler=lambda _: "skip")
        with pacsv.open_csv(path, parse_options=nothing_but_names) as reader:
            names = reader.schema.names
    return Source(str(path), _stem(path), names, read)


def _open_parquet(path: Path) -> Source:
    """Not through Arrow's dataset reader, which cuts columns in many chunks that must be joined again."""
    with _readable(path, "Parquet"):
        names = pq.read_schema(path).names

    def read(columns: list[str]) -> pa.Table:
        with _readable(path, "Parquet"), pq.ParquetFile(path) as file:
            return file.read(columns=columns)

    return Source(str(path), _stem(path), names, read)


def _open_arrow(path: Path) -> Source:
    """Arrow's own format, mapped into memory: an uncompressed column is never copied.

    Columns are chosen after mapping, since Arrow copies the whole file when told which ones to read.
    """

    def reader() -> Any:
        try:
            return pa.ipc.open_file(pa.memory_map(str(path)))
        except pa.ArrowInvalid:  # the other flavour, written without a footer
            return pa.ipc.open_stream(pa.memory_map(str(path)))

    def read(columns: list[str]) -> pa.Table:
        with _readable(path, "Arrow"):
            return reader().read_all().select(columns)

    with _readable(path, "Arrow"):
        names = reader().schema.names
    return Source(str(path), _stem(path), names, read)


def _stem(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).stem


@contextmanager
def _readable(path: Path, kind: str) -> Iterator[None]:
    """Whatever Arrow finds wrong with a file becomes one sentence."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        if ragged := re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", reason):
            row, expected, got = map(int, ragged.groups())
            raise InputError(
                f"{path}, data row {row - 1}: {got} values where the header names {expected} columns; "
                "mend or drop the row."
            ) from error
        raise InputError(
            f"{path} is not a readable {kind} file ({reason[:200]}); write or download it again."
        ) from error
