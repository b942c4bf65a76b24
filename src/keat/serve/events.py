"""Events, pairs and questions as clients write them, and what becomes of them once they are checked."""

from __future__ import annotations

import time as clock
from typing import Annotated, NamedTuple

import msgspec

from keat.errors import InputError
from keat.events import TimeUnit
from keat.events.units import SECONDS_PER, clock_of
from keat.events.written_times import EARLIEST, is_calendar, parsed, spoken
from keat.serve.live_features import LiveFeatures
from keat.serve.live_ids import Label, LiveIds
from keat.serve.log_rows import Value

LONGEST_ID = 200  # characters of a client's id of an event
AHEAD = 86_400  # seconds that an event may be ahead of the clock of this machine
Written = Annotated[str, msgspec.Meta(max_length=4_096)] | int


class Event(msgspec.Struct, forbid_unknown_fields=True):
    """One event as a client sends it."""

    source: Written
    destination: Written
    time: int | float | Annotated[str, msgspec.Meta(max_length=64)]
    id: str | None = None
    features: dict[str, float | str | list[float] | None] | None = None


class Pair(msgspec.Struct, forbid_unknown_fields=True):
    """A pair to score, as of a time."""

    source: Written
    destination: Written
    time: int | float | Annotated[str, msgspec.Meta(max_length=64)] | None = None
    features: dict[str, float | str | list[float] | None] | None = None


class RankQuestion(msgspec.Struct, forbid_unknown_fields=True):
    """Whose destinations to rank: among candidates, or among all that are known."""

    source: Written
    candidates: list[Written] | None = None
    time: int | float | Annotated[str, msgspec.Meta(max_length=64)] | None = None
    top: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 10


class LabelTold(msgspec.Struct, forbid_unknown_fields=True):
    """The truth about an event, which came late: the event is named by its number or by the client's id."""

    label: float | bool
    seq: int | None = None
    id: str | None = None


class Checked(NamedTuple):
    """An event that can be taken."""

    source: Label
    destination: Label
    t: int
    id: str | None
    features: tuple[Value, ...]


class Checker:
    """Looks at what clients send before anything is done with it."""

    def __init__(self, ids: LiveIds, features: LiveFeatures, unit: TimeUnit, last_time: int) -> None:
        self.ids, self.features, self.unit = ids, features, unit
        self._calendar = is_calendar(last_time, unit)  # whether times are those of the calendar
        self._latest = (1 << 61) // clock_of(unit).multiply  # beyond it, an age may not fit 64 bits

    def event(self, event: Event) -> Checked:
        name = event.id
        if name is not None and not 0 < len(name) <= LONGEST_ID:
            raise InputError(f"The id of an event has 1 to {LONGEST_ID} characters; this has {len(name)}.")
        return Checked(
            self.ids.read(event.source),
            self.ids.read(event.destination),
            self._time_of_event(event.time),
            name,
            self.features.read(event.features),
        )

    def time(self, written: float | str) -> int:
        """A time as the stream has it."""
        t = written if type(written) is int and written >= 0 else parsed(written, self.unit)
        if t > self._latest:
            raise InputError(f"{t} is no time that this run can reckon with; check its unit, {self.unit}.")
        return t

    def _time_of_event(self, written: float | str) -> int:
        t = self.time(written)
        if not self._calendar:
            return t
        seconds = t * SECONDS_PER[self.unit]
        if seconds > clock.time() + AHEAD:
            raise InputError(
                f"{spoken(t, self.unit)} is more than a day ahead of the clock here; times of this run "
                f"are in {self.unit}."
            )
        if seconds < EARLIEST:
            raise InputError(f"{t} is no date of this run, whose times are in {self.unit} since 1970.")
        return t
