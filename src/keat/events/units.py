"""Units of time. Time in keat is always int64 *in a unit*, and no score depends on which."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, get_args

from keat.clock import PLAIN, Clock
from keat.errors import InputError, unknown_name

TimeUnit = Literal["s", "ms", "us", "ns", "day", "year"]
UNITS: tuple[TimeUnit, ...] = get_args(TimeUnit)

LENGTHS: dict[TimeUnit, Fraction] = {  # in seconds, exactly
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
    "day": Fraction(86_400),
    "year": Fraction(31_556_952),  # 365.2425 days
}
SECONDS_PER: dict[TimeUnit, float] = {unit: float(length) for unit, length in LENGTHS.items()}
TICK = "tick"  # the stream's own numbers, whatever their unit

_LADDER = (
    ("years", SECONDS_PER["year"]),
    ("days", 86_400.0),
    ("h", 3_600.0),
    ("min", 60.0),
    ("s", 1.0),
    ("ms", 1e-3),
    ("µs", 1e-6),
    ("ns", 1e-9),
)


def require_unit(unit: str) -> None:
    if unit not in UNITS:
        raise InputError(f"Unknown time unit '{unit}'; use one of {', '.join(UNITS)}.")


def clock_of(unit: TimeUnit, measured_in: str = "s") -> Clock:
    """The clock that measures the times of a stream in another unit, or as they are (``"tick"``)."""
    if measured_in == TICK:
        return PLAIN
    if measured_in not in LENGTHS:
        raise unknown_name("unit of a clock", measured_in, [*UNITS, TICK])
    ratio = LENGTHS[unit] / LENGTHS[measured_in]
    return Clock(ratio.numerator, ratio.denominator)


def humanize(amount: float, unit: TimeUnit) -> str:
    """A duration as a person would say it: ``humanize(80111.6, "s") == "22.3 h"``."""
    if unit == "year":  # a calendar unit: do not pretend to know seconds
        return _counted(amount, "years")
    seconds = amount * SECONDS_PER[unit]
    if seconds == 0:
        return f"0 {unit}"
    for name, size in _LADDER:
        if abs(seconds) >= size:
            return _counted(seconds / size, name)
    return f"{seconds:.3g} s"


def _counted(amount: float, name: str) -> str:
    number = f"{amount:.3g}"
    return f"{number} {name.removesuffix('s') if number == '1' and name in ('days', 'years') else name}"
