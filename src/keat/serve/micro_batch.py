"""Events that are committed together, and which of them were taken before.

A client's id makes an event idempotent: sent again, it is not taken again, and has the answer that it had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from keat.errors import InputError
from keat.serve.events import Checked
from keat.serve.happened import Happened
from keat.serve.live_answers import Answer
from keat.serve.live_ids import LiveIds
from keat.serve.log import Log
from keat.serve.log_rows import Row, columns_of
from keat.serve.recent_ids import RecentIds

BATCH = 256  # events at most that are committed together


class ConflictError(InputError):
    """A client's id was given to two different events."""


class Wanted(NamedTuple):
    """What an answer is to have beside its score."""

    rank: bool = False
    reasons: bool = False

    @property
    def alone(self) -> bool:
        """Whether each event is a batch of its own: what is asked is of the state right before it."""
        return self.rank or self.reasons


@dataclass(slots=True, eq=False)
class Prepared:
    """A micro-batch that is scored and not yet committed."""

    first: int  # the number that its first new event has in the log
    nodes_before: int
    slots: list[tuple[int, bool]] = field(default_factory=list)  # of each event: its number, whether known
    conflicts: dict[int, str] = field(default_factory=dict)  # by position, what is wrong
    row: Row | None = None  # None where all of it was known
    happened: Happened | None = None
    reordered: int = 0  # events out of order within the window


def without_known(
    prepared: Prepared, events: Sequence[Checked], recent: RecentIds
) -> tuple[list[Checked], dict[str, int]]:
    """Give each event its slot. Those that are new, and where among them each client's id is."""
    first, fresh = prepared.first, list[Checked]()
    places: dict[str, int] = {}
    for place, event in enumerate(events):
        if event.id is not None:
            number = recent.get(event.id)
            if number is not None:
                prepared.slots.append((number, True))
                continue
            there = places.setdefault(event.id, len(fresh))
            if there < len(fresh):
                prepared.slots.append((first + there, True))
                if fresh[there] != event:
                    prepared.conflicts[place] = other_event(event.id)
                continue
        prepared.slots.append((first + len(fresh), False))
        fresh.append(event)
    return fresh, places


def require_same(event: Checked, recent: RecentIds, log: Log, ids: LiveIds) -> None:
    """An event whose id is known is the one that it was before."""
    number = None if event.id is None else recent.get(event.id)
    if event.id is None or number is None:
        return
    first, row = log.row_of(number)
    place, columns = number - first, columns_of([row])
    was = (
        ids.labels[columns.src[place]],
        ids.labels[columns.dst[place]],
        row.late.get(place, int(columns.t[place])),
    )
    features = tuple(column[place] for column in row.features) or (None,) * len(event.features)
    if was != (event.source, event.destination, event.t) or features != event.features:
        raise ConflictError(other_event(event.id))


def again(answer: Answer) -> Answer:
    """The same answer, marked as one that was given before."""
    return msgspec.structs.replace(answer, again=True)


def other_event(name: str) -> str:
    return f"The id '{name}' was given to another event before; give each event an id of its own."
