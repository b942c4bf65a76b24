"""A task cut into slices of time, each of which can be asked by itself from the state where it begins.

One pass observes everything and asks nothing; on its way it comes past the states where slices begin. Whoever
has such a state asks the slice through the one evaluation loop, with the same lines as if all were asked in a
row: what is found is the same, in whatever order slices are asked and by how many.
"""

from __future__ import annotations

import bisect
import time
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.models.contract import LinkModel, Queries
from keat.models.tpnet import TPNet
from keat.tasks.candidates import Candidates
from keat.tasks.link import LinkRanking, LinkTask
from keat.tasks.metrics import standard_errors
from keat.tasks.script import Ask, AskInTurn, Line, Observe, Question, Rows
from keat.training.evaluate import Evaluation, continue_evaluation

SLICES = 16  # however many work on them: what is found cannot depend on that
HISTORY = -1  # the number of what is before the first slice


class TaskSlice:
    """The questions of one slice, for a state that is where it begins: a task for the evaluation loop."""

    is_sample = False  # of its slice

    def __init__(self, task: LinkTask, number: int, slices: int = SLICES) -> None:
        self.task, self.number, self.slices = task, number, slices
        self.kind, self.headline = task.kind, task.headline

    def __len__(self) -> int:
        first, last = (len(self.task) * number // self.slices for number in (self.number, self.number + 1))
        return last - first

    def script(self, refresh: int) -> Iterator[Line]:
        for block in self.task.history.blocks(refresh):
            yield Observe(block)
        yield from self.questions(refresh)

    def questions(self, refresh: int) -> Iterator[Line]:
        for number, line in _numbered(self.task, _bare(self.task).questions(refresh), self.slices):
            if number == self.number and isinstance(line, Ask | AskInTurn):
                yield replace(line, queries=self.task.queries(line.rows))
            elif number == self.number:
                yield line
            elif number > self.number:
                return

    def outcome(self, ask: Question, scores: Sequence[Tensor]) -> Tensor:
        return self.task.outcome(ask, scores)

    def metrics(self, outcomes: Tensor) -> dict[str, float]:  # noqa: ARG002
        """None: they are of the whole."""
        return {}


def observe_to_slices(
    model: LinkModel, task: LinkTask, refresh: int, slices: int = SLICES, *, known: bool = False
) -> Iterator[int]:
    """Let a model observe all of a task; whenever its state is where a slice begins, the slice's number. If
    the history is ``known``, the state is where the questions begin. What comes after the beginning of the
    last slice is not observed: nobody needs it here."""
    bare, current = _bare(task), HISTORY
    if not known:
        model.reset()
    lines = bare.questions(refresh) if known else bare.script(refresh)
    for number, line in _numbered(task, lines, slices):
        if number != current:
            current = number
            yield number
            if number == slices - 1:
                return
        with torch.no_grad():
            _observe(model, line)


def answer_slice(
    model: LinkModel, task: LinkTask, number: int, refresh: int, slices: int = SLICES
) -> Evaluation:
    """Ask a slice of a model whose state is where it begins. Its outcomes are those of its targets."""
    return continue_evaluation(model, TaskSlice(task, number, slices), refresh=refresh)


def joined(task: LinkTask, outcomes: Sequence[Tensor], answering: float, started: float) -> Evaluation:
    """All of a task from the outcomes of its slices, in order. ``started`` is of `perf_counter`."""
    result = torch.cat(list(outcomes))
    metrics = task.metrics(result)
    errors = standard_errors(task.metrics, result.cpu()) if task.is_sample else None
    return Evaluation(metrics, result, len(task), time.perf_counter() - started, errors, answering)


# -- lines -------------------------------------------------------------------------------------------


class _NoCandidates(Candidates):
    """Stands for the candidates where nothing is asked: to gather them would take longer than to observe."""

    @property
    def width(self) -> int:
        return 0

    def queries(self, rows: Rows) -> Queries:
        return Queries(self.events.src[rows], self.events.t[rows], np.empty(0, np.int32))

    def ranks(self, rows: Rows, scores: Tensor) -> Tensor:
        raise NotImplementedError("nothing is asked")

    def contest(self, rows: Rows, scores: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError("nothing is asked")

    def negatives_per_positive(self) -> npt.NDArray[np.int64]:
        return np.zeros(len(self.events), dtype=np.int64)


def _bare(task: LinkTask) -> LinkTask:
    """The task with the same lines, whose questions are without candidates."""
    if not isinstance(task, LinkRanking):
        return task
    bare = copy(task)
    bare.candidates = _NoCandidates(task.candidates.events)
    return bare


def _numbered(task: LinkTask, lines: Iterator[Line], slices: int) -> Iterator[tuple[int, Line]]:
    """Each line with the number of its slice. A slice begins with the first question at which its share of
    the targets begins; one whose share lies within a question of another is not there."""
    starts = [len(task) * number // slices for number in range(slices)]
    done, number = 0, HISTORY
    for line in lines:
        if isinstance(line, Ask | AskInTurn):
            number = bisect.bisect_right(starts, done) - 1
            done += len(line.rows)  # type: ignore[arg-type]  # of links they are an array
        yield number, line


def _observe(model: LinkModel, line: Line) -> None:
    """What a line leaves behind. Where it matters how events are cut, they are cut as they would be if the
    questions were asked: by `LinkModel.score_in_turn`; TPNet, where cuts matter, takes them at once."""
    if isinstance(line, Observe):
        model.observe(line.events)
    elif isinstance(line, AskInTurn):
        seen = 0
        if model.cuts_matter and not isinstance(model, TPNet):
            for now in np.unique(np.concatenate([part.t for part in line.queries])).tolist():
                until = int(np.searchsorted(line.events.t, now))
                model.observe(line.events[seen:until])
                seen = until
        model.observe(line.events[seen:])
