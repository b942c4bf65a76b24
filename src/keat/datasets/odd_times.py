"""What the times of a file look like, where they make odd seconds: a date in digits, a spreadsheet's day,
a calendar year, a finer unit. Numbers are taken as they are; this only makes the words of a notice."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import numpy.typing as npt

from keat.events import EventStream
from keat.events.units import SECONDS_PER

Times = npt.NDArray[np.int64]

# Dates in digits: the time format, and how many there are of each two digits from the end.
DIGITS: dict[str, tuple[str, tuple[int, ...]]] = {
    "YYYYMM": ("%Y%m", ()),
    "YYYYMMDD": ("yyyymmdd", (31,)),
    "YYYYMMDDhhmm": ("%Y%m%d%H%M", (59, 23, 31)),
    "YYYYMMDDhhmmss": ("%Y%m%d%H%M%S", (59, 59, 23, 31)),
}
YEARS = (1900, 2100)
BLOCK = 1 << 20  # times looked at together
SHEET_BEGIN = date(1899, 12, 30)  # day 0 of spreadsheets, which take 1900 for a leap year
SHEET_YEARS = (1990, 2070)  # earlier and later day numbers are more likely seconds


def odd_seconds(stream: EventStream) -> str | None:
    """Of times that nobody gave a unit: what they look like and what to do, if they make odd seconds."""
    if stream.unit not in ("s", "us"):  # microseconds are what seconds with fractions become
        return None
    first, last = (float(stream.t[row]) * SECONDS_PER[stream.unit] for row in (0, -1))
    if day := _sheet_day(first, last):
        return f"look like day numbers of a spreadsheet ({int(first)} is {day}); if they are, {_say('excel')}"
    if stream.unit == "us":
        return None
    if form := _date_in_digits(stream.t):
        return f"look like dates written as {form}; if they are, {_say(DIGITS[form][0])}"
    unit = _likely_unit(int(first), int(last))
    return unit and f"if their unit is '{unit}', say so (unit {unit})"


def _say(form: str) -> str:
    return f"say so (time-format {form})"


def _sheet_day(first: float, last: float) -> date | None:
    low, high = ((date(year, 1, 1) - SHEET_BEGIN).days for year in SHEET_YEARS)
    return SHEET_BEGIN + timedelta(days=int(first)) if low <= first and last < high else None


def _date_in_digits(times: Times) -> str | None:
    """The form in which every one of the times is a date, month by month and day by day."""
    for form, (_, largest) in DIGITS.items():
        scale = 100 ** (len(largest) + 1)
        if not YEARS[0] * scale <= times[0] <= times[-1] < YEARS[1] * scale:
            continue
        if all(_are_dates(times[row : row + BLOCK], largest) for row in range(0, len(times), BLOCK)):
            return form
    return None


def _are_dates(times: Times, largest: tuple[int, ...]) -> bool:
    rest, sound = times, np.ones(len(times), dtype=np.bool_)
    for position, most in enumerate((*largest, 12)):
        rest, digits = np.divmod(rest, 100)
        counted_from_one = position >= len(largest) - 1  # months and days, not hours and minutes
        sound &= (digits <= most) & (digits >= counted_from_one)
    return bool(sound.all())


def _likely_unit(first: int, last: int) -> str | None:
    """What numbers that make odd seconds are likely to be: calendar years, or a finer unit since 1970."""
    if first >= 1700 and last <= 2200:
        return "year"
    for unit, per_second in (("ns", 10**9), ("us", 10**6), ("ms", 10**3)):
        if first >= 10**8 * per_second:  # March 1973; as seconds the year 5138, or later
            return unit
    return None
