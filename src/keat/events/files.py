"""Files and frames as Arrow tables: what columns there are, and the wanted ones read."""

from __future__ import annotations

import csv
import difflib
import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from keat.disk import look_at, reason_of
from keat.errors import InputError
from keat.events.columns import Column

DELIMITERS = {".csv": ",", ".tsv": "\t"}
SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons"}
KNOWN = ".csv, .tsv (or those with .gz), .parquet, .arrow or .feather"
CSV_BLOCK = 8 << 20  # bytes a thread parses at a time


@dataclass(frozen=True, slots=True)
class Source:
    """Something with named columns. ``read`` loads only those asked for."""

    where: str  # what errors call it
    name: str  # what its stream is called
    columns: list[str]
    read: Callable[[list[str], list[str]], pa.Table]  # given the columns, and which of them are ids
    untyped: bool = False  # a text file: its ids come as bytes, whatever they look like


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
    return Source(where, "events", table.column_names, lambda columns, _: table.select(columns))


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
    kind = look_at(path)
    if kind == "folder":
        raise InputError(f"{path} is a folder; give a file.")
    if kind is None:
        raise InputError(f"The file {path} does not exist; {_nearest(path)}")
    if path.stat().st_size == 0:
        raise InputError(f"The file {path} is empty (0 bytes); write or download it again.")


def _nearest(path: Path) -> str:
    try:
        if path.is_symlink():
            return "it is a link to something that is gone."
        if look_at(path.parent) == "file":
            return f"{path.parent} is a file and no folder."
        near = difflib.get_close_matches(path.name, [file.name for file in path.parent.iterdir()], n=1)
    except OSError:  # the folder is not there either, or cannot be listed
        near = []
    return f"did you mean '{path.parent / near[0]}'?" if near else "check the path."


def _open_csv(path: Path, delimiter: str) -> Source:
    with _readable(path, "CSV"):
        header = _csv_header(path, delimiter)
    names = [name.strip() for name in header]
    written = dict(zip(names, header, strict=True))
    parse = pacsv.ParseOptions(delimiter=delimiter)

    def load(columns: list[str], ids: list[str]) -> pa.Table:
        types = {written[name]: pa.binary() for name in ids}
        convert = pacsv.ConvertOptions(include_columns=[written[c] for c in columns], column_types=types)
        options = pacsv.ReadOptions(block_size=CSV_BLOCK)
        with _readable(path, "CSV"):
            try:
                return pacsv.read_csv(path, options, parse, convert)
            except pa.ArrowInvalid:  # line breaks in quotes, or a bad row, whose number only one thread knows
                options.use_threads = False
                careful = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
                return pacsv.read_csv(path, options, careful, convert)

    def read(columns: list[str], ids: list[str]) -> pa.Table:
        table = load(columns, ids).rename_columns(columns)
        for name in columns:  # Arrow takes what is not UTF-8 for bytes
            if pa.types.is_binary(table[name].type) and name not in ids:
                Column(str(path), name, table[name]).from_bytes()
        return table

    return Source(str(path), _stem(path), names, read, untyped=True)


def _csv_header(path: Path, delimiter: str) -> list[str]:
    """The names in the first record, as they are written.

    Not through Arrow, which minds bad rows further down; a Python callback that lets it skip them can still
    be held by its threads when the interpreter ends, and abort it.
    """
    unpack = gzip.open if path.suffix.lower() == ".gz" else open
    with unpack(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        names = next(filter(None, csv.reader(file, delimiter=delimiter)), None)
    if names is None:
        raise InputError(f"The file {path} is empty; write or download it again.")
    line = "".join(names)
    if "\0" in line or any("\udc80" <= letter <= "\udcff" for letter in line):
        raise InputError(f"{path} is not UTF-8 text; save it in UTF-8.")
    if len(names) == 1 and (other := next((sign for sign in SEPARATORS if sign in line), None)):
        raise InputError(
            f"The columns of {path} are separated by {SEPARATORS[other]}, not by {SEPARATORS[delimiter]}; "
            "save it with commas as .csv or with tabs as .tsv."
        )
    return names


def _open_parquet(path: Path) -> Source:
    """Not through Arrow's dataset reader, which cuts columns in many chunks that must be joined again."""
    with _readable(path, "Parquet"):
        names = pq.read_schema(path).names

    def read(columns: list[str], _: list[str]) -> pa.Table:
        with _readable(path, "Parquet"), pq.ParquetFile(path) as file:
            return _sound(file.read(columns=columns))

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

    def read(columns: list[str], _: list[str]) -> pa.Table:
        with _readable(path, "Arrow"):
            return _sound(reader().read_all().select(columns))

    with _readable(path, "Arrow"):
        names = reader().schema.names
    return Source(str(path), _stem(path), names, read)


def _sound(table: pa.Table) -> pa.Table:
    """Every offset and every index of a table leads into it. Arrow follows them without looking, so that one
    wrong byte of a file would be read as memory of somebody else's."""
    table.validate(full=True)
    return table


def _stem(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).stem


@contextmanager
def _readable(path: Path, kind: str) -> Iterator[None]:
    """Whatever Arrow finds wrong with a file becomes one sentence."""
    try:
        yield
    except PermissionError as error:
        raise InputError(f"Cannot read {path} ({reason_of(error)}); check its rights.") from error
    except (pa.ArrowException, OSError, EOFError, zlib.error, csv.Error, UnicodeError) as error:
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
