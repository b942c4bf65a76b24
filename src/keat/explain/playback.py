"""Bringing a model into the state it had when an event was scored: everything before it, and nothing else.

The state is the evaluation's, so that a score that is explained is the one `keat evaluate` gives.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Generic, Literal

import numpy as np
import torch

from keat.datasets.loading import Dataset
from keat.errors import InputError, Notice
from keat.events import EventStream
from keat.events.fingerprint import DataFacts
from keat.explain.scored import Names
from keat.explain.subject import AnySubject, Model
from keat.tasks.link import LinkRanking
from keat.tasks.node_label import NodeLabel
from keat.tasks.script import TGB_BATCH, steps_by_time
from keat.training.evaluate import continue_evaluation, evaluate

SplitName = Literal["train", "val", "test"]
HeldOut = Literal["val", "test"]
Side = Literal["src", "dst"]


class Playback(ABC, Generic[Model]):
    """The model of a run in the states it had: with a dataset, those of evaluation; without, that of
    everything the run has seen."""

    def __init__(self, subject: AnySubject[Model], data: Dataset | None = None) -> None:
        self.data, self.model, self._of = data, subject.present, subject
        self.ids = subject.names if data is None else data.stream.ids
        self.names = Names(
            label=self.ids.label,
            unit=subject.unit if data is None else data.stream.unit,
            model=subject.name,
            loss=subject.loss,
        )
        self.trained_on_this = False
        if data is not None:
            self._require_fitting(data.stream)
            facts = DataFacts.of(data.name, data.stream)
            self.trained_on_this = subject.data.fingerprint == facts.fingerprint
            notice = None if self.trained_on_this else _other_data(subject.data, facts)
            if notice is not None:
                warnings.warn(notice, Notice, stacklevel=3)
            row_of = partial(_row_of, data.stream)
            self.names = replace(self.names, dataset=data.name, row_of=row_of, notice=notice)

    @property
    @abstractmethod
    def refresh(self) -> int:
        """How fresh the state is that an event is explained with: as the model was trained."""

    def index(self, node: str | int, side: Side) -> int:
        """Dense id of what the user typed; a number typed on the command line arrives as text."""
        return int(self.ids.index_written([node], side=side)[0])

    def before(self, t: int | None) -> tuple[int, int | None]:
        """Bring the model to having seen all that is strictly earlier than a time, by default right after the
        last event; the time, and how many events of the dataset that are."""
        position = None
        if self.data is not None:
            times = self.data.stream.t
            t = int(times[-1]) + 1 if t is None else t
            position = int(np.searchsorted(times, t))
            if position == 0:
                raise InputError(f"Nothing in {self.data.name} is earlier than {t}; choose a later time.")
            next(self.states(self.data, [position]))
        last = self.model.last_time()
        t = last + 1 if t is None else t
        if t <= last:
            raise InputError(
                f"The run has seen events up to {last}, later than {t}; to go back in time, give the dataset."
            )
        return t, position

    def starts(self, rows: Sequence[int]) -> list[int]:
        """How many events evaluation has observed when it asks about each of these, which are of one split
        and in order."""
        data = self.require_data()
        offset = data.part(split_of(data, rows[0])).offset
        if self.refresh == 1:  # what is strictly earlier
            found: list[int] = np.maximum(
                np.searchsorted(data.stream.t, data.stream.t[rows]), offset
            ).tolist()
            return found
        return [row - (row - offset) % TGB_BATCH for row in rows]

    def states(self, data: Dataset, positions: Sequence[int]) -> Iterator[None]:
        """Bring the model to having observed exactly the events before each position, in turn: history in
        blocks, then the split that the positions are in as evaluation does, in blocks or time by time."""
        start = data.part(split_of(data, positions[0])).offset
        self.model = self._of.validated()
        if not self.keeps_the_state_before(data, start):
            self.model.reset()
            self.observe(data.stream[:start])
        for position in positions:
            self._pass(data.stream[start:position])
            start = position
            yield

    def highest(self, task: LinkRanking | NodeLabel, split: HeldOut, number: int) -> list[int]:
        """Rows of the events of a split that evaluation finds the highest ranks or scores of, highest
        first."""
        play = continue_evaluation if split == "test" and self.trained_on_this else evaluate
        outcomes = play(self._of.validated(), task, refresh=self.refresh).outcomes
        order = torch.argsort(outcomes, descending=True, stable=True)[:number].cpu().numpy()
        rows: list[int] = (task.asked[order] + self.require_data().part(split).offset).tolist()
        return rows

    def keeps_the_state_before(self, data: Dataset, start: int) -> bool:
        """Whether the run kept its state there: after validation, on the data it was trained on."""
        return self.trained_on_this and start == data.test.offset

    def replay(self, events: EventStream) -> bool:
        """Observe events anew, with the boundaries that `states` has; whether the run's own state had been
        kept instead, whose memory is from training."""
        data = self.require_data()
        start = data.part(split_of(data, len(events))).offset
        kept = self.keeps_the_state_before(data, start)
        cuts = [
            0,
            *([data.val.offset] if kept else []),
            start,
        ]  # the kept state met both splits by themselves
        self.model.reset()
        for first, last in pairwise(cuts):
            self.observe(events[first:last])
        self._pass(events[start:])
        return kept

    def _pass(self, events: EventStream) -> None:
        """Observe events of the split that is asked about."""
        if self.refresh == 1:
            for step in steps_by_time(events.t, TGB_BATCH):
                self.model.observe(events[slice(*step.observe)])
        else:
            self.observe(events)

    def observe(self, events: EventStream) -> None:
        with torch.no_grad():
            for block in events.blocks(TGB_BATCH):
                self.model.observe(block)

    def require_data(self) -> Dataset:
        if self.data is None:
            raise InputError("Events are explained from the dataset they are in; give that, too.")
        return self.data

    def require_row(self, row: int) -> None:
        stream = self.require_data().stream
        if not 0 <= row < len(stream):
            raise InputError(f"{stream.name} has events 0 to {len(stream) - 1}, not {row}.")

    def _require_fitting(self, stream: EventStream) -> None:
        if stream.feature_dim != self._of.feature_dim:
            raise InputError(
                f"{self._of.where} was trained on {self._of.feature_dim} features an event; "
                f"{stream.name} has {stream.feature_dim}."
            )


def split_of(data: Dataset, row: int) -> SplitName:
    if row < data.val.offset:
        return "train"
    return "val" if row < data.test.offset else "test"


def _other_data(trained_on: DataFacts, data: DataFacts) -> str:
    if (data.name, data.events) == (trained_on.name, trained_on.events):
        return (
            f"{data.name} is not what the run was trained on, only as long and called the same: its events "
            "are others, and its nodes may be."
        )
    return (
        f"{data.name} ({data.events:,} events) is not what the run was trained on, {trained_on.name} "
        f"({trained_on.events:,} events): fine if it has grown since, else its nodes may be others."
    )


def _row_of(stream: EventStream, src: int, dst: int, t: int) -> int | None:
    """The first event with these ends and this time."""
    first, last = np.searchsorted(stream.t, (t, t + 1)).tolist()
    same = (stream.src[first:last] == src) & (stream.dst[first:last] == dst)
    return first + int(np.argmax(same)) if same.any() else None
