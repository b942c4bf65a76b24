"""Times as people write them: in and out of a run, whose own are whole numbers of a unit."""

from __future__ import annotations

from datetime import UTC, date, datetime
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keat.errors import InputError
from keat.events import TimeUnit
from keat.events.units import LENGTHS

EXACT = 1 << 53  # up to here a float holds every whole number
EARLIEST = 10**8  # seconds; a stream that is later than March 1973 counts from 1970
LATEST = 253_402_300_800  # the year 10000, which Python's dates do not reach
ARROW_UNITS = ("s", "ms", "us", "ns")


def is_calendar(t: int, unit: TimeUnit) -> bool:
    """Whether a time is likely one of the calendar, and not a count from some beginning."""
    return unit != "year" and EARLIEST <= t * LENGTHS[unit] < LATEST


def spoken(t: int, unit: TimeUnit) -> str:
    """``2024-02-05 10:00:00`` where it is a time of the calendar, else the number with its unit."""
    if not is_calendar(t, unit):
        return f"{t} ({unit})"
    if unit == "day":
        return str(date.fromordinal(date(1970, 1, 1).toordinal() + t))
    moment, _, fraction = str(pa.scalar(t, pa.timestamp(unit)).cast(pa.string())).partition(".")
    return f"{moment}.{fraction}" if fraction.strip("0") else moment


def spoken_column(t: npt.NDArray[np.int64], unit: TimeUnit) -> pa.Array:
    """The same of many times."""
    if not len(t) or not (is_calendar(int(t.min()), unit) and is_calendar(int(t.max()), unit)):
        return pa.array([spoken(moment, unit) for moment in t.tolist()], pa.string())
    if unit == "day":
        return pa.array(t.astype(np.int32), pa.date32()).cast(pa.string())
    written = pa.array(t, pa.timestamp(unit)).cast(pa.string())
    return pc.replace_substring_regex(written, r"\.0+$", "")


def parsed(when: Any, unit: TimeUnit) -> int:
    """The time that somebody wrote: a whole number in the stream's unit, an ISO 8601 text, or a datetime.
    Without a time zone it is taken as UTC, as in the files that are read."""
    if isinstance(when, bool):
        raise _unreadable(when)
    if isinstance(when, float) and when.is_integer() and abs(when) < EXACT:  # of a column with fractions
        when = int(when)
    if isinstance(when, Integral) or (isinstance(when, str) and when.strip().lstrip("-").isdecimal()):
        return _in_range(int(when))
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when.strip())
        except ValueError:
            raise _unreadable(when) from None
    if isinstance(when, date) and not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day)
    if not isinstance(when, datetime):
        raise _unreadable(when)
    if unit == "year":
        return when.year
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
    since = when - datetime(1970, 1, 1, tzinfo=UTC)
    microseconds = (since.days * 86_400 + since.seconds) * 10**6 + since.microseconds
    return _in_range(int(microseconds * LENGTHS["us"] / LENGTHS[unit]))


def _in_range(t: int) -> int:
    if not 0 <= t < 1 << 63:
        raise InputError(f"{t} is no time: times are whole numbers from 0 to 2⁶³ - 1.")
    return t


def _unreadable(when: Any) -> InputError:
    return InputError(
        f"'{when}' is no time; write a date like 2024-05-31 13:45:00, or a whole number in the stream's unit."
    )
