"""Times and durations as people write and read them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from keat.errors import InputError
from keat.events import humanize
from keat.events.units import SECONDS_PER, TimeUnit
from keat.explain.explained import Explained

_SECONDS = {
    "s": 1.0,
    "min": 60.0,
    "h": 3_600.0,
    "d": 86_400.0,
    "w": 604_800.0,
    "y": SECONDS_PER["year"],
}
_LONGEST = 2.0**62  # ticks: an age that is made older still fits into 64 bits
_CALENDAR = 3e8  # seconds: before 1980 a time is a count from some start, not a date


def duration(text: str, unit: TimeUnit) -> int:
    """``duration("3d", "s") == 259200``; a bare number is in the stream's own unit."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text)
    if found is None or (found[2] and found[2] not in _SECONDS):
        raise InputError(f"'{text}' is no duration; write it like 90s, 30min, 12h, 3d, 2w or 1y.")
    amount = float(found[1])
    length = amount * _SECONDS[found[2]] / SECONDS_PER[unit] if found[2] else amount
    if length >= _LONGEST:
        raise InputError(f"'{text}' is longer than time can be counted in {unit}; make it shorter.")
    ticks = round(length)
    if ticks < 1:
        raise InputError(
            f"'{text}' is shorter than one {unit}, the unit of time of this stream; make it longer."
        )
    return ticks


def three_days(unit: TimeUnit) -> int:
    """How much older an event is made unless something else is said; at least one tick."""
    return max(1, round(3 * 86_400 / SECONDS_PER[unit]))


def ago(age: int, unit: TimeUnit) -> str:
    """An age as a person would say it."""
    return humanize(age, unit) if age else f"0 {unit}"


def short_ago(age: int, unit: TimeUnit) -> str:
    """The same for a narrow column: 22.7h, 1.01d."""
    return ago(age, unit).replace(" days", "d").replace(" day", "d").replace(" ", "")


def moment(t: int, unit: TimeUnit) -> str:
    """A time as a date where it can be one."""
    seconds = t * SECONDS_PER[unit]
    if unit == "year":
        return str(t)
    if seconds >= _CALENDAR:
        try:
            return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%d %H:%M")
        except (ValueError, OverflowError, OSError):  # beyond the calendar: the unit is probably another
            pass
    return f"{t:,} {unit}"


def where_and_when(x: Explained) -> str:
    """The time of what is explained, and in which data."""
    when = f"at {moment(x.t, x.unit)}"
    return when if x.dataset is None else f"{when} · {x.dataset}"


def signed(value: float, plus: bool = True) -> str:
    """Three decimals with a true minus sign; a dash for what is no number."""
    if math.isnan(value):
        return "–"
    text = f"{value:+.3f}" if plus else f"{value:.3f}"
    return text.replace("-", "−")


def times(number: float) -> str:
    """How often: never, once, twice, 12 times."""
    return {0: "never", 1: "once", 2: "twice"}.get(round(number), f"{number:,.0f} times")


def several(number: float, what: str) -> str:
    """1 event, 12 events."""
    return f"{number:,.0f} {what}{'' if round(number) == 1 else 's'}"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 11th, 1,001st."""
    last = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{last}"


def both(clauses: Sequence[str]) -> str:
    """Several clauses as one; a comma before "and" keeps those apart that have commas themselves."""
    *first, last = clauses
    return f"{', '.join(first)}, and {last}" if first else last


def percent(share: float) -> str:
    """Two digits; what is neither 0 nor 1 is never called 0 % or 100 %."""
    if 0 < share < 1e-4:
        return "less than 0.01 %"
    if 0.995 <= share < 1:
        return "more than 99 %"
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def amount(value: float | str | list[float]) -> str:
    """A number in three digits with separators, a text as it is, a list in short."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return f"{len(value)} numbers"
    if value and not 1e-3 <= abs(value) < 1e9:
        return f"{value:.2e}".replace("-", "−")
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    text = f"{value:,.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def rank_written(rank: float) -> str:
    """A rank between two is the middle of those that are level."""
    return f"{rank:,.1f}".removesuffix(".0")
