"""Node property prediction: a node's distribution over classes in the coming period, NDCG@10."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import torch

from keat.errors import unknown_name
from keat.events import EventStream, NodeLabels
from keat.models.contract import NodeQueries
from keat.tasks.kinds import PROTOCOLS, Protocol
from keat.tasks.metrics import ndcg
from keat.tasks.script import TGB_BATCH, Ask, Line, Observe, Question, Reveal
from keat.tasks.sorted_rows import starts_of_runs

SCORES_AT_ONCE = 1 << 22  # a budget for nodes × classes: 16 MiB of float32
NODES_AT_ONCE = 1 << 13  # and for nodes, which a model may embed all at once


class NodeProperty:
    """At each label time of the split: observe, ask about the labelled nodes, and go on.

    - ``strict``: every event up to the label time has been observed, and none after it.
    - ``legacy``: TGB's loop, which walks batches of events and asks for a label once a batch ends after its
      time; by then it has taken in those events of the batch that lie before the *next* label time, so up
      to one batch of the period it is asked about. Kept to be compared with.

    A label tells of the period that follows its time, so it is revealed when that period is over: right
    before the next question. The score of a split is the mean over label times of the mean over nodes.
    """

    kind = "node-property"
    headline = "ndcg@10"
    is_sample = False

    def __init__(
        self,
        events: EventStream,
        labels: NodeLabels,
        first: int,
        last: int,
        *,
        protocol: Protocol = "strict",
        parts: Sequence[int] = (),
    ) -> None:
        """Ask about rows ``first:last`` of ``labels``; earlier rows are history. ``parts`` are where the
        splits begin among the events, up to the end of this one: TGB's batches begin anew there."""
        if protocol not in PROTOCOLS:
            raise unknown_name("protocol", protocol, PROTOCOLS)
        self.events, self.labels = events, labels
        self.first, self.last = first, last
        self.protocol, self.parts = protocol, parts
        starts = starts_of_runs(labels.t)
        self.runs = list(pairwise([*starts.tolist(), len(labels)]))  # rows of each label time
        self.times = labels.t[starts]

    def __len__(self) -> int:
        return self.last - self.first

    def script(self, refresh: int = TGB_BATCH) -> Iterator[Line]:
        if self.protocol == "legacy":
            return self._play_batches(refresh, self.parts)
        return self._play_times(refresh, 0, 0)

    def questions(self, refresh: int = TGB_BATCH) -> Iterator[Line]:
        """For a state that has seen the script of everything before the split."""
        if self.protocol == "legacy":
            return self._play_batches(refresh, self.parts[-2:])
        run = int(np.searchsorted([start for start, _ in self.runs], self.first))
        before = self.times[run - 1] if run else np.iinfo(np.int64).min
        return self._play_times(refresh, run, int(np.searchsorted(self.events.t, before, side="right")))

    def _play_times(self, refresh: int, run: int, seen: int) -> Iterator[Line]:
        for number in range(run, len(self.runs)):
            if self.runs[number][0] >= self.last:
                return
            until = int(np.searchsorted(self.events.t, self.times[number], side="right"))
            for block in self.events[seen:until].blocks(refresh):
                yield Observe(block)
            seen = until
            yield from self._reveal_and_ask(number, int(self.times[number]))

    def _play_batches(self, refresh: int, parts: Sequence[int]) -> Iterator[Line]:
        # Labels before the last time of what came before have been asked about by then.
        run = int(np.searchsorted(self.times, self.events.t[parts[0] - 1])) if parts[0] else 0
        for begin, end in pairwise(parts):
            due = int(np.searchsorted(self.times, self.events.t[end - 1]))
            for block in self.events[begin:end].blocks(refresh):
                early = 0
                if run < due and block.t[-1] > self.times[run]:
                    later = self.times[run + 1] if run + 1 < len(self.times) else np.iinfo(np.int64).max
                    early = int(np.searchsorted(block.t, later))
                    yield Observe(block[:early])
                    yield from self._reveal_and_ask(run, int(block.t[max(early - 1, 0)]))
                    run += 1
                yield Observe(block[early:])
            for number in range(run, due):  # TGB never asks these: labels denser than its batches
                yield from self._reveal_and_ask(number, int(self.events.t[end - 1]))
            run = due

    def _reveal_and_ask(self, number: int, now: int) -> Iterator[Line]:
        if number:
            yield Reveal(self.labels[slice(*self.runs[number - 1])])
        start, stop = self.runs[number]
        if start < self.first:
            return
        size = max(1, min(SCORES_AT_ONCE // self.labels.num_classes, NODES_AT_ONCE))
        for low in range(start, stop, size):
            rows = self.labels[low : min(low + size, stop)]
            asked = NodeQueries(rows.node, np.maximum(rows.t, now) + 1)  # right after what was observed
            yield Ask((asked,), slice(low - self.first, low - self.first + len(rows)))

    def truth(self, rows: slice) -> NodeLabels:
        """Labels of positions among the targets."""
        return self.labels[self.first + rows.start : self.first + rows.stop]

    def outcome(self, ask: Question, scores: Sequence[torch.Tensor]) -> torch.Tensor:
        assert isinstance(ask.rows, slice)
        return torch.from_numpy(ndcg(self.truth(ask.rows).dense(), scores[0].cpu().numpy()))

    def metrics(self, outcomes: torch.Tensor) -> dict[str, float]:
        t = self.labels.t[self.first : self.last]
        starts = starts_of_runs(t)
        sizes = np.diff(np.append(starts, len(t)))
        per_time = np.add.reduceat(outcomes.numpy(), starts) / sizes
        return {"ndcg@10": float(per_time.mean())}
