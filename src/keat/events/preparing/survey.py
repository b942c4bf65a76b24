"""The first pass over a log: everything is checked, and what only the whole can tell is found.

Each file is read in pieces. Where a later piece shows that earlier ones should have been read otherwise (a
column of whole numbers with a fraction in its last row, an id that is a word), the pass begins anew, knowing
it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keat.errors import InputError, Notice
from keat.events.csv_ids import WrittenIds
from keat.events.dense_ids import checked_ids
from keat.events.feature_columns import FeatureReading, RawColumn, read_labels, stored_matrix
from keat.events.file_column import Column, ReadAnewError
from keat.events.ids import IdMap
from keat.events.preparing.id_spaces import IdSpace, IntegerIds, TextIds, require_room
from keat.events.preparing.input_files import Inputs
from keat.events.preparing.sizes import Sizes
from keat.events.preparing.time_cuts import TimeSample, cuts
from keat.events.reading_options import Reading
from keat.events.text_files import OtherKindError
from keat.events.time_column import TimeReading
from keat.events.units import TimeUnit

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found, as it is kept in a file."""

    rows: tuple[int, ...]  # of each file
    unit: TimeUnit
    fractional: bool  # times are of a finer unit than those of the files
    text_forms: tuple[int, ...] | None  # how times are read that are text
    kinds: dict[str, int]  # of columns of text files
    as_numbers: bool  # ids of text files
    label: str | None  # int64 or float32
    widths: tuple[int, ...]  # of columns of features
    unsorted: tuple[int, int] | None  # file and row of the first event that is earlier than the one before
    begins: tuple[int, ...]  # times with which buckets begin


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Facts, ids, and the values of categorical columns."""

    facts: Facts
    labels: list[pa.Array]  # of all nodes; with two kinds of node of sources and of destinations
    kinds: list[pa.Array | None]  # of each column of features

    @property
    def num_events(self) -> int:
        return sum(self.facts.rows)

    def id_map(self) -> IdMap:
        if len(self.labels) == 1:
            (labels,) = self.labels
            whole = pa.types.is_integer(labels.type)
            if whole and labels[0].as_py() == 0 and labels[-1].as_py() == len(labels) - 1:
                return IdMap.identity(len(labels))
            return IdMap(labels)
        parts = self.labels
        if parts[0].type != parts[1].type:
            parts = [part.cast(pa.large_string()) for part in parts]
        return IdMap(pa.concat_arrays(parts), boundary=len(parts[0]))


def survey(inputs: Inputs, reading: Reading, sizes: Sizes, progress: Progress) -> Survey:
    """Looks through all files; what is wrong is said with the file and the row."""
    times = TimeReading(reading.unit, reading.time_format)
    written = WrittenIds(reading.bipartite) if inputs.sources[0].untyped else None
    while True:
        try:
            return _look_through(inputs, reading, sizes, progress, times, written)
        except OtherKindError as error:
            inputs.loosen(str(error))
        except ReadAnewError:
            pass
        times = times.anew()


def _look_through(
    inputs: Inputs,
    reading: Reading,
    sizes: Sizes,
    progress: Progress,
    times: TimeReading,
    written: WrittenIds | None,
) -> Survey:
    rows = [0] * len(inputs.sources)
    ids = _Ids(reading.bipartite, written, sizes)
    features, label = FeatureReading(reading.categorical), None
    sample: TimeSample | None = None
    order = _Order()
    for piece in inputs.pieces(sizes.piece):
        values = times.look(piece.columns["time"])
        ids.look(piece.columns["src"], piece.columns["dst"])
        width = features.look(piece.features()).shape[1] if piece.features() else 0
        if "label" in piece.columns:
            label = read_labels(piece.columns["label"]).dtype.name
        if sample is None:
            sample = TimeSample(max(1, sizes.bucket // (24 + 4 * width)))
        sample.add(values)
        order.look(times, values, piece.file, piece.first)
        rows[piece.file] += piece.rows
        progress(sum(rows), None)
    if sample is None:
        raise InputError(f"{inputs.sources[0].where} has columns but no rows; give at least one event.")
    times.tell()
    ids.tell()
    features.tell()
    raw = features.raw
    if reading.matrix is not None:
        raw = [RawColumn(reading.features[0], stored_matrix(reading.matrix, sum(rows)).shape[1])]
    facts = Facts(
        rows=tuple(rows),
        unit=times.settled_unit,
        fractional=times.fractional,
        text_forms=None if times.text_forms is None else tuple(times.text_forms),
        kinds=inputs.kinds,
        as_numbers=written is not None and written.as_numbers,
        label=label,
        widths=tuple(column.width for column in raw),
        unsorted=order.unsorted,
        begins=tuple(cuts(times.settle(sample.all()), sample.samples_a_bucket()).tolist()),
    )
    return Survey(facts, [space.labels() for space in ids.spaces], [column.values for column in raw])


def tell_of_order(facts: Facts, inputs: Inputs, name: str) -> None:
    """The notice that what is not in time order is sorted."""
    if facts.unsorted is None:
        return
    file, row = facts.unsorted
    of = f" of {inputs.sources[file].where}" if len(inputs.sources) > 1 else ""
    warnings.warn(
        f"{name} was not in time order (data row {row + 1}{of} is the first that is earlier than the one "
        "before); sorted, events of equal time keep their order.",
        Notice,
        stacklevel=2,
    )


class _Ids:
    """Ids of both columns, in one space or in two."""

    def __init__(self, bipartite: bool, written: WrittenIds | None, sizes: Sizes) -> None:
        self.bipartite, self.written, self.sizes = bipartite, written, sizes
        self.spaces: list[IdSpace] = []

    def look(self, src: Column, dst: Column) -> None:
        if self.written is not None:
            src, dst = self.written.look(src, dst)
        src, dst = checked_ids(src), checked_ids(dst)
        groups = [[src], [dst]] if self.bipartite else [[src, dst]]
        if not self.spaces:
            self.spaces = [self._space(group) for group in groups]
        for space, group in zip(self.spaces, groups, strict=True):
            space.look(group)
        require_room(sum(space.size() for space in self.spaces), self.sizes.memory)

    def tell(self) -> None:
        if self.written is not None:
            self.written.tell(lambda: [space.labels() for space in self.spaces])
        for space in self.spaces:
            space.tell()

    def _space(self, columns: list[Column]) -> IdSpace:
        whole = all(pa.types.is_integer(column.type) for column in columns)
        return IntegerIds(self.sizes.table) if whole else TextIds()


class _Order:
    """Whether times only rise, from piece to piece."""

    def __init__(self) -> None:
        self.last: npt.NDArray[Any] | None = None  # not settled yet: the next piece may say of which unit
        self.unsorted: tuple[int, int] | None = None

    def look(self, times: TimeReading, values: npt.NDArray[Any], file: int, first: int) -> None:
        if self.unsorted is not None:
            return
        t = times.settle(values)
        backwards = t[1:] < t[:-1]
        if self.last is not None and t[0] < times.settle(self.last)[0]:
            self.unsorted = file, first
        elif backwards.any():
            self.unsorted = file, first + int(np.argmax(backwards)) + 1
        self.last = values[-1:].copy()
