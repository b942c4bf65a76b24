"""What a model is taught in an epoch: questions with their loss, and the events that then happen.

The training loop plays lessons the way evaluation plays a task's script. Everything drawn at random is a
function of (seed, epoch).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.events import EventStream, NodeLabels
from keat.models.contract import NodeQueries, Queries
from keat.state import as_tensor
from keat.tasks.script import TGB_BATCH, is_crowded, steps_in_blocks, steps_in_turn
from keat.training.hard_negatives import HardNegatives
from keat.training.losses import LinkLoss, Recipe, link_loss

Loss = Callable[[Tensor], Tensor]  # of the answers to a question


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """One step: answer, learn from the loss, then observe. Without a question there is nothing to learn."""

    events: EventStream
    queries: Queries | NodeQueries | None = None
    loss: Loss | None = None
    labels: NodeLabels | None = None  # become known after the events
    asked: int | None = None  # of an epoch's events, how many this step deals with, if not those it observes

    @property
    def progress(self) -> int:
        return len(self.events) if self.asked is None else self.asked


class Lessons(Protocol):
    """The lessons of an epoch, in the order of time."""

    refresh: int  # how fresh the state is that they are asked with, and so that of validation

    def __len__(self) -> int:
        """Events in all, for progress."""

    def epoch(self, seed: int, epoch: int) -> Iterator[Lesson]: ...


class LinkLessons:
    """Blocks of the training split, each positive with ``negatives`` destinations it did not go to.

    A share ``historical`` of them are earlier destinations of the same source, the rest is drawn from the
    catalogue. TGB's setting is one negative, from the catalogue. For the stratified loss they are drawn
    beside certain ones, see `HardNegatives`.
    """

    def __init__(
        self,
        data: Dataset,
        batch_size: int,
        *,
        in_turn: bool = False,  # blocks end between two times, so that they can be asked in turn
        recipe: Recipe = "sound",
        loss: LinkLoss = "pairwise",
        negatives: int = 1,
        historical: float = 0.0,
    ) -> None:
        if not 0 <= historical <= 1:
            raise InputError(f"The share of historical negatives must lie in 0 … 1, not {historical}.")
        self.train, self.catalogue = data.train, data.training_catalogue()
        self.batch_size, self.in_turn = batch_size, in_turn
        self.recipe, self.loss = recipe, loss
        self.negatives, self.historical = negatives, round(historical * negatives)
        self.refresh = usual_refresh("link-ranking", data.train, in_turn)
        if self.historical:
            self.past = _PastDestinations(data.train)
        if loss == "stratified":
            self.hard = HardNegatives(data.train, self.catalogue, negatives)

    def __len__(self) -> int:
        return len(self.train)

    def epoch(self, seed: int, epoch: int) -> Iterator[Lesson]:
        rng = np.random.default_rng([seed, epoch])
        candidates_of = self.hard.walk().candidates if self.loss == "stratified" else self._candidates
        steps = steps_in_turn if self.in_turn else steps_in_blocks
        for step in steps(self.train.t, self.batch_size):
            block, events = (self.train[slice(*part)] for part in step)
            if len(block) == 0:
                yield Lesson(events, asked=0)  # they were asked about before
                continue
            candidates, log_weights = candidates_of(block, rng)
            loss = partial(link_loss, recipe=self.recipe, loss=self.loss, log_weights=as_tensor(log_weights))
            yield Lesson(events, Queries(block.src, block.t, candidates), loss, asked=len(block))

    def _candidates(
        self, block: EventStream, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Each positive and its negatives, and their weights in a softmax: a negative that is the positive
        would be asked to beat itself, and weighs nothing."""
        others = rng.choice(self.catalogue, (len(block), self.negatives))
        if self.historical:
            drawn, known = self.past.draw(block, self.historical, rng)
            others[:, : self.historical] = np.where(known, drawn, others[:, : self.historical])
        candidates = np.concatenate((block.dst[:, None], others), axis=1)
        log_weights = np.zeros(candidates.shape, dtype=np.float32)
        log_weights[:, 1:][others == block.dst[:, None]] = -np.inf
        return candidates, log_weights


class _PastDestinations:
    """Where each source of a stream went before, for drawing from."""

    def __init__(self, events: EventStream) -> None:
        order = np.argsort(events.src, kind="stable")  # by source, in the order of time
        self.dst = events.dst[order]
        self.place = np.empty(len(order), dtype=np.int64)
        self.place[order] = np.arange(len(order))
        self.first = np.searchsorted(events.src[order], events.src)  # of each event's source
        self.offset = events.offset

    def draw(
        self, block: EventStream, number: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
        """Destinations (B, number) of earlier events of each source, and whether there were any."""
        rows = slice(block.offset - self.offset, block.offset - self.offset + len(block))
        first, earlier = self.first[rows], self.place[rows] - self.first[rows]
        chosen = first[:, None] + rng.integers(0, np.maximum(earlier, 1)[:, None], (len(block), number))
        return self.dst[chosen], (earlier > 0)[:, None]


def usual_refresh(kind: str, train: EventStream, in_turn: bool) -> int:
    """How fresh the state is in a ``kind`` of task where nobody says: as it was in training. Links asked in
    turn know every strictly earlier time. Other state is refreshed by TGB's batches, unless one time has more
    events than a batch, and a model would see events of the very time it is asked about. Node properties are
    asked at times of their own, with all events up to then observed, a batch at a time."""
    if kind == "node-property":
        return TGB_BATCH
    strict = (in_turn and kind.startswith("link-")) or is_crowded(train.t, TGB_BATCH)
    return 1 if strict else TGB_BATCH
