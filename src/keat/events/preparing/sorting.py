"""An external sort by time: rows go into buckets of consecutive times, and each is sorted into its place.

Within a bucket rows are in the order of files and of rows, and the sort is stable, so events of equal time
stay in the order in which they were given. A log that is in order already is written straight to its place.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from keat.events.preparing.column_files import ColumnFiles
from keat.events.preparing.row_reader import Records, RowReader
from keat.events.preparing.time_cuts import Times, is_one_time
from keat.events.preparing.workplace import Workplace

Step = Callable[[int], None]  # hears of rows that are done
Counts = npt.NDArray[np.int64]


def write_in_order(rows: RowReader, columns: ColumnFiles, place: Workplace, step: Step) -> None:
    """Each file to its place, which is where the files before it end."""
    for file, start in enumerate(rows.starts[:-1]):
        if not place.is_done(f"file-{file}"):
            row = start
            for records in rows.records(file):
                _write(columns, row, records)
                row += len(records)
                step(len(records))
            columns.sync()
            place.done(f"file-{file}")
        else:
            step(rows.survey.facts.rows[file])


def scatter(rows: RowReader, place: Workplace, step: Step) -> Counts:
    """Every file into a part of each bucket; returns how many rows (of each file) are (in each bucket)."""
    counts = []
    for file in range(len(rows.survey.facts.rows)):
        if place.is_done(f"file-{file}"):
            step(rows.survey.facts.rows[file])
        else:
            found = _scatter_file(rows, file, _parts(place, file), step)
            place.done(f"file-{file}", found.tolist())
        counts.append(place.told(f"file-{file}"))
    return np.array(counts, dtype=np.int64)


def _scatter_file(rows: RowReader, file: int, folder: Path, step: Step) -> Counts:
    begins = np.array(rows.survey.facts.begins, dtype=np.int64)
    counts = np.zeros(len(begins), dtype=np.int64)
    shutil.rmtree(folder, ignore_errors=True)  # of an attempt that was interrupted
    folder.mkdir(parents=True)
    for records in rows.records(file):
        bucket = np.searchsorted(begins, records["t"], side="right") - 1
        if (bucket[1:] < bucket[:-1]).any():
            few = bucket.astype(np.uint16) if len(begins) <= 1 << 16 else bucket  # which are sorted by digits
            order = np.argsort(few, kind="stable")
            records, bucket = records[order], bucket[order]
        cut = np.flatnonzero(np.diff(bucket)) + 1
        for part, number in zip(np.split(records, cut), bucket[np.append(0, cut)].tolist(), strict=True):
            with (folder / str(number)).open("ab") as file_of_part:  # not kept open: there may be thousands
                file_of_part.write(part.data)
            counts[number] += len(part)
        step(len(records))
    for number in np.flatnonzero(counts):
        with (folder / str(number)).open("rb") as file_of_part:
            os.fsync(file_of_part.fileno())
    return counts


def gather(rows: RowReader, counts: Counts, columns: ColumnFiles, place: Workplace, step: Step) -> None:
    """Every bucket, sorted, to its place, which is where the buckets before it end."""
    begins = np.array(rows.survey.facts.begins, dtype=np.int64)
    sizes = counts.sum(axis=0)
    for bucket, (size, end) in enumerate(zip(sizes.tolist(), np.cumsum(sizes).tolist(), strict=True)):
        parts = [_parts(place, file) / str(bucket) for file in np.flatnonzero(counts[:, bucket]).tolist()]
        if not place.is_done(f"bucket-{bucket}"):
            if is_one_time(begins, bucket):
                _copy(parts, rows, columns, end - size)
            else:
                _write(columns, end - size, *_sorted(_records(parts, rows.record, size)))
            columns.sync()
            place.done(f"bucket-{bucket}")
        for part in parts:
            part.unlink(missing_ok=True)
        step(size)


def _copy(parts: list[Path], rows: RowReader, columns: ColumnFiles, row: int) -> None:
    """Rows of one time, which are in order as they are, however many they are."""
    at_a_time = max(1, rows.sizes.bucket // rows.record.itemsize)
    for part in parts:
        with part.open("rb") as file:
            while len(records := np.fromfile(file, rows.record, at_a_time)):
                _write(columns, row, records)
                row += len(records)


def _records(parts: list[Path], record: np.dtype[np.void], size: int) -> Records:
    records = np.empty(size, record)
    filled = 0
    for part in parts:
        with part.open("rb") as file:
            read = np.fromfile(file, record)
        records[filled : filled + len(read)] = read
        filled += len(read)
    return records


def _sorted(records: Records) -> tuple[Records, npt.NDArray[np.int64]]:
    """Records, and their order in time; those of equal time stay in order."""
    t = records["t"].copy()
    if len(t) == 0:
        return records, np.zeros(0, dtype=np.int64)
    low, row_bits = int(t.min()), max(1, (len(t) - 1).bit_length())
    if (int(t.max()) - low).bit_length() + row_bits > 63:
        return records, np.argsort(t, kind="stable")
    t -= low  # time and row share one number, so that a plain sort of numbers, the quickest there is, will do
    t <<= row_bits
    t |= np.arange(len(t))
    t.sort()
    t &= (1 << row_bits) - 1
    return records, t


def _write(columns: ColumnFiles, row: int, records: Records, order: Times | None = None) -> None:
    assert records.dtype.names is not None
    for name in records.dtype.names:
        values = records[name]
        columns.write(name, row, values if order is None else values[order])


def _parts(place: Workplace, file: int) -> Path:
    return place.folder / "parts" / str(file)
