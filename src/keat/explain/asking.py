"""Bringing a run into the state it had when a pair was scored, and explaining the pair there.

An event of a dataset is explained in the state evaluation scores it in, so that score and rank are those of
`keat evaluate`: refreshed every 200 events, or at every time for models that are trained so. A pair at a time
of the user's choice is explained with everything observed that is strictly earlier.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Literal

import numpy as np
import torch

from keat.datasets.loading import Dataset
from keat.errors import InputError, Notice
from keat.events import EventStream
from keat.events.fingerprint import DataFacts
from keat.explain.explanation import explain_pair
from keat.explain.scored import Names, Scored, explain_by_pair_term
from keat.explain.subject import Subject
from keat.models.contract import Queries
from keat.models.rank import KeatRank
from keat.models.tgn import TGN
from keat.models.with_pair_term import WithPairTerm
from keat.tasks.link import LinkRanking
from keat.tasks.making import make_task
from keat.tasks.metrics import rank_of
from keat.tasks.script import TGB_BATCH, steps_by_time
from keat.training.evaluate import continue_evaluation, evaluate
from keat.training.lessons import usual_refresh

SplitName = Literal["train", "val", "test"]
Side = Literal["src", "dst"]


class Asker:
    """Explains pairs and events with the model of a run: with a dataset, in the state that evaluation has;
    without, as of everything the run has seen."""

    def __init__(
        self, subject: Subject, data: Dataset | None = None, tested: LinkRanking | None = None
    ) -> None:
        """``tested`` is the ranking of the test split of the dataset, where it was made already."""
        subject.require_explainable()
        self._rankings: dict[str, LinkRanking] = {} if tested is None else {"test": tested}
        self.subject, self.data, self.model = subject, data, subject.present
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
                warnings.warn(notice, Notice, stacklevel=2)
            row_of = partial(_row_of, data.stream)
            self.names = replace(self.names, dataset=data.name, row_of=row_of, notice=notice)

    def pair(self, source: str | int, destination: str | int, t: int | None, older: int) -> Scored:
        """A pair at a time, by default right after the last event of the dataset, or that was seen."""
        ends = [self.index(source, "src"), self.index(destination, "dst")]
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
        rank = self._rank_among_known(ends[0], ends[1], t)
        return self._explain(ends[0], ends[1], t, older, rank, position)

    def index(self, node: str | int, side: Side) -> int:
        """Dense id of what the user typed; a number typed on the command line arrives as text."""
        return int(self.ids.index_written([node], side=side)[0])

    @property
    def refresh(self) -> int:
        """How fresh the state is that an event is explained with: as the model was trained."""
        return usual_refresh("link-ranking", self.require_data().train, self.model.trains_in_turn)

    def event(self, row: int, older: int) -> Scored:
        """An event of the dataset, as evaluation would score it."""
        stream = self.require_data().stream
        if not 0 <= row < len(stream):
            raise InputError(f"{stream.name} has events 0 to {len(stream) - 1}, not {row}.")
        return next(self._events([row], older))

    def worst(self, number: int, split: Literal["val", "test"], older: int) -> Iterator[Scored]:
        """The events of a split that were ranked worst, worst first."""
        data, task = self.require_data(), self.ranking(split)
        known = split == "test" and self.trained_on_this
        play = continue_evaluation if known else evaluate
        ranks = play(self.subject.validated(), task, refresh=self.refresh).outcomes
        order = torch.argsort(ranks, descending=True, stable=True)[:number]
        rows = (task.asked[order.cpu().numpy()] + data.part(split).offset).tolist()
        found = dict(zip(sorted(rows), self._events(sorted(rows), older), strict=True))
        yield from (found[row] for row in rows)

    def _events(self, rows: Sequence[int], older: int) -> Iterator[Scored]:
        """Events of one split, in order."""
        data = self.require_data()
        split = _split_of(data, rows[0])
        offset = data.part(split).offset
        if self.refresh == 1:  # what is strictly earlier
            starts = np.maximum(np.searchsorted(data.stream.t, data.stream.t[rows]), offset).tolist()
        else:
            starts = [row - (row - offset) % TGB_BATCH for row in rows]
        task = None if split == "train" else self.ranking(split)
        for row, start, _ in zip(rows, starts, self.states(data, starts), strict=True):
            stream = data.stream
            src, dst, t = int(stream.src[row]), int(stream.dst[row]), int(stream.t[row])
            if task is None:
                rank = self._rank_among_known(src, dst, t)
            else:
                place = np.array([row - offset])
                scores = self.model.score(task.candidates.queries(place))
                others = int(task.candidates.negatives_per_positive()[row - offset])
                rank = float(task.candidates.ranks(place, scores)[0]), others + 1
            yield self._explain(src, dst, t, older, rank, start)

    def states(self, data: Dataset, positions: Sequence[int]) -> Iterator[None]:
        """Bring the model to having observed exactly the events before each position, in turn: history in
        blocks, then the split that the positions are in as evaluation does, in blocks or time by time."""
        start = data.part(_split_of(data, positions[0])).offset
        self.model = self.subject.validated()
        if not self.keeps_the_state_before(data, start):
            self.model.reset()
            self.observe(data.stream[:start])
        for position in positions:
            self._pass(data.stream[start:position])
            start = position
            yield

    def keeps_the_state_before(self, data: Dataset, start: int) -> bool:
        """Whether the run kept its state there: after validation, on the data it was trained on."""
        return self.trained_on_this and start == data.test.offset

    def replay(self, events: EventStream) -> bool:
        """Observe events anew, with the boundaries that `states` has; whether the run's own state had been
        kept instead, whose memory is from training."""
        data = self.require_data()
        start = data.part(_split_of(data, len(events))).offset
        kept = self.keeps_the_state_before(data, start)
        cuts = (
            [0, data.val.offset, start] if kept else [0, start]
        )  # the kept state met training, then validation
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

    @property
    def attends(self) -> bool:
        """Whether there are past events in an attention, that could be older."""
        encoder = self.model.encoder if isinstance(self.model, WithPairTerm) else self.model
        return isinstance(encoder, TGN)

    def _explain(
        self, src: int, dst: int, t: int, older: int, rank: tuple[float, int] | None, observed: int | None
    ) -> Scored:
        model, names = self.model, replace(self.names, observed=observed)
        ask = Queries(np.array([src], np.int32), np.array([t]), np.array([[dst]], np.int32))
        score = float(model.score(ask))  # also makes room for unseen nodes
        if self.attends:
            assert isinstance(model, TGN | WithPairTerm)
            return explain_pair(model, src, dst, t, older=older, names=names, rank=rank)
        assert isinstance(model, KeatRank | WithPairTerm)
        return explain_by_pair_term(model, src, dst, t, score, names=names, rank=rank)

    def _rank_among_known(self, src: int, dst: int, t: int) -> tuple[float, int] | None:
        """Among all nodes that have been destinations so far, and this one."""
        others = self.model.destinations()
        others = others[others != dst]
        candidates = np.concatenate((np.array([dst], dtype=np.int32), others))
        scores = self.model.score(Queries(np.array([src], dtype=np.int32), np.array([t]), candidates))
        return float(rank_of(scores[:, 0], scores[:, 1:])[0]), len(candidates)

    def ranking(self, split: Literal["val", "test"]) -> LinkRanking:
        """Of all events of a split of the dataset."""
        if split not in self._rankings:
            task = make_task(self.require_data(), split, kind="link-ranking")
            assert isinstance(task, LinkRanking)
            self._rankings[split] = task
        return self._rankings[split]

    def require_data(self) -> Dataset:
        if self.data is None:
            raise InputError("Events are explained from the dataset they are in; give that, too.")
        return self.data

    def _require_fitting(self, stream: EventStream) -> None:
        if stream.feature_dim != self.subject.feature_dim:
            raise InputError(
                f"{self.subject.where} was trained on {self.subject.feature_dim} features an event; "
                f"{stream.name} has {stream.feature_dim}."
            )


def _other_data(trained_on: DataFacts, data: DataFacts) -> str:
    return (
        f"{data.name} ({data.events:,} events) is not what the run was trained on, {trained_on.name} "
        f"({trained_on.events:,} events): fine if it has grown since, else its nodes may be others."
    )


def _split_of(data: Dataset, row: int) -> SplitName:
    if row < data.val.offset:
        return "train"
    return "val" if row < data.test.offset else "test"


def _row_of(stream: EventStream, src: int, dst: int, t: int) -> int | None:
    """The first event with these ends and this time."""
    first, last = np.searchsorted(stream.t, (t, t + 1)).tolist()
    same = (stream.src[first:last] == src) & (stream.dst[first:last] == dst)
    return first + int(np.argmax(same)) if same.any() else None
