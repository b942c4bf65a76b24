"""A source of events: something with named columns, whose rows are read when they are asked for."""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from keat.disk import unreadable
from keat.errors import InputError

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


def stem(path: Path) -> str:
    """A file's name without what says its kind."""
    return Path(path.name.removesuffix(".gz")).stem


@contextmanager
def readable(path: Path, kind: str, header: bool = True) -> Iterator[None]:
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
