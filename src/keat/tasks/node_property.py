"""Node property prediction: a node's distribution over classes in the coming period, NDCG@10."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from keat.events import EventStream, NodeLabels
from keat.models.contract import NodeQueries
from keat.tasks.metrics import ndcg
from keat.tasks.script import TGB_BATCH, Ask, Line, Observe, Question, Reveal, starts_of_runs


class NodeProperty:
    """At each label time of the split: observe every event up to it, ask, then reveal the labels.

    Strict: an event after the label time is never seen first. (TGB's loop lets up to one batch of them
    through.) The score of a split is the mean over label times of the mean over nodes, as in TGB.
    """

    kind = "node-property"
    headline = "ndcg@10"

    def __init__(self, events: EventStream, labels: NodeLabels, first: int, last: int) -> None:
        """Ask about rows ``first:last`` of ``labels``; earlier rows are revealed as history."""
        self.events, self.labels = events, labels
        self.first, self.last = first, last

    is_sample = False

    def __len__(self) -> int:
        return self.last - self.first

    def script(self, refresh: int = TGB_BATCH) -> Iterator[Line]:
        return self._play(refresh, 0, 0)

    def questions(self, refresh: int = TGB_BATCH) -> Iterator[Line]:
        """From the last label time before the split, whose events and labels the state must have seen."""
        before = self.labels.t[self.first - 1] if self.first else np.iinfo(np.int64).min
        return self._play(refresh, int(np.searchsorted(self.events.t, before, side="right")), self.first)

    def _play(self, refresh: int, seen: int, first: int) -> Iterator[Line]:
        starts = starts_of_runs(self.labels.t).tolist()
        for start, stop in zip(starts, [*starts[1:], len(self.labels)], strict=True):
            if start < first:
                continue
            if start >= self.last:
                return
            now = int(self.labels.t[start])
            until = int(np.searchsorted(self.events.t, now, side="right"))
            for block in self.events[seen:until].blocks(refresh):
                yield Observe(block)
            seen = until
            rows = self.labels[start:stop]
            if start >= self.first:
                yield Ask((NodeQueries(rows.node, rows.t),), slice(start - self.first, stop - self.first))
            yield Reveal(rows)

    def outcome(self, ask: Question, scores: Sequence[torch.Tensor]) -> torch.Tensor:
        assert isinstance(ask.rows, slice)
        rows = self.labels[self.first + ask.rows.start : self.first + ask.rows.stop]
        return torch.from_numpy(ndcg(rows.dense(), scores[0].cpu().numpy()))

    def metrics(self, outcomes: torch.Tensor) -> dict[str, float]:
        t = self.labels.t[self.first : self.last]
        starts = starts_of_runs(t)
        sizes = np.diff(np.append(starts, len(t)))
        per_time = np.add.reduceat(outcomes.numpy(), starts) / sizes
        return {"ndcg@10": float(per_time.mean())}
