"""Files and frames as Arrow tables: what columns there are, and the wanted ones read."""

from __future__ import annotations

import csv
import difflib
import gzip
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from keat.disk import look_at, unreadable
from keat.errors import InputError
from keat.events.file_column import Column

DELIMITERS = {".csv": ",", ".tsv": "\t"}
WORDS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": " "}
PLURALS = {sign: f"{word}s" for word, sign in WORDS.items()}
BINARY = (".parquet", ".arrow", ".feather")
KNOWN = ".csv, .tsv (or those with .gz), .parquet, .arrow or .feather"
CSV_BLOCK = 8 << 20  # bytes a thread parses at a time
BATCH, BATCH_BYTES = 1 << 17, 16 << 20  # rows that are read at a time, and fewer where they are wide
PAGES = 1 << 20  # bytes of a Parquet column that are read at a time
CONVERSION = re.compile(r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error")


# Given the columns and their types: what a file without types is read as, and others are brought to.
Stream = Callable[[list[str], Mapping[str, pa.DataType]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class Source:
    """Something with named columns. ``read`` loads only those asked for."""

    where: str  # what errors call it
    name: str  # what its stream is called
    columns: list[str]
    read: Callable[[list[str], list[str]], pa.Table]  # given the columns, and which of them are text
    untyped: bool = False  # a text file: what is asked for as text comes as bytes, whatever it looks like
    types: dict[str, pa.DataType] = field(default_factory=dict)  # of the columns of a file that has them
    stream: Stream | None = None  # the same rows in pieces; a frame is in memory anyway

    def numbered(self) -> Source:
        """The same source with columns that are called 1, 2, 3, …"""
        written = dict(zip(numbers(len(self.columns)), self.columns, strict=True))

        def read(columns: list[str], as_text: list[str]) -> pa.Table:
            table = self.read([written[name] for name in columns], [written[name] for name in as_text])
            return table.rename_columns(columns)

        def stream(columns: list[str], types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
            assert self.stream is not None
            there = {written[name]: kind for name, kind in types.items()}
            for batch in self.stream([written[name] for name in columns], there):
                yield batch.rename_columns(columns)

        types = {name: self.types[old] for name, old in written.items() if old in self.types}
        return replace(self, columns=list(written), read=read, types=types, stream=self.stream and stream)


def numbers(width: int) -> list[str]:
    """What columns without a name are called."""
    return [str(place + 1) for place in range(width)]


def sign_of(delimiter: str) -> str:
    """The sign that separates columns, which may be given by its name."""
    sign = WORDS.get(delimiter.lower(), "\t" if delimiter == "\\t" else delimiter)
    if len(sign) != 1 or not sign.isascii() or sign.isalnum() or sign in '"\r\n\0':
        raise InputError(
            f"'{delimiter}' does not separate columns; a delimiter is one sign, such as ; or |, or one of "
            f"the words {', '.join(WORDS)}."
        )
    return sign


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


def open_file(path: Path, delimiter: str | None = None, *, header: bool = True) -> Source:
    """The file's columns; nothing but its header is read yet. Without a header they are numbered. A
    ``delimiter`` makes a text file of whatever is not known to be something else."""
    _require_file(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    kind = suffixes[-1] if suffixes else ""
    if path.suffix.lower() in BINARY:
        opened = _open_parquet(path) if path.suffix.lower() == ".parquet" else _open_arrow(path)
        return opened if header else opened.numbered()
    if delimiter is not None or kind in DELIMITERS:
        return _open_csv(path, delimiter or DELIMITERS[kind], header)
    raise InputError(
        f"Cannot tell what kind of file {path} is; its name should end in {KNOWN}, or say which delimiter "
        "separates its columns."
    )


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


def _open_csv(path: Path, delimiter: str, header: bool) -> Source:
    with _readable(path, "CSV", header):
        first = _first_record(path, delimiter)
    names = [name.strip() for name in first] if header else numbers(len(first))
    written = dict(zip(names, first, strict=True)) if header else {name: name for name in names}
    parse = pacsv.ParseOptions(delimiter=delimiter)

    def load(columns: list[str], as_text: list[str]) -> pa.Table:
        types = {written[name]: pa.binary() for name in as_text}
        convert = pacsv.ConvertOptions(include_columns=[written[c] for c in columns], column_types=types)
        options = pacsv.ReadOptions(block_size=CSV_BLOCK, column_names=None if header else names)
        with _readable(path, "CSV", header):
            try:
                return pacsv.read_csv(path, options, parse, convert)
            except pa.ArrowInvalid:  # line breaks in quotes, or a bad row, whose number only one thread knows
                options.use_threads = False
                careful = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
                return pacsv.read_csv(path, options, careful, convert)

    def read(columns: list[str], as_text: list[str]) -> pa.Table:
        table = load(columns, as_text).rename_columns(columns)
        for name in columns:  # Arrow takes what is not UTF-8 for bytes
            if pa.types.is_binary(table[name].type) and name not in as_text:
                Column(str(path), name, table[name]).from_bytes()
        return table

    def stream(columns: list[str], types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        as_given = {written[name]: kind for name, kind in types.items()}
        convert = pacsv.ConvertOptions(include_columns=[written[c] for c in columns], column_types=as_given)
        options = pacsv.ReadOptions(block_size=CSV_BLOCK, column_names=None if header else names)
        careful = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        with _readable(path, "CSV", header):
            try:
                for batch in pacsv.open_csv(path, options, careful, convert):
                    yield batch.rename_columns(columns)
            except pa.ArrowInvalid as error:
                if unlike := CONVERSION.search(str(error)):
                    raise OtherKindError(names[int(unlike[1])]) from error
                raise

    return Source(str(path), _stem(path), names, read, untyped=True, stream=stream)


def _first_record(path: Path, delimiter: str) -> list[str]:
    """What stands in the first record, as it is written: the names of the columns, if there is a header.

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
    others = {word: sign for word, sign in WORDS.items() if sign in line and sign != " "}
    if len(names) == 1 and others:
        word, sign = next(iter(others.items()))
        raise InputError(
            f"The columns of {path} are separated by {PLURALS[sign]}, not by "
            f"{PLURALS.get(delimiter, repr(delimiter))}; say so with the delimiter '{word}'."
        )
    return names


def _open_parquet(path: Path) -> Source:
    """Not through Arrow's dataset reader, which cuts columns in many chunks that must be joined again."""
    with _readable(path, "Parquet"):
        schema = pq.read_schema(path)

    def read(columns: list[str], _: list[str]) -> pa.Table:
        with _readable(path, "Parquet"), pq.ParquetFile(path) as file:
            return _sound(file.read(columns=columns))

    def stream(columns: list[str], types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        # A buffer makes it read pages as they are needed, and not all of a row group at once.
        with _readable(path, "Parquet"), pq.ParquetFile(path, buffer_size=PAGES, pre_buffer=False) as file:
            groups = [file.metadata.row_group(place) for place in range(file.num_row_groups)]
            rows = _at_a_time(sum(group.total_byte_size for group in groups), file.metadata.num_rows)
            for batch in file.iter_batches(rows, columns=columns, use_threads=False):
                yield _brought_to(types, _sound(batch.select(columns)))

    return Source(str(path), _stem(path), schema.names, read, types=_types(schema), stream=stream)


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

    def stream(columns: list[str], types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        with _readable(path, "Arrow"):
            opened = reader()
            each = opened if isinstance(opened, pa.RecordBatchReader) else _batches(opened)
            for whole in each:
                chosen = _sound(whole.select(columns))
                rows = _at_a_time(chosen.nbytes, len(chosen))
                for start in range(0, len(chosen), rows):
                    yield _brought_to(types, chosen.slice(start, rows))

    with _readable(path, "Arrow"):
        schema = reader().schema
    return Source(str(path), _stem(path), schema.names, read, types=_types(schema), stream=stream)


def _at_a_time(size: int, rows: int) -> int:
    return max(1, min(BATCH, BATCH_BYTES * rows // max(size, 1)))


def _batches(file: pa.ipc.RecordBatchFileReader) -> Iterator[pa.RecordBatch]:
    return (file.get_batch(place) for place in range(file.num_record_batches))


def _types(schema: pa.Schema) -> dict[str, pa.DataType]:
    return {each.name: each.type for each in schema}


def _brought_to(types: Mapping[str, pa.DataType], batch: pa.RecordBatch) -> pa.RecordBatch:
    """The types that the columns of several files have in common."""
    wanted = pa.schema([(name, types[name]) for name in batch.schema.names])
    return batch if batch.schema.equals(wanted) else batch.cast(wanted)


class OtherKindError(Exception):
    """A text file whose column, which is named, is not all of the kind that it is read as."""


T = TypeVar("T", pa.Table, pa.RecordBatch)


def _sound(table: T) -> T:
    """Every offset and every index of a table leads into it. Arrow follows them without looking, so that one
    wrong byte of a file would be read as memory of somebody else's."""
    table.validate(full=True)
    return table


def _stem(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).stem


@contextmanager
def _readable(path: Path, kind: str, header: bool = True) -> Iterator[None]:
    """Whatever Arrow finds wrong with a file becomes one sentence."""
    try:
        yield
    except PermissionError as error:
        raise unreadable(path, error) from error
    except (pa.ArrowException, OSError, EOFError, zlib.error, csv.Error, UnicodeError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        if ragged := re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", reason):
            row, expected, got = map(int, ragged.groups())
            raise InputError(
                f"{path}, data row {row - header}: {got} values where the "
                f"{'header names' if header else 'first row has'} {expected} columns; mend or drop the row."
            ) from error
        raise InputError(
            f"{path} is not a readable {kind} file ({reason[:200]}); write or download it again."
        ) from error
