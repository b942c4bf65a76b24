"""Training by several workers: each asks its share of every block of questions, and observes all events.

All have the same parameters. What each has learned of its share is added up before the optimizer's step, so
the step is that of the whole block; state and parameters stay the same everywhere. The training loop knows
nothing of it: its lessons, its validation and its gradients are those of a share. For a fixed number of
workers, the same run has the same bits.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed
from torch import Tensor, nn

from keat.errors import InputError
from keat.models.contract import Queries
from keat.tasks.link import LinkClassification, LinkRanking, LinkTask
from keat.tasks.script import Task
from keat.training.lessons import Lesson, LinkLessons, Loss


@dataclass(frozen=True, slots=True)
class Team:
    """Whose share it is: the one of ``rank`` among ``size`` workers."""

    rank: int
    size: int
    device: str = "cpu"  # of this worker

    @contextmanager
    def meeting(self, at: Path) -> Iterator[None]:
        """While it lasts, workers can add up tensors. They meet at a file that is not there yet."""
        if "lo" in (name for _, name in socket.if_nameindex()):
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # all are on this machine
        backend = "nccl" if self.device.startswith("cuda") else "gloo"
        torch.distributed.init_process_group(
            backend, init_method=f"file://{at}", rank=self.rank, world_size=self.size
        )
        try:
            yield
        finally:
            torch.distributed.destroy_process_group()

    def summed(self, tensor: Tensor) -> Tensor:
        """The sum of the tensors of all, the same to the bit for each."""
        torch.distributed.all_reduce(tensor)
        return tensor

    def gathered(self, part: Tensor, lengths: Sequence[int]) -> list[Tensor]:
        """The tensors of all, of so many rows each."""
        padded = part.new_zeros((max(lengths), *part.shape[1:]))
        padded[: len(part)] = part
        parts = [torch.empty_like(padded) for _ in lengths]
        torch.distributed.all_gather(parts, padded.contiguous())
        return [each[:length] for each, length in zip(parts, lengths, strict=True)]


class SharedLessons:
    """The lessons of links, each with this worker's share of its questions and with all of its events."""

    def __init__(self, lessons: LinkLessons, team: Team, model: nn.Module) -> None:
        self.lessons, self.team, self.refresh = lessons, team, lessons.refresh
        self.learned = [each for each in model.parameters() if each.requires_grad]
        self.asked = 0  # questions of this worker in the epoch under way

    def __len__(self) -> int:
        return len(self.lessons)

    def epoch(self, seed: int, epoch: int) -> Iterator[Lesson]:
        """Epoch 0 is measured and not trained: all look at all of it."""
        self.asked = 0
        if self.team.rank and epoch:  # masks of dropout are of each worker's own
            torch.manual_seed(
                np.random.SeedSequence([seed, epoch, self.team.rank]).generate_state(1)[0].item()
            )
        for lesson in self.lessons.epoch(seed, epoch):
            yield self._share(lesson) if epoch and lesson.loss is not None else lesson

    def _share(self, lesson: Lesson) -> Lesson:
        assert isinstance(lesson.queries, Queries)
        assert lesson.loss is not None
        rows = len(lesson.queries.t)
        first, last = (rows * rank // self.team.size for rank in (self.team.rank, self.team.rank + 1))
        weight = (last - first) / rows
        if first == last:  # fewer questions than workers: one that another asks, and which counts for nothing
            first, last = 0, 1
        self.asked += last - first if weight else 0
        loss = partial(self._loss, _of_rows(lesson.loss, slice(first, last)), weight)
        return replace(lesson, queries=lesson.queries.rows(first, last), loss=loss)

    def _loss(self, own: Loss, weight: float, logits: Tensor) -> Tensor:
        """The mean loss of the share. Once its gradient is found, it becomes that of the whole block."""
        loss = own(logits)
        engine: Any = torch.autograd.Variable._execution_engine
        loss.register_hook(  # type: ignore[no-untyped-call]
            lambda _: engine.queue_callback(partial(self._add_up, weight))
        )
        return loss

    def _add_up(self, weight: float) -> None:
        """Gradients of all workers, each by its share of the block."""
        with torch.no_grad():
            add_up_gradients(self.learned, weight, self.team.summed)


def add_up_gradients(
    parameters: Sequence[nn.Parameter], weight: float, summed: Callable[[Tensor], Tensor]
) -> None:
    """Replace gradients by the sum of those of all workers, in one message; ``weight`` is this one's share. A
    parameter that no loss has reached in any of them has none; where this worker's has reached all, nobody
    has to look, which would wait for the device."""
    reached = [float(each.grad is not None) for each in parameters]
    parts = [torch.zeros_like(each) if each.grad is None else each.grad for each in parameters]
    flat = torch.cat([*(part.flatten() * weight for part in parts), parts[0].new_tensor(reached)])
    *sums, reached_by = torch.split(summed(flat), [*(part.numel() for part in parts), len(parts)])
    by_any = reached if all(reached) else reached_by.tolist()
    for parameter, total, number in zip(parameters, sums, by_any, strict=True):
        parameter.grad = total.view_as(parameter).clone() if number else None


def _of_rows(loss: Loss, rows: slice) -> Loss:
    """The loss of some of the questions: weights are a row each."""
    assert isinstance(loss, partial)
    return partial(loss.func, **loss.keywords | {"log_weights": loss.keywords["log_weights"][rows]})


class _Share(LinkTask):
    """A worker's share of the questions of a task, spread evenly over time. Metrics are those of all."""

    is_sample = False  # whoever wants errors of a sample asks the whole task

    def __init__(self, whole: LinkTask, team: Team) -> None:
        self.__dict__.update(whole.__dict__)
        self.team, self.shares = team, [whole.asked[rank :: team.size] for rank in range(team.size)]
        self.asked = self.shares[team.rank]

    def metrics(self, outcomes: Tensor) -> dict[str, float]:
        parts = self.team.gathered(outcomes, [len(share) for share in self.shares])
        every = outcomes.new_empty((sum(map(len, parts)), *outcomes.shape[1:]))
        for rank, part in enumerate(parts):
            every[rank :: self.team.size] = part
        return super().metrics(every)  # type: ignore[safe-super]


class SharedRanking(_Share, LinkRanking):
    """A share of questions that are ranked."""


class SharedClassification(_Share, LinkClassification):
    """A share of pairs that are told apart."""


def share_of(task: Task, team: Team) -> SharedRanking | SharedClassification:
    """A worker's share of a validation."""
    if not isinstance(task, LinkTask) or len(task) < team.size:
        raise InputError(
            f"{team.size} workers share questions about links, of which each has some to ask; train with one."
        )
    kind = SharedRanking if isinstance(task, LinkRanking) else SharedClassification
    return kind(task, team)
