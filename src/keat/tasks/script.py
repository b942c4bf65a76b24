"""A task is a script: what to ask and what to observe, in the order of time.

The evaluation loop plays it and knows nothing else. Whatever a model could know when it is asked was
said in an earlier line of the script, so the freshness of the state is visible in one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch

from keat.errors import InputError
from keat.events import EventStream, NodeLabels
from keat.models.contract import NodeQueries, Queries
from keat.tasks.sorted_rows import starts_of_runs

Rows = slice | npt.NDArray[np.int64]  # positions among a task's targets
TGB_BATCH = 200  # events between two refreshes of the state in TGB's protocol


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """Score these; ``rows`` are positions among the task's targets."""

    queries: tuple[Queries, ...] | tuple[NodeQueries, ...]
    rows: Rows


@dataclass(frozen=True, slots=True, eq=False)
class AskInTurn:
    """Score each of these knowing the strictly earlier of ``events``, which then all have happened."""

    queries: tuple[Queries, ...]
    rows: Rows
    events: EventStream


@dataclass(frozen=True, slots=True, eq=False)
class Observe:
    """These events have happened."""

    events: EventStream


@dataclass(frozen=True, slots=True, eq=False)
class Reveal:
    """These node labels have become known."""

    labels: NodeLabels


Line = Ask | AskInTurn | Observe | Reveal
Question = Ask | AskInTurn


class Task(Protocol):
    """Turns a stream into questions, and answers into a metric."""

    kind: str
    headline: str  # the metric an epoch is chosen by

    @property
    def is_sample(self) -> bool:
        """Whether only some of the split's targets are asked."""

    def __len__(self) -> int:
        """Targets in all."""

    def script(self, refresh: int) -> Iterator[Line]:
        """From an empty state to the end of the split."""

    def questions(self, refresh: int) -> Iterator[Line]:
        """The part of the script that follows the history, for a state that has seen it."""

    def outcome(self, ask: Question, scores: Sequence[torch.Tensor]) -> torch.Tensor:
        """What is kept of the scores of one ask: (rows,) or (rows, …)."""

    def metrics(self, outcomes: torch.Tensor) -> dict[str, float]:
        """From the outcomes of all targets, in order."""


class Step(NamedTuple):
    """Events ``ask`` are asked about, then events ``observe`` happen; both are ranges (start, stop)."""

    ask: tuple[int, int]
    observe: tuple[int, int]

    @property
    def in_turn(self) -> bool:
        """Whether what is asked about is what happens, so that it may also be asked and observed in turn."""
        return self.ask == self.observe


def refresh_steps(t: npt.NDArray[np.int64], refresh: int) -> Iterator[Step]:
    """Ranges of events that are asked about before any of them is observed, ``refresh`` at a time: the
    state is as of the start of the range, which is TGB's protocol at 200. (As in TGB, a range may end
    between two events of the same time, and the second is asked with the first observed; only 1 is strict,
    see `steps_in_turn`.)
    """
    if refresh < 1:
        raise InputError(f"refresh must be at least 1, not {refresh}.")
    for block in _blocks(0, len(t), refresh):
        yield Step(block, block)


def steps_in_turn(t: npt.NDArray[np.int64], size: int) -> Iterator[Step]:
    """Steps of about ``size`` events that begin and end between two distinct times: within one, events can be
    asked and observed in turn, time by time. A time of more events than that is crowded, see `_crowd`."""
    for start, stop, crowded in _stretches(t, size):
        if crowded:
            yield from _crowd(start, stop, size)
            continue
        starts = starts_of_runs(t[start:stop])
        wanted = np.searchsorted(starts, np.arange(0, stop - start, size))
        cuts = start + np.unique(starts[wanted[wanted < len(starts)]])
        for block in pairwise([*cuts.tolist(), stop]):
            yield Step(block, block)


def steps_in_blocks(t: npt.NDArray[np.int64], size: int) -> Iterator[Step]:
    """Steps of ``size`` events wherever that cuts, as in TGB, but for crowded times, see `_crowd`."""
    for start, stop, crowded in _stretches(t, size):
        if crowded:
            yield from _crowd(start, stop, size)
        else:
            yield from (Step(block, block) for block in _blocks(start, stop, size))


def steps_by_time(t: npt.NDArray[np.int64], size: int) -> Iterator[Step]:
    """Every distinct time by itself, in pieces of at most ``size`` where it is crowded."""
    for time in times_of(t):
        if time[1] - time[0] > size:
            yield from _crowd(*time, size)
        else:
            yield Step(time, time)


def times_of(t: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """The range of events of each distinct time."""
    yield from pairwise([*starts_of_runs(t).tolist(), len(t)])


def is_crowded(t: npt.NDArray[np.int64], size: int) -> bool:
    """Whether some time has more than ``size`` events."""
    return bool(np.diff(starts_of_runs(t), append=len(t)).max(initial=0) > size)


def _stretches(t: npt.NDArray[np.int64], size: int) -> Iterator[tuple[int, int, bool]]:
    """Ranges (start, stop, crowded): each crowded time by itself, and what lies between two of them."""
    starts = starts_of_runs(t)
    stops = np.append(starts[1:], len(t))[: len(starts)]
    crowded = stops - starts > size
    begins = set(starts[crowded].tolist())
    edges = np.unique(np.concatenate(([0], starts[crowded], stops[crowded], [len(t)])))
    for start, stop in pairwise(edges.tolist()):
        yield start, stop, start in begins


def _crowd(start: int, stop: int, size: int) -> Iterator[Step]:
    """One time of more than ``size`` events: all of it is asked about in pieces before any of it is observed,
    in pieces again. Nobody sees events of its own time, and memory is bounded by ``size``, not by the tie."""
    for piece in _blocks(start, stop, size):
        yield Step(piece, (start, start))
    for piece in _blocks(start, stop, size):
        yield Step((stop, stop), piece)


def _blocks(start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    yield from pairwise([*range(start, stop, size), stop])
