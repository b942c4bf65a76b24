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
COUNT, FLAG = Scale(1.0, 1 / 3), Scale(1.0, 1.5)
HABIT = Scale(1.0, 1.6)  # a running share that starts at ½
SINCE = Scale(1.0, 1 / 5)  # an age in events
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
    "share of returns to the same destination": HABIT,
    "share of new destinations": HABIT,
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
    "the source's events since the last meeting": SINCE,
    "weight in the source's last 2 events": FLAG,
    "weight in the source's last 5 events": FLAG,
    "weight in the source's last 20 events": FLAG,
    "the candidate's events since the last meeting": SINCE,
    "weight in the candidate's last 2 events": FLAG,
    "weight in the candidate's last 5 events": FLAG,
    "weight in the candidate's last 20 events": FLAG,
    "met the other way round": FLAG,
    "age of the last meeting the other way round": AGE,
    "last to have reached the source": FLAG,
    "age of the candidate's last event": AGE,
    "age of the candidate's last event as a source": AGE,
    "events since the candidate's last": SINCE,
    "events to the candidate": COUNT,
    "sources of the candidate": COUNT,
    "last reached by this source": FLAG,
    "share of those who return to the candidate": HABIT,
    "share of the candidate's events that are first meetings": HABIT,
    "share of the candidate's events by the same source as before": HABIT,
    "where this source went next, last time": FLAG,
    "where the last one went next": FLAG,
    "is the source itself": FLAG,
    "two-hop sum": PATHS,
    "two-hop paths": COUNT,
    "three-hop sum": PATHS,
    "three-hop paths": COUNT,
}


GROUPS: dict[str, tuple[str, ...]] = {  # what belongs together, for explanations and ablations
    "meetings of the pair": (
        "source to candidate",
        "met before",
        "meetings",
        "age of the last meeting",
        "gap before the last meeting",
        "age / that gap",
    ),
    "shares of the pair": (
        "share of the source's events",
        "share of the candidate's events",
        "the source's events since the last meeting",
        "weight in the source's last 2 events",
        "weight in the source's last 5 events",
        "weight in the source's last 20 events",
        "the candidate's events since the last meeting",
        "weight in the candidate's last 2 events",
        "weight in the candidate's last 5 events",
        "weight in the candidate's last 20 events",
    ),
    "recency rank": ("1 / recency rank among the source's destinations",),
    "the other way round": (
        "candidate to source",
        "met the other way round",
        "age of the last meeting the other way round",
        "last to have reached the source",
    ),
    "the candidate's activity": (
        "to the candidate",
        "from the candidate",
        "age of the candidate's last event",
        "age of the candidate's last event as a source",
        "events since the candidate's last",
        "events to the candidate",
        "sources of the candidate",
    ),
    "the candidate's habits": (
        "last reached by this source",
        "share of those who return to the candidate",
        "share of the candidate's events that are first meetings",
        "share of the candidate's events by the same source as before",
    ),
    "what came next": ("where this source went next, last time", "where the last one went next"),
    "shared neighbours": ("two-hop sum", "two-hop paths", "three-hop sum", "three-hop paths"),
    "identity": ("is the source itself",),
    "the source": (*SOURCE_SUMS, *SOURCE_SINGLE),
}


@dataclass(frozen=True)
class Columns:
    """Where each number stands, for M kernels."""

    kernels: int

    @property
    def source(self) -> list[str]:
        """Names of the numbers of a source alone; those of a kernel sum are repeated."""
        return _names(SOURCE_SUMS, SOURCE_SINGLE, self.kernels)

    @property
    def pair(self) -> list[str]:
        """Names of the numbers of a pair."""
        return _names(PAIR_SUMS, PAIR_SINGLE, self.kernels)


def _names(sums: dict[str, Scale], single: dict[str, Scale], kernels: int) -> list[str]:
    return [name for name in sums for _ in range(kernels)] + list(single)


def of_nothing(names: list[str]) -> list[float]:
    """What is read where nothing has happened yet."""
    scale = SOURCE_SINGLE | PAIR_SINGLE
    return [
        NEVER if scale.get(name) in (AGE, SINCE) else 0.5 if scale.get(name) is HABIT else 0.0
        for name in names
    ]
