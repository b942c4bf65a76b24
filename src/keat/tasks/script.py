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

TGB_BATCH = 200  # events between two refreshes of the state in TGB's protocol


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """Score these; rows ``start:stop`` of the task's targets."""

    queries: tuple[Queries, ...] | tuple[NodeQueries, ...]
    start: int
    stop: int


@dataclass(frozen=True, slots=True, eq=False)
class Observe:
    """These events have happened."""

    events: EventStream


@dataclass(frozen=True, slots=True, eq=False)
class Reveal:
    """These node labels have become known."""

    labels: NodeLabels


Line = Ask | Observe | Reveal


class Task(Protocol):
    """Turns a stream into questions, and answers into a metric."""

    kind: str

    def __len__(self) -> int:
        """Targets in all."""

    def script(self, refresh: int) -> Iterator[Line]:
        """From an empty state to the end of the split."""

    def outcome(self, ask: Ask, scores: Sequence[torch.Tensor]) -> torch.Tensor:
        """What is kept of the scores of one ask: (rows,) or (rows, …)."""

    def metrics(self, outcomes: torch.Tensor) -> dict[str, float]:
        """From the outcomes of all targets, in order."""


def refresh_steps(t: npt.NDArray[np.int64], refresh: int) -> Iterator[tuple[int, int]]:
    """Ranges of events that are asked about before any of them is observed.

    ``refresh`` events at a time: the state is as of the start of the range, which is TGB's protocol at
    200. At 1 a range is all events of one time: the state then knows every strictly earlier time and
    nothing else. (Between 2 and 199, as in TGB, a range may end between two events of the same time, and
    the second is asked with the first observed; only 1 is strict.)
    """
    if refresh < 1:
        raise InputError(f"--refresh must be at least 1, not {refresh}.")
    if refresh == 1:
        starts = np.flatnonzero(np.append(True, t[1:] != t[:-1])[: len(t)])
    else:
        starts = np.arange(0, len(t), refresh)
    yield from pairwise([*starts.tolist(), len(t)])
