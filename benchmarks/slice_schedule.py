"""How long does an evaluation or a pass of features take on many machines? By calculation, and by playing the
schedule that `keat` uses: one process observes the stream and leaves a snapshot where each slice begins; a
worker who is free takes the next slice whose snapshot is there, and answers its questions.

Observing is serial, because a state is the sum of all that came before it. Answering is not.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Work:
    """What a stream takes, in seconds of one processor."""

    observing: float  # what is cut into slices, in order
    snapshot: float  # to write one, and as long for a worker to open it
    answering: float  # all questions, with the observing between them
    before: float = 0.0  # observing what comes before the first slice

    @property
    def alone(self) -> float:
        """One process, without slices: it observes what it answers, so that is in `answering`."""
        return self.before + self.answering


def expected_seconds(work: Work, slices: int, workers: int) -> float:
    """By calculation, with slices of equal length: whichever is longer, the serial pass and then its last
    slice, or the answers, shared among workers in whole slices, after the wait for the first snapshots."""
    step = work.observing / slices + work.snapshot  # from one snapshot to the next
    slice_ = work.answering / slices + work.snapshot
    rounds = -(-slices // workers)
    waiting = (min(workers, slices) - 1) * step  # until the last worker has a first slice
    return work.before + max(slices * step + slice_, step + rounds * slice_ + waiting)


def played_seconds(
    observing: Sequence[float], answering: Sequence[float], snapshot: float, workers: int
) -> float:
    """The same by playing it, slice by slice, whatever their lengths: when the last answer is there."""
    free = [0.0] * workers
    now, last = 0.0, 0.0
    for observed, answered in zip(observing, answering, strict=True):
        now += observed + snapshot  # this slice can begin
        begin = max(now, heapq.heappop(free))
        heapq.heappush(free, begin + snapshot + answered)
        last = max(last, begin + snapshot + answered)
    return last


def most_gained(work: Work) -> float:
    """Amdahl: with any number of workers the serial pass stays."""
    return work.alone / (work.before + work.observing)


def useful_workers(work: Work) -> int:
    """Beyond so many, more of them wait for snapshots."""
    return max(1, round(work.answering / work.observing))
