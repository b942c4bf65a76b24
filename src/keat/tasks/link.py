"""Link prediction: rank the true destination among candidates, or tell a true edge from a false one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Self

import numpy as np
import numpy.typing as npt
import torch

from keat.events import EventStream
from keat.models.contract import Queries
from keat.tasks.candidates import Candidates
from keat.tasks.metrics import classification_metrics, ranking_metrics
from keat.tasks.script import (
    TGB_BATCH,
    Ask,
    AskInTurn,
    Line,
    Observe,
    Question,
    Rows,
    refresh_steps,
    steps_in_turn,
    times_of,
)

SCORES_AT_ONCE = 1 << 22  # a budget for B × C: 32 MiB of float64


def drawn_rows(rows: int, number: int, seed: int) -> npt.NDArray[np.int64]:
    """So many of all rows, drawn at random, ascending."""
    return np.sort(np.random.default_rng(seed).choice(rows, number, replace=False))


class LinkTask(ABC):
    """What both share: history is observed first, then ranges of positives are asked and observed."""

    kind: str
    strategy = "given"  # how the negatives were chosen, where `make_task` chose them
    width: int  # scores a positive needs

    headline: str  # the metric an epoch is chosen by

    def __init__(self, history: EventStream, positives: EventStream) -> None:
        self.history, self.positives = history, positives
        self.asked = np.arange(len(positives))

    def __len__(self) -> int:
        return len(self.asked)

    def sample(self, number: int, seed: int) -> Self:
        """The same task asking only ``number`` positives drawn at random; all are still observed."""
        task = copy(self)
        if number < len(self):
            task.asked = self.asked[drawn_rows(len(self), number, seed)]
        return task

    @property
    def is_sample(self) -> bool:
        return len(self.asked) < len(self.positives)

    @abstractmethod
    def queries(self, rows: Rows) -> tuple[Queries, ...]: ...

    @abstractmethod
    def outcome(self, ask: Question, scores: Sequence[torch.Tensor]) -> torch.Tensor: ...

    @abstractmethod
    def metrics(self, outcomes: torch.Tensor) -> dict[str, float]: ...

    def script(self, refresh: int) -> Iterator[Line]:
        for block in self.history.blocks(TGB_BATCH):
            yield Observe(block)
        yield from self.questions(refresh)

    def questions(self, refresh: int) -> Iterator[Line]:
        """The script without the history, for a state that has seen it."""
        at_once = max(1, SCORES_AT_ONCE // self.width)
        if refresh == 1:
            steps = steps_in_turn(self.positives.t, TGB_BATCH)
        else:
            steps = refresh_steps(self.positives.t, refresh)
        for step in steps:
            rows, events = self._asked_within(*step.ask), self.positives[slice(*step.observe)]
            if refresh > 1 or not step.in_turn:
                yield from self._ask_then_observe(rows, events, at_once)
            elif 0 < len(rows) <= at_once:
                yield AskInTurn(self.queries(rows), rows, events)
            else:
                for first, last in times_of(events.t):
                    now = self._asked_within(step.ask[0] + first, step.ask[0] + last)
                    yield from self._ask_then_observe(now, events[first:last], at_once)

    def _ask_then_observe(
        self, rows: npt.NDArray[np.int64], events: EventStream, at_once: int
    ) -> Iterator[Line]:
        for low in range(0, len(rows), at_once):
            piece = rows[low : low + at_once]
            yield Ask(self.queries(piece), piece)
        if len(events):
            yield Observe(events)

    def _asked_within(self, start: int, stop: int) -> npt.NDArray[np.int64]:
        first, last = np.searchsorted(self.asked, (start, stop))
        return self.asked[first:last]


class LinkRanking(LinkTask):
    """One positive against many: MRR and Hits@k."""

    kind = "link-ranking"
    headline = "mrr"

    def __init__(self, history: EventStream, candidates: Candidates) -> None:
        super().__init__(history, candidates.events)
        self.candidates = candidates
        self.width = candidates.width

    def queries(self, rows: Rows) -> tuple[Queries, ...]:
        return (self.candidates.queries(rows),)

    def outcome(self, ask: Question, scores: Sequence[torch.Tensor]) -> torch.Tensor:
        return self.candidates.ranks(ask.rows, scores[0])

    def metrics(self, outcomes: torch.Tensor) -> dict[str, float]:
        return ranking_metrics(outcomes)


class LinkClassification(LinkTask):
    """One positive against one negative: average precision and ROC-AUC."""

    kind = "link-classification"
    headline = "ap"
    width = 2

    def __init__(
        self,
        history: EventStream,
        positives: EventStream,
        negative_src: npt.NDArray[np.int32],
        negative_dst: npt.NDArray[np.int32],
    ) -> None:
        super().__init__(history, positives)
        self.negative_src, self.negative_dst = negative_src, negative_dst

    def queries(self, rows: Rows) -> tuple[Queries, ...]:
        t = self.positives.t[rows]  # a negative is asked at its positive's time
        true = Queries(self.positives.src[rows], t, self.positives.dst[rows][:, None])
        false = Queries(self.negative_src[rows], t, self.negative_dst[rows][:, None])
        return true, false

    def outcome(self, ask: Question, scores: Sequence[torch.Tensor]) -> torch.Tensor:  # noqa: ARG002
        return torch.cat(list(scores), dim=1)  # (rows, 2)

    def metrics(self, outcomes: torch.Tensor) -> dict[str, float]:
        pairs = outcomes.cpu().numpy()
        return classification_metrics(pairs[:, 0], pairs[:, 1])
