"""Link prediction: rank the true destination among candidates, or tell a true edge from a false one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch

from keat.events import EventStream
from keat.models.contract import Queries
from keat.tasks.candidates import Candidates
from keat.tasks.metrics import classification_metrics, ranking_metrics
from keat.tasks.script import TGB_BATCH, Ask, Line, Observe, refresh_steps

SCORES_AT_ONCE = 1 << 22  # a budget for B × C: 32 MiB of float64


class LinkTask(ABC):
    """What both share: history is observed first, then ranges of positives are asked and observed."""

    kind: str
    strategy = "given"  # how the negatives were chosen, where `make_task` chose them
    width: int  # scores a positive needs

    def __init__(self, history: EventStream, positives: EventStream) -> None:
        self.history, self.positives = history, positives

    def __len__(self) -> int:
        return len(self.positives)

    @abstractmethod
    def queries(self, start: int, stop: int) -> tuple[Queries, ...]: ...

    @abstractmethod
    def outcome(self, ask: Ask, scores: Sequence[torch.Tensor]) -> torch.Tensor: ...

    @abstractmethod
    def metrics(self, outcomes: torch.Tensor) -> dict[str, float]: ...

    def script(self, refresh: int) -> Iterator[Line]:
        for block in self.history.blocks(TGB_BATCH):
            yield Observe(block)
        yield from self.questions(refresh)

    def questions(self, refresh: int) -> Iterator[Line]:
        """The script without the history, for a state that has seen it."""
        rows = max(1, SCORES_AT_ONCE // self.width)
        for start, stop in refresh_steps(self.positives.t, refresh):
            for low, high in pairwise([*range(start, stop, rows), stop]):
                yield Ask(self.queries(low, high), low, high)
            yield Observe(self.positives[start:stop])


class LinkRanking(LinkTask):
    """One positive against many: MRR and Hits@k."""

    kind = "link-ranking"

    def __init__(self, history: EventStream, candidates: Candidates) -> None:
        super().__init__(history, candidates.events)
        self.candidates = candidates
        self.width = candidates.width

    def queries(self, start: int, stop: int) -> tuple[Queries, ...]:
        return (self.candidates.queries(start, stop),)

    def outcome(self, ask: Ask, scores: Sequence[torch.Tensor]) -> torch.Tensor:
        return self.candidates.ranks(ask.start, ask.stop, scores[0])

    def metrics(self, outcomes: torch.Tensor) -> dict[str, float]:
        return ranking_metrics(outcomes)


class LinkClassification(LinkTask):
    """One positive against one negative: average precision and ROC-AUC."""

    kind = "link-classification"
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

    def queries(self, start: int, stop: int) -> tuple[Queries, ...]:
        t = self.positives.t[start:stop]  # a negative is asked at its positive's time
        true = Queries(self.positives.src[start:stop], t, self.positives.dst[start:stop, None])
        false = Queries(self.negative_src[start:stop], t, self.negative_dst[start:stop, None])
        return true, false

    def outcome(self, ask: Ask, scores: Sequence[torch.Tensor]) -> torch.Tensor:  # noqa: ARG002
        return torch.cat(list(scores), dim=1)  # (rows, 2)

    def metrics(self, outcomes: torch.Tensor) -> dict[str, float]:
        pairs = outcomes.cpu().numpy()
        return classification_metrics(pairs[:, 0], pairs[:, 1])
