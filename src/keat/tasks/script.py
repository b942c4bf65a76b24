"""A task is a script: what to ask and what to observe, in the order of time.

The evaluation loop plays it and knows nothing else. Whatever a model could know when it is asked was
said in an earlier line of the script, so the freshness of the state is visible in one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch

from keat.errors import InputError
from keat.events import EventStream, NodeLabels
from keat.models.contract import NodeQueries, Queries

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


def refresh_steps(t: npt.NDArray[np.int64], refresh: int) -> Iterator[tuple[int, int]]:
    """Ranges of events that are asked about before any of them is observed, ``refresh`` at a time: the
    state is as of the start of the range, which is TGB's protocol at 200. (As in TGB, a range may end
    between two events of the same time, and the second is asked with the first observed; only 1 is strict,
    see `steps_in_turn`.)
    """
    if refresh < 1:
        raise InputError(f"--refresh must be at least 1, not {refresh}.")
    yield from pairwise([*range(0, len(t), refresh), len(t)])


def steps_in_turn(t: npt.NDArray[np.int64], size: int) -> Iterator[tuple[int, int]]:
    """Ranges of about ``size`` events that begin and end between two distinct times: within one, events
    can be asked and observed in turn, time by time."""
    starts = starts_of_runs(t)
    wanted = np.searchsorted(starts, np.arange(0, len(t), size))
    cuts = np.unique(starts[wanted[wanted < len(starts)]])
    yield from pairwise([*cuts.tolist(), len(t)])


def starts_of_runs(t: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where each distinct value of a sorted array begins."""
    return np.flatnonzero(np.append(True, t[1:] != t[:-1])[: len(t)])
