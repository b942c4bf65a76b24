"""The files of a log, read piece by piece as if they were one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from keat.disk import expanded
from keat.errors import InputError
from keat.events.file_column import Column
from keat.events.file_source import Source
from keat.events.files import open_file
from keat.events.reading_options import Reading
from keat.events.roles import columns_of_roles

# What Arrow takes a column of a text file for: the first of these that all of its values can be.
KINDS = (
    pa.null(),
    pa.int64(),
    pa.bool_(),
    pa.date32(),
    pa.time32("s"),
    pa.timestamp("s"),
    pa.timestamp("s", "UTC"),
    pa.timestamp("ns"),
    pa.timestamp("ns", "UTC"),
    pa.float64(),
    pa.string(),
    pa.binary(),
)
MOST_ROWS = 1 << 22  # of a piece


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Consecutive rows of one file."""

    file: int
    first: int  # of its rows in the file, counted from 0
    rows: int
    columns: Mapping[str, Column]  # by role

    def features(self) -> list[Column]:
        return [column for role, column in self.columns.items() if role.startswith("features ")]


@dataclass(slots=True, eq=False)
class Inputs:
    """Files of one kind and one layout. ``kinds`` are places in `KINDS`, of columns of text files, as far as
    they are known: `loosen` moves one on."""

    paths: list[Path]
    sources: list[Source]
    roles: dict[str, str]
    as_text: list[str]
    kinds: dict[str, int]

    @classmethod
    def open(cls, files: Sequence[str | Path], reading: Reading) -> Inputs:
        if not files:
            raise InputError("There are no files to prepare; give at least one.")
        paths = [expanded(each) for each in files]
        sources = [open_file(path, reading.delimiter, header=reading.header) for path in paths]
        if twice := [path for path in paths if paths.count(path) > 1]:
            raise InputError(f"The file {twice[0]} is given twice; give every file once.")
        features = [] if reading.matrix is not None else list(reading.features)
        named: dict[str, str | None] = {"src": reading.src, "dst": reading.dst, "time": reading.time}
        roles: dict[str, str] = {}
        for source in sources:
            if source.untyped != sources[0].untyped:
                raise InputError(
                    f"{source.where} and {sources[0].where} are files of two kinds, one of text and one with "
                    "types; give files of one kind."
                )
            roles = columns_of_roles(source, named, reading.label, features, header=reading.header)
            named = {role: roles[role] for role in named}  # in the others they are called the same
        timed = [roles["time"]] if reading.time_format is not None else []
        as_text = [roles["src"], roles["dst"], *timed, *reading.categorical]
        inputs = cls(paths, sources, roles, as_text, {})
        if sources[0].untyped:
            inputs.kinds = inputs._kinds_at_first()
        return inputs

    @property
    def where(self) -> str:
        """What notices about the whole call it."""
        more = len(self.sources) - 1
        return self.sources[0].where + (f" and {more} more" if more else "")

    def loosen(self, column: str) -> None:
        """The values of a column of a text file are not all of the kind that it was read as."""
        self.kinds[column] += 1

    def pieces(self, most_bytes: int, file: int | None = None) -> Iterator[Piece]:
        """All rows, or those of one file, in the order of the files."""
        types = self._types()
        for number, source in enumerate(self.sources):
            if file is None or number == file:
                yield from self._pieces_of(number, source, types, most_bytes)

    def _kinds_at_first(self) -> dict[str, int]:
        """What the beginning of the first text file looks like: the rest can only be of a later kind."""
        stream = self.sources[0].stream
        assert stream is not None
        columns = [column for column in self.roles.values() if column not in self.as_text]
        begin = next(stream([*self.roles.values()], {name: pa.binary() for name in self.as_text}), None)
        if begin is None:
            return dict.fromkeys(columns, 0)
        return {name: KINDS.index(begin.schema.field(name).type) for name in columns}

    def _pieces_of(
        self, number: int, source: Source, types: Mapping[str, pa.DataType], most_bytes: int
    ) -> Iterator[Piece]:
        assert source.stream is not None  # it is a file
        held: list[pa.RecordBatch] = []
        first = rows = size = 0
        for batch in source.stream([*self.roles.values()], types):
            if held and (size + batch.nbytes > most_bytes or rows + len(batch) > MOST_ROWS):
                yield self._piece(number, source, first, held)
                held, first, rows, size = [], first + rows, 0, 0
            if len(batch):
                held.append(batch)
                rows, size = rows + len(batch), size + batch.nbytes
        if held:
            yield self._piece(number, source, first, held)

    def _piece(self, number: int, source: Source, first: int, batches: list[pa.RecordBatch]) -> Piece:
        table = pa.Table.from_batches(batches)
        columns = {role: Column(source.where, name, table[name], first) for role, name in self.roles.items()}
        for name in self.kinds:  # Arrow takes what is not UTF-8 for bytes
            if pa.types.is_binary(table[name].type):
                Column(source.where, name, table[name], first).from_bytes()
        return Piece(number, first, table.num_rows, columns)

    def _types(self) -> dict[str, pa.DataType]:
        """Of each column, in all files."""
        if self.sources[0].untyped:
            return {name: pa.binary() for name in self.as_text} | {
                name: KINDS[place] for name, place in self.kinds.items()
            }
        types: dict[str, pa.DataType] = {}
        for source in self.sources:
            for name in self.roles.values():
                types[name] = _common(source, name, types.get(name, source.types[name]), self.sources[0])
        return types


def _common(source: Source, name: str, before: pa.DataType, first: Source) -> pa.DataType:
    """The type that holds all values of a column of two files."""
    kinds = [pa.schema([(name, kind)]) for kind in (before, source.types[name])]
    try:
        return pa.unify_schemas(kinds, promote_options="permissive").field(0).type
    except pa.ArrowException as error:
        raise InputError(
            f"{source.where}, column '{name}': the values are {source.types[name]} where those of "
            f"{first.where} are {before}; give files of one layout."
        ) from error
