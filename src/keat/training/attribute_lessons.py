"""Lessons of an attribute of the coming event: the events of the training split, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from keat.events import EventStream
from keat.events.attributes import AttributeKind, center_and_size
from keat.models.contract import NodeQueries
from keat.tasks.edge_attribute import EdgeAttribute
from keat.tasks.script import Ask, Observe, steps_in_blocks
from keat.training.lessons import Lesson, usual_refresh


class AttributeLessons:
    """Each block is asked about before it is observed. Cross-entropy, or the distance from a value, which is
    what its MAE is of."""

    def __init__(self, train: EventStream, batch_size: int) -> None:
        self.task, self.batch_size = EdgeAttribute(train[:0], train), batch_size
        self.refresh = usual_refresh("edge-attribute", train, in_turn=False)
        self.size = center_and_size(self.task.truth)[1]

    def __len__(self) -> int:
        return len(self.task.events)

    def epoch(self, seed: int, epoch: int) -> Iterator[Lesson]:  # noqa: ARG002
        waiting: Lesson | None = None
        for line in self.task.lines(steps_in_blocks(self.task.events.t, self.batch_size)):
            match line:
                case Ask():
                    queries = line.queries[0]
                    assert isinstance(queries, NodeQueries)
                    truth = torch.from_numpy(self.task.truth[line.rows])
                    loss = partial(attribute_loss, truth=truth, kind=self.task.attribute, size=self.size)
                    waiting = Lesson(self.task.events[:0], queries, loss)
                case Observe():
                    yield Lesson(line.events) if waiting is None else replace(waiting, events=line.events)
                    waiting = None


def attribute_loss(answers: Tensor, truth: Tensor, kind: AttributeKind, size: float) -> Tensor:
    """Of answers (B, K); that of a value is in its usual distances from the median."""
    truth = truth.to(answers.device)
    if kind == "class":
        return functional.cross_entropy(answers, truth.long())
    if kind == "binary":
        return functional.binary_cross_entropy_with_logits(answers[:, 0], truth.float())
    return functional.l1_loss(answers[:, 0], truth.float()) / size
