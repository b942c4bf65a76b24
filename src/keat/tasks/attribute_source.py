"""A column of the events becomes what is asked of the coming one, and what is known late is told late.

The stream that comes out has two kinds of rows. An *event* happens at its time, and is asked about; a
*report* of it follows where some of its columns become known later (a delay, on landing), at the time they
do, and is not asked about. Whatever a model observes can be used as it is: nothing in it was unknown then.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from keat.datasets.loading import Dataset
from keat.errors import InputError, unknown_name
from keat.events import EventStream, Reading
from keat.events.attributes import center_and_size
from keat.events.splitting import split

Floats = npt.NDArray[np.float64]
COMPARED = re.compile(r"^(?P<column>.+?)\s*(?P<sign>[<>])\s*(?P<limit>[-+]?[\d.]+(?:e[-+]?\d+)?)$")


def column_of(target: str) -> str:
    """The column that a target is of: ``delay``, also where it is asked whether ``delay>15``."""
    found = COMPARED.match(target)
    return found["column"] if found else target


def parts_of(known_after: str) -> tuple[str, str]:
    """``COLUMN=WHEN`` as two names."""
    column, equals, when = known_after.partition("=")
    if not equals or not column or not when:
        raise InputError(
            f"'{known_after}' should say which column is known when, like delay=7200 or delay=duration."
        )
    return column, when


def columns_read(target: str, known_after: Sequence[str]) -> list[str]:
    """All columns that have to be among the features that are read."""
    late = [parts_of(each) for each in known_after]
    durations = [when for _, when in late if not _is_number(when)]
    return list(dict.fromkeys([column_of(target), *(column for column, _ in late), *durations]))


def with_attribute(data: Dataset, target: str, known_after: Sequence[str] = ()) -> Dataset:
    """The dataset whose events are labelled with the target, and whose features end in what is known of it:
    ``1, value`` (or a column for each class) where it is, zeros where it is not yet.

    Labels are int8 (is it so: 1 or 0), int32 (a class) or float64 (a value); -1 or NaN are not asked.
    """
    if data.reading is None:
        raise InputError(f"{data.name} has no columns by name, so none is a target; give a file or frame.")
    columns, labels = _Columns(data.reading, data.stream), _labels(data, target)
    place = columns.where([column_of(target)])
    evidence = _evidence(data, labels, len(place))
    features: Floats = np.concatenate((data.stream.features.astype(np.float64), evidence), axis=1)
    late = [parts_of(each) for each in known_after]
    stream = replace(data.stream, labels=labels, label_classes=evidence.shape[1] - 1)
    if not late:
        kept = np.delete(features, place, axis=1)
        return replace(data, stream=replace(stream, features=kept.astype(np.float32)), info=None)
    durations = [when for _, when in late if not _is_number(when)]
    delay = np.max([columns.duration(when) for _, when in late], axis=0)
    hidden = columns.where([*(column for column, _ in late), *durations])
    if column_of(target) in [column for column, _ in late]:
        hidden = [*hidden, *range(data.stream.feature_dim, features.shape[1])]
    before = features.copy()
    before[:, hidden] = 0.0
    return replace(data, stream=_told_late(stream, before, features, place, delay), info=None)


def _told_late(
    stream: EventStream, before: Floats, after: Floats, dropped: Sequence[int], delay: npt.NDArray[np.int64]
) -> EventStream:
    """Each event as it happens, and its report once all of it is known; at one time events stand first."""
    assert stream.labels is not None
    t = np.concatenate((stream.t, stream.t + delay))
    order = np.argsort(t, kind="stable")
    features = np.delete(np.concatenate((before, after)), dropped, axis=1)
    silent = np.full_like(stream.labels, np.nan if stream.labels.dtype.kind == "f" else -1)
    return replace(
        stream,
        src=np.tile(stream.src, 2)[order],
        dst=np.tile(stream.dst, 2)[order],
        t=t[order],
        features=features[order].astype(np.float32),
        labels=np.concatenate((stream.labels, silent))[order],
    )


def _labels(data: Dataset, target: str) -> npt.NDArray[np.generic]:
    assert data.reading is not None
    columns, compared = _Columns(data.reading, data.stream), COMPARED.match(target)
    name = column_of(target)
    if columns.is_categorical(name):
        if compared:
            raise InputError(f"'{name}' is categorical, neither less nor more than {compared['limit']}.")
        classes: npt.NDArray[np.int32] = columns.matrix(name).argmax(axis=1).astype(np.int32)
        return classes
    values = columns.values(name)
    if compared:
        limit = float(compared["limit"])
        holds: npt.NDArray[np.bool_] = values < limit if compared["sign"] == "<" else values > limit
        return holds.astype(np.int8)
    distinct = np.unique(values)
    if len(distinct) < 2:
        raise InputError(f"'{name}' is {distinct[0]:g} in every event of {data.name}: nothing to predict.")
    return (values == distinct[1]).astype(np.int8) if len(distinct) == 2 else values


def _evidence(data: Dataset, labels: npt.NDArray[np.generic], classes: int) -> Floats:
    """(N, 1 + K): that it is known, and what it is; a value by its usual distance from the median."""
    known = np.ones((len(labels), 1))
    if labels.dtype == np.int32:
        return np.concatenate((known, np.eye(classes)[labels.astype(np.int64)]), axis=1)
    values = labels.astype(np.float64)
    if labels.dtype == np.float64:
        train = len(split(data.stream, *data.held_out).train)
        center, size = center_and_size(values[:train])
        values = (values - center) / size
    return np.concatenate((known, values[:, None]), axis=1)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Columns of a file by their names, as they were encoded into features."""

    reading: Reading
    stream: EventStream

    def where(self, names: Sequence[str]) -> list[int]:
        return [place for name in names for place in range(*self._range(name))]

    def is_categorical(self, name: str) -> bool:
        return name in self.reading.categorical

    def matrix(self, name: str) -> Floats:
        return self.stream.features[:, slice(*self._range(name))].astype(np.float64)

    def values(self, name: str) -> Floats:
        """As they were written, also where they were scaled."""
        matrix, encoding = self.matrix(name), self.reading.encoding
        if self.is_categorical(name) or matrix.shape[1] != 1:
            raise InputError(f"'{name}' has no single number in each event; name a column of numbers.")
        of_column = None if encoding is None else next(each for each in encoding.events if each.name == name)
        if of_column is None or not of_column.mean:
            return matrix[:, 0]
        return np.round(matrix[:, 0] * of_column.deviation[0] + of_column.mean[0], 6)

    def duration(self, when: str) -> npt.NDArray[np.int64]:
        """How long it takes until something is known, in the unit of the stream."""
        values = np.full(len(self.stream), float(when)) if _is_number(when) else self.values(when)
        if (values < 0).any():
            row = int(np.argmax(values < 0))
            raise InputError(f"'{when}' is {values[row]:g} at event {row + 1}; nothing is known before.")
        return np.ceil(values).astype(np.int64)

    def _range(self, name: str) -> tuple[int, int]:
        if name not in self.reading.features:
            raise unknown_name("feature column", name, self.reading.features)
        encoding = self.reading.encoding
        if encoding is None:
            place = self.reading.features.index(name)
            return place, place + 1
        width = next(each.encoded_width for each in encoding.events if each.name == name)
        begin = encoding.position(name)
        return begin, begin + width


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
