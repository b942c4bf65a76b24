"""Parquet and Arrow files as sources: columns have types, and nothing in a file is taken on trust."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from keat.events.file_source import Source, readable, stem

BATCH, BATCH_BYTES = 1 << 17, 16 << 20  # rows that are read at a time, and fewer where they are wide
PAGES = 1 << 20  # bytes of a Parquet column that are read at a time


def open_parquet(path: Path) -> Source:
    """Not through Arrow's dataset reader, which cuts columns in many chunks that must be joined again."""
    with readable(path, "Parquet"):
        schema = pq.read_schema(path)

    def read(columns: list[str], _: list[str]) -> pa.Table:
        with readable(path, "Parquet"), pq.ParquetFile(path) as file:
            return _sound(file.read(columns=columns))

    def stream(columns: list[str], types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        # A buffer makes it read pages as they are needed, and not all of a row group at once.
        with readable(path, "Parquet"), pq.ParquetFile(path, buffer_size=PAGES, pre_buffer=False) as file:
            groups = [file.metadata.row_group(place) for place in range(file.num_row_groups)]
            rows = _at_a_time(sum(group.total_byte_size for group in groups), file.metadata.num_rows)
            for batch in file.iter_batches(rows, columns=columns, use_threads=False):
                yield _brought_to(types, _sound(batch.select(columns)))

    return Source(str(path), stem(path), schema.names, read, types=_types(schema), stream=stream)


def open_arrow(path: Path) -> Source:
    """Arrow's own format, mapped into memory: an uncompressed column is never copied.

    Columns are chosen after mapping, since Arrow copies the whole file when told which ones to read.
    """

    def reader() -> Any:
        try:
            return pa.ipc.open_file(pa.memory_map(str(path)))
        except pa.ArrowInvalid:  # the other flavour, written without a footer
            return pa.ipc.open_stream(pa.memory_map(str(path)))

    def read(columns: list[str], _: list[str]) -> pa.Table:
        with readable(path, "Arrow"):
            return _sound(reader().read_all().select(columns))

    def stream(columns: list[str], types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        with readable(path, "Arrow"):
            opened = reader()
            each = opened if isinstance(opened, pa.RecordBatchReader) else _batches(opened)
            for whole in each:
                chosen = _sound(whole.select(columns))
                rows = _at_a_time(chosen.nbytes, len(chosen))
                for start in range(0, len(chosen), rows):
                    yield _brought_to(types, chosen.slice(start, rows))

    with readable(path, "Arrow"):
        schema = reader().schema
    return Source(str(path), stem(path), schema.names, read, types=_types(schema), stream=stream)


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


T = TypeVar("T", pa.Table, pa.RecordBatch)


def _sound(table: T) -> T:
    """Every offset and every index of a table leads into it. Arrow follows them without looking, so that one
    wrong byte of a file would be read as memory of somebody else's."""
    table.validate(full=True)
    return table
