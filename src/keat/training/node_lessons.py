"""Lessons of node tasks: the task's own script over the training split, its questions with their loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from keat.events import EventStream
from keat.models.contract import NodeQueries
from keat.tasks.event_task import EventTask
from keat.tasks.node_label import NodeLabel
from keat.tasks.node_property import NodeProperty
from keat.tasks.script import TGB_BATCH, Ask, Observe, Reveal, steps_in_blocks
from keat.training.lessons import Lesson, Loss, usual_refresh

NODES_AT_ONCE = 64  # learned from in one step; a label time of more nodes is several steps


class NodePropertyLessons:
    """The labels of the training split, asked as in evaluation; cross-entropy with shares as targets.

    A label is taught only if its period ended within the training split: the last one may not have.
    """

    refresh = TGB_BATCH  # events are observed that many at a time up to a label's time, whatever the clock

    def __init__(self, task: NodeProperty, batch_size: int) -> None:
        """``task`` asks about the training split's labels."""
        self.task, self.batch_size = task, batch_size
        end = task.parts[-1]
        known = np.append(task.times[1:], np.iinfo(np.int64).max) <= task.events.t[end - 1]
        self.taught = set(task.times[known].tolist())
        self.nothing = task.events[:0]
        script = task.script(batch_size)
        self.length = sum(len(line.events) for line in script if isinstance(line, Observe))

    def __len__(self) -> int:
        return self.length

    def epoch(self, seed: int, epoch: int) -> Iterator[Lesson]:
        rng = np.random.default_rng([seed, epoch])
        for line in self.task.script(self.batch_size):
            match line:
                case Observe():
                    yield Lesson(line.events)
                case Reveal():
                    yield Lesson(self.nothing, labels=line.labels)
                case Ask():
                    yield from self._questions(line, rng)

    def _questions(self, ask: Ask, rng: np.random.Generator) -> Iterator[Lesson]:
        queries = ask.queries[0]
        assert isinstance(queries, NodeQueries)
        assert isinstance(ask.rows, slice)
        truth = self.task.truth(ask.rows)
        if int(truth.t[0]) not in self.taught:
            return
        shares = torch.from_numpy(truth.dense())
        order = rng.permutation(len(truth))
        for rows in np.array_split(order, -(-len(order) // NODES_AT_ONCE)):
            part = NodeQueries(queries.node[rows], queries.t[rows])
            yield Lesson(self.nothing, part, partial(soft_cross_entropy, shares=shares[rows]))


def soft_cross_entropy(logits: Tensor, shares: Tensor) -> Tensor:
    """-Σ_c y_c log softmax(logits)_c, mean over rows."""
    return functional.cross_entropy(logits, shares.to(logits.device))


class NodeLabelLessons:
    """The labelled events of the training split, block by block; binary cross-entropy in which both kinds
    of event weigh the same in all, however rare one is."""

    def __init__(self, train: EventStream, batch_size: int) -> None:
        self.task, self.batch_size = NodeLabel(train[:0], train), batch_size
        positive = int(np.count_nonzero(self.task.truth))
        self.refresh = usual_refresh("node-label", train, in_turn=False)
        self.rarity = torch.tensor((len(self.task) - positive) / positive)

    def __len__(self) -> int:
        return len(self.task.events)

    def epoch(self, seed: int, epoch: int) -> Iterator[Lesson]:  # noqa: ARG002
        return lessons_of_events(self.task, self.batch_size, self._loss)

    def _loss(self, rows: slice) -> Loss:
        truth = torch.from_numpy(self.task.truth[rows]).float()
        return partial(balanced_cross_entropy, truth=truth, rarity=self.rarity)


def lessons_of_events(task: EventTask, batch_size: int, loss_of: Callable[[slice], Loss]) -> Iterator[Lesson]:
    """Of a task about events, block by block: what is asked of a block is taught before it is observed."""
    waiting: Lesson | None = None
    for line in task.lines(steps_in_blocks(task.events.t, batch_size)):
        match line:
            case Ask():
                queries = line.queries[0]
                assert isinstance(queries, NodeQueries)
                assert isinstance(line.rows, slice)
                waiting = Lesson(task.events[:0], queries, loss_of(line.rows))
            case Observe():
                yield Lesson(line.events) if waiting is None else replace(waiting, events=line.events)
                waiting = None


def balanced_cross_entropy(logits: Tensor, truth: Tensor, rarity: Tensor) -> Tensor:
    """Binary cross-entropy of logits (B, 1), a positive counting ``rarity`` times."""
    device = logits.device
    return functional.binary_cross_entropy_with_logits(
        logits[:, 0], truth.to(device), pos_weight=rarity.to(device)
    )
