"""`load`: a dataset by name, by path, or from a frame — one way for all."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from keat.bandwidth import estimate_sigma
from keat.clock import PLAIN, Clock
from keat.datasets.cache import open_dataset
from keat.datasets.dataset_entries import DATASETS
from keat.datasets.dataset_info import DatasetInfo, TaskKind
from keat.datasets.odd_times import odd_seconds
from keat.datasets.payments import simulate_payments
from keat.disk import look_at
from keat.errors import InputError, Notice, unknown_name
from keat.events import EventStream, Reading
from keat.events.occurring import occurring
from keat.events.reading_options import ReadingOptions
from keat.events.splitting import HELD_OUT, Splits, split

SIMULATED = "payments"  # the embedded default; "payments:1000000" for another number of events


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A stream, its chronological splits, and what is known of it (nothing, for a file of your own).

    A slice of another stream is a whole here: its events are counted from its own first."""

    stream: EventStream
    info: DatasetInfo | None = None
    reading: Reading | None = None  # how a file or frame was read, and later ones are to be
    origin: str | None = None  # the name or path it was loaded from
    held_out: tuple[float, float] = HELD_OUT  # shares of events for validation and test
    splits: Splits = field(init=False)
    _sigmas: dict[Clock, float] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.stream.offset:
            object.__setattr__(self, "stream", replace(self.stream, offset=0))
        object.__setattr__(self, "splits", split(self.stream, *self.held_out))

    @property
    def name(self) -> str:
        """Of a known dataset its own, whatever its stream says: it becomes part of paths."""
        return self.info.name if self.info is not None else self.stream.name

    @property
    def train(self) -> EventStream:
        return self.splits.train

    @property
    def val(self) -> EventStream:
        return self.splits.val

    @property
    def test(self) -> EventStream:
        return self.splits.test

    def before(self, part: str) -> EventStream:
        """Everything that happened before a split."""
        return self.stream[: self.part(part).offset]

    def part(self, name: str) -> EventStream:
        if name not in Splits._fields:
            raise unknown_name("split", name, Splits._fields)
        part: EventStream = getattr(self.splits, name)
        return part

    def catalogue(self, asked: EventStream, task: TaskKind) -> npt.NDArray[np.int32]:
        """Destinations that negatives of ``asked`` are drawn from: those that occur, unless the task is the
        dataset's own, which may have others."""
        own = self.info.catalogue if self.info is not None and self.info.task == task else "occurring"
        if own == "occurring":
            return occurring(self.stream.dst, self.stream.num_nodes)
        return _ids(self.stream if own == "ids" else asked)

    def training_catalogue(self) -> npt.NDArray[np.int32]:
        """Destinations of the training split; for TGB's sets every id of all, as in its examples."""
        if self.info is not None and self.info.catalogue == "ids":
            return _ids(self.stream)
        return occurring(self.train.dst, self.train.num_nodes)

    def sigma(self, clock: Clock = PLAIN) -> float:
        """σ of the training split, in the stream's unit or that of a clock. It is estimated once."""
        if clock not in self._sigmas:
            self._sigmas[clock] = estimate_sigma(self.train.src, self.train.dst, self.train.t, clock=clock)
        return self._sigmas[clock]

    def _repr_html_(self) -> str:
        from keat.datasets.dataset_html import dataset_html

        return dataset_html(self)


def _ids(events: EventStream) -> npt.NDArray[np.int32]:
    """From the lowest destination to the highest."""
    return np.arange(events.dst.min(), events.dst.max() + 1, dtype=np.int32)


def is_settled(source: str) -> bool:
    """Whether the columns of what is called so are known: of a dataset by name, or of a saved stream."""
    named = source in DATASETS or source.partition(":")[0] == SIMULATED
    return named or look_at(Path(source)) == "folder"


def load(
    source: Any,
    *,
    reading: Reading | None = None,
    held_out: tuple[float, float] = HELD_OUT,
    progress: Callable[[int, int | None], None] | None = None,
    **options: Unpack[ReadingOptions],
) -> Dataset:
    """A dataset by name (``"tgbl-wiki"``), path (``"events.csv"``), or from a frame.

    ``options`` say how to read a file or frame, see `read_events`; or ``reading`` does, such as that of
    another dataset, whose scales and categories are then used. ``held_out`` are the shares of events that are
    kept for validation and test, the latest ones. ``"payments"`` is simulated,
    ``"payments:1000000"`` with a million events. A name is downloaded once; ``progress`` hears of
    (bytes done, bytes in all).
    """
    if reading is None:
        reading = Reading.of(**options)
    elif options:
        raise InputError(f"Give a reading or '{next(iter(options))}', not both.")
    if isinstance(source, EventStream):
        if reading != Reading():
            raise InputError(
                f"{source.name} is a stream already, so its columns are settled; give only that."
            )
        return Dataset(source, held_out=held_out)
    if not isinstance(source, str):
        return _own(source, reading, held_out)
    if not source:
        raise InputError("The name of the dataset is empty; give a name or a path.")
    base, colon, size = source.partition(":")
    known = source in DATASETS or base == SIMULATED
    if known and reading != Reading():
        raise InputError(f"{source} is known by name, so its columns are settled; give only the name.")
    if base == SIMULATED:
        payments = simulate_payments(_number_of_events(size)) if colon else simulate_payments()
        return Dataset(payments, origin=source, held_out=held_out)
    if source in DATASETS:
        return Dataset(
            open_dataset(source, progress=progress), DATASETS[source], origin=source, held_out=held_out
        )
    if not _looks_like_a_path(source):
        raise unknown_name("dataset", source, [*DATASETS, SIMULATED])
    return _own(Path(source), reading, held_out)


def _own(source: Any, reading: Reading, held_out: tuple[float, float]) -> Dataset:
    """The user's own file or frame."""
    learned, stream = reading.learn(source, held_out=held_out)
    odd = odd_seconds(stream) if reading.unit is None and reading.time_format is None else None
    if odd is not None:
        first, last = (int(stream.t[row]) for row in (0, -1))
        if stream.unit == "us":  # seconds with fractions, as they were written
            first, last = first // 10**6, last // 10**6
        warnings.warn(
            f"Times of {stream.name} run from {first} to {last} and were taken as seconds; {odd}.",
            Notice,
            stacklevel=3,
        )
    origin = str(source) if isinstance(source, str | Path) else None
    return Dataset(stream, reading=learned, origin=origin, held_out=held_out)


def _looks_like_a_path(source: str) -> bool:
    return "/" in source or "\\" in source or "." in source or look_at(Path(source)) is not None


def _number_of_events(text: str) -> int:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not (number >= 1 and number.is_integer()):
        raise InputError(f"'{SIMULATED}:{text}' should name a number of events, like '{SIMULATED}:1000000'.")
    return int(number)
