"""Units of time. Time in keat is always int64 *in a unit*; the unit is only used to speak of it."""

from __future__ import annotations

from typing import Literal, get_args

from keat.errors import InputError

TimeUnit = Literal["s", "ms", "us", "ns", "day", "year"]
UNITS: tuple[TimeUnit, ...] = get_args(TimeUnit)

SECONDS_PER: dict[TimeUnit, float] = {
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
    "day": 86_400.0,
    "year": 365.2425 * 86_400.0,
}

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
