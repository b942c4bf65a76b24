"""The numbers that are read of a source and a candidate: their names, order and scale.

First the kernel sums, a block of M columns each, then single numbers. A network takes y = g·log(1 + k·x)
of each x, with fixed k and g, which brings counts of thousands, ages of months and flags alike to about
0 … 2; nothing is fitted to the data. What is read is k·x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

NEVER = 1.0e9  # k·x of the age of what has not happened: ten thousand σ


class Scale(NamedTuple):
    """y = gain · log(1 + inner · x)."""

    inner: float
    gain: float


SUM, SHARE = Scale(1.0, 1.0), Scale(1.0, 1.5)
COUNT, FLAG, RATE = Scale(1.0, 1 / 3), Scale(1.0, 1.5), Scale(1.0, 1.5)
AGE = Scale(1e5, 1 / 8)  # in σ: 1e-5 σ is a second where σ is a day
RATIO = Scale(100.0, 1 / 4)
PATHS = Scale(1000.0, 1 / 4)

SOURCE_SUMS = {"from the source": SUM, "to the source": SUM}
SOURCE_SINGLE: dict[str, Scale] = {
    "age of the source's last event": AGE,
    "age of the last event to the source": AGE,
    "events of the source": COUNT,
    "events to the source": COUNT,
    "destinations of the source": COUNT,
    "share of returns to the same destination": RATE,
    "share of new destinations": RATE,
}
PAIR_SUMS = {
    "source to candidate": SUM,
    "candidate to source": SUM,
    "to the candidate": SUM,
    "from the candidate": SUM,
    "share of the source's events": SHARE,
    "share of the candidate's events": SHARE,
}
PAIR_SINGLE: dict[str, Scale] = {
    "met before": FLAG,
    "1 / recency rank among the source's destinations": FLAG,
    "meetings": COUNT,
    "age of the last meeting": AGE,
    "gap before the last meeting": AGE,
    "age / that gap": RATIO,
    "met the other way round": FLAG,
    "age of the last meeting the other way round": AGE,
    "last to have reached the source": FLAG,
    "age of the candidate's last event": AGE,
    "age of the candidate's last event as a source": AGE,
    "events since the candidate's last": COUNT,
    "events to the candidate": COUNT,
    "sources of the candidate": COUNT,
    "last reached by this source": FLAG,
    "share of those who return to the candidate": RATE,
    "share of the candidate's events that are first meetings": RATE,
    "share of the candidate's events by the same source as before": RATE,
    "where this source went next, last time": FLAG,
    "where the last one went next": FLAG,
    "is the source itself": FLAG,
    "two-hop sum": PATHS,
    "two-hop paths": COUNT,
    "three-hop sum": PATHS,
    "three-hop paths": COUNT,
}


@dataclass(frozen=True)
class Columns:
    """Where each number stands, for M kernels."""

    kernels: int

    @property
    def source(self) -> int:
        """Numbers of a source alone."""
        return len(SOURCE_SUMS) * self.kernels + len(SOURCE_SINGLE)

    @property
    def pair(self) -> int:
        """Numbers of a pair."""
        return len(PAIR_SUMS) * self.kernels + len(PAIR_SINGLE)
