"""The numbers that are read of a source and a candidate: their names, order and scale.

First the kernel sums, a block of M columns each, then single numbers. A network takes y = g·log(1 + k·x)
of each x, with fixed k and g, which brings counts of thousands, ages of months and flags alike to about
0 … 2; nothing is fitted to the data. What is read is k·x.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
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

# Groups: what belongs together, for explanations and ablations.
MEETINGS = "meetings of the pair"
SHARES = "shares of the pair"
RECENCY = "recency rank"
BACKWARDS = "the other way round"
ACTIVITY = "the candidate's activity"
HABITS = "the candidate's habits"
NEXT = "what came next"
NEIGHBOURS = "shared neighbours"
IDENTITY = "identity"
SOURCE = "the source"
REPLIES = "replies"
RENEWAL = "renewal"
RUN = "run"
FAVOURITES = "favourites"
SUCCESSION = "item to item"
NEWCOMERS = "newcomers"
MESSAGES = "messages"
ADDRESSED = "addressed together"


class Number(NamedTuple):
    """One number, or one for each kernel. Those of a later edition come after those of earlier ones, so that
    a model of an edition reads the first columns."""

    name: str
    scale: Scale
    group: str
    edition: int = 1


# The one list of all numbers, in the order in which they are read; compiled loops find their places here.
_SOURCE_SUMS = (
    Number("from the source", SUM, SOURCE),
    Number("to the source", SUM, SOURCE),
)
_SOURCE_SINGLE = (
    Number("age of the source's last event", AGE, SOURCE),
    Number("age of the last event to the source", AGE, SOURCE),
    Number("events of the source", COUNT, SOURCE),
    Number("events to the source", COUNT, SOURCE),
    Number("destinations of the source", COUNT, SOURCE),
    Number("share of returns to the same destination", HABIT, SOURCE),
    Number("share of new destinations", HABIT, SOURCE),
    Number("usual gap between the source's events", AGE, RENEWAL, 2),
    Number("how late the source is", HABIT, RENEWAL, 2),
    Number("events in a row at the last destination", COUNT, RUN, 2),
    Number("usual events in a row", COUNT, RUN, 2),
    Number("events in a row / usual", RATIO, RUN, 2),
    Number("messages of the source", COUNT, MESSAGES, 3),
    Number("destinations of the source's last message", COUNT, MESSAGES, 3),
    Number("usual destinations of the source's messages", COUNT, MESSAGES, 3),
)
_PAIR_SUMS = (
    Number("source to candidate", SUM, MEETINGS),
    Number("candidate to source", SUM, BACKWARDS),
    Number("to the candidate", SUM, ACTIVITY),
    Number("from the candidate", SUM, ACTIVITY),
    Number("share of the source's events", SHARE, SHARES),
    Number("share of the candidate's events", SHARE, SHARES),
)
_PAIR_SINGLE = (
    Number("met before", FLAG, MEETINGS),
    Number("1 / recency rank among the source's destinations", FLAG, RECENCY),
    Number("meetings", COUNT, MEETINGS),
    Number("age of the last meeting", AGE, MEETINGS),
    Number("gap before the last meeting", AGE, MEETINGS),
    Number("age / that gap", RATIO, MEETINGS),
    Number("the source's events since the last meeting", SINCE, SHARES),
    Number("weight in the source's last 2 events", FLAG, SHARES),
    Number("weight in the source's last 5 events", FLAG, SHARES),
    Number("weight in the source's last 20 events", FLAG, SHARES),
    Number("the candidate's events since the last meeting", SINCE, SHARES),
    Number("weight in the candidate's last 2 events", FLAG, SHARES),
    Number("weight in the candidate's last 5 events", FLAG, SHARES),
    Number("weight in the candidate's last 20 events", FLAG, SHARES),
    Number("met the other way round", FLAG, BACKWARDS),
    Number("age of the last meeting the other way round", AGE, BACKWARDS),
    Number("last to have reached the source", FLAG, BACKWARDS),
    Number("age of the candidate's last event", AGE, ACTIVITY),
    Number("age of the candidate's last event as a source", AGE, ACTIVITY),
    Number("events since the candidate's last", SINCE, ACTIVITY),
    Number("events to the candidate", COUNT, ACTIVITY),
    Number("sources of the candidate", COUNT, ACTIVITY),
    Number("last reached by this source", FLAG, HABITS),
    Number("share of those who return to the candidate", HABIT, HABITS),
    Number("share of the candidate's events that are first meetings", HABIT, HABITS),
    Number("share of the candidate's events by the same source as before", HABIT, HABITS),
    Number("where this source went next, last time", FLAG, NEXT),
    Number("where the last one went next", FLAG, NEXT),
    Number("is the source itself", FLAG, IDENTITY),
    Number("two-hop sum", PATHS, NEIGHBOURS),
    Number("two-hop paths", COUNT, NEIGHBOURS),
    Number("three-hop sum", PATHS, NEIGHBOURS),
    Number("three-hop paths", COUNT, NEIGHBOURS),
    Number("1 / recency rank among those who reached the source", FLAG, REPLIES, 2),
    Number("events to answer", COUNT, REPLIES, 2),
    Number("age of the first to answer", AGE, REPLIES, 2),
    Number("was the last of the two to turn to the other", FLAG, REPLIES, 2),
    Number("share of the source in the events of the two", HABIT, REPLIES, 2),
    Number("usual gap between meetings", AGE, RENEWAL, 2),
    Number("spread of the gaps between meetings", SHARE, RENEWAL, 2),
    Number("how late the next meeting is", HABIT, RENEWAL, 2),
    Number("the source's usual events between meetings", SINCE, RENEWAL, 2),
    Number("the source's events since the last meeting / usual", RATIO, RENEWAL, 2),
    Number("1 / rank by weight among the source's latest destinations", FLAG, FAVOURITES, 2),
    Number("share of weight among the source's latest destinations", SHARE, FAVOURITES, 2),
    Number("gone on to from the latest destinations, soon", PATHS, SUCCESSION, 2),
    Number("gone on to from the latest destinations", PATHS, SUCCESSION, 2),
    Number("next after the latest destinations", PATHS, SUCCESSION, 2),
    Number("gone on to from the last destination, soon", PATHS, SUCCESSION, 2),
    Number("gone on to from the last destination", PATHS, SUCCESSION, 2),
    Number("next after the last destination", PATHS, SUCCESSION, 2),
    Number("gone on to, as a cosine", PATHS, SUCCESSION, 2),
    Number("gone on to from destinations that fade", PATHS, SUCCESSION, 2),
    Number("first meetings of the candidate, soon", COUNT, NEWCOMERS, 2),
    Number("first meetings of the candidate, lately", COUNT, NEWCOMERS, 2),
    Number("age of the candidate's last first meeting", AGE, NEWCOMERS, 2),
    Number("new sources that came to the candidate, soon", COUNT, NEWCOMERS, 2),
    Number("new sources that came to the candidate, lately", COUNT, NEWCOMERS, 2),
    Number("age of the last new source at the candidate", AGE, NEWCOMERS, 2),
    Number("the source's messages since the last meeting", SINCE, MESSAGES, 3),
    Number("weight in the source's last 2 messages", FLAG, MESSAGES, 3),
    Number("weight in the source's last 5 messages", FLAG, MESSAGES, 3),
    Number("weight in the source's last 20 messages", FLAG, MESSAGES, 3),
    Number("destinations of the last message to the candidate", COUNT, MESSAGES, 3),
    Number("usual destinations of messages to the candidate", COUNT, MESSAGES, 3),
    Number("addressed with the source by the last who reached it", FLAG, ADDRESSED, 3),
    Number("addressed with the source, soon", SUM, ADDRESSED, 3),
    Number("addressed with the source, lately", SUM, ADDRESSED, 3),
    Number("addressed with the source among few, lately", SUM, ADDRESSED, 3),
    Number("latest who addressed it with the source", COUNT, ADDRESSED, 3),
)


EDITIONS = 3  # so far; a model reads the numbers of its edition and of those before
USUAL_EDITION = 2  # the third is for streams whose events come several at a time


def scales_of(numbers: tuple[Number, ...], edition: int = EDITIONS) -> dict[str, Scale]:
    return {number.name: number.scale for number in numbers if number.edition <= edition}


SOURCE_SUMS, PAIR_SUMS = scales_of(_SOURCE_SUMS), scales_of(_PAIR_SUMS)
_ORDER = (  # of groups, as they are shown
    MEETINGS,
    SHARES,
    RECENCY,
    BACKWARDS,
    ACTIVITY,
    HABITS,
    NEXT,
    NEIGHBOURS,
    IDENTITY,
    SOURCE,
    REPLIES,
    RENEWAL,
    RUN,
    FAVOURITES,
    SUCCESSION,
    NEWCOMERS,
    MESSAGES,
    ADDRESSED,
)


def source_single(edition: int) -> dict[str, Scale]:
    """The single numbers of a source that a model of an edition reads."""
    return scales_of(_SOURCE_SINGLE, edition)


def pair_single(edition: int) -> dict[str, Scale]:
    """The single numbers of a pair that it reads."""
    return scales_of(_PAIR_SINGLE, edition)


def groups_of(edition: int) -> dict[str, tuple[str, ...]]:
    """The names of all numbers that it reads, by group."""
    numbers = [
        number
        for number in _SOURCE_SUMS + _SOURCE_SINGLE + _PAIR_SUMS + _PAIR_SINGLE
        if number.edition <= edition
    ]
    groups = {group: tuple(number.name for number in numbers if number.group == group) for group in _ORDER}
    return {group: names for group, names in groups.items() if names}


SOURCE_SINGLE, PAIR_SINGLE, GROUPS = source_single(EDITIONS), pair_single(EDITIONS), groups_of(EDITIONS)


def place_of(name: str) -> int:
    """Where a single number stands among those of a source, or among those of a pair, in every edition."""
    single = SOURCE_SINGLE if name in SOURCE_SINGLE else PAIR_SINGLE
    return list(single).index(name)


@dataclass(frozen=True)
class Columns:
    """Where each number stands, for M kernels."""

    kernels: int
    edition: int = USUAL_EDITION

    @cached_property
    def source(self) -> list[str]:
        """Names of the numbers of a source alone; those of a kernel sum are repeated."""
        return _names(SOURCE_SUMS, source_single(self.edition), self.kernels)

    @cached_property
    def pair(self) -> list[str]:
        """Names of the numbers of a pair."""
        return _names(PAIR_SUMS, pair_single(self.edition), self.kernels)


def _names(sums: dict[str, Scale], single: dict[str, Scale], kernels: int) -> list[str]:
    return [name for name in sums for _ in range(kernels)] + list(single)


def of_nothing(names: list[str]) -> list[float]:
    """What is read where nothing has happened yet."""
    scale = SOURCE_SINGLE | PAIR_SINGLE
    return [
        NEVER if scale.get(name) in (AGE, SINCE) else 0.5 if scale.get(name) is HABIT else 0.0
        for name in names
    ]
