"""Lessons of an attribute of the coming event: the events of the training split, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from keat.events import EventStream
from keat.events.attributes import AttributeKind, center_and_size
from keat.tasks.edge_attribute import EdgeAttribute
from keat.training.lessons import Lesson, Loss, usual_refresh
from keat.training.node_lessons import lessons_of_events


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
        return lessons_of_events(self.task, self.batch_size, self._loss)

    def _loss(self, rows: slice) -> Loss:
        truth = torch.from_numpy(self.task.truth[rows])
        return partial(attribute_loss, truth=truth, kind=self.task.attribute, size=self.size)


def attribute_loss(answers: Tensor, truth: Tensor, kind: AttributeKind, size: float) -> Tensor:
    """Of answers (B, K); that of a value is in its usual distances from the median."""
    truth = truth.to(answers.device)
    if kind == "class":
        return functional.cross_entropy(answers, truth.long())
    if kind == "binary":
        return functional.binary_cross_entropy_with_logits(answers[:, 0], truth.float())
    return functional.l1_loss(answers[:, 0], truth.float()) / size
