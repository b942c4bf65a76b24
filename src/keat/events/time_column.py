"""A time column of any type → int64 in a unit. Nothing is rounded or guessed in silence."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keat.errors import Notice
from keat.events.columns import Column, is_text, to_numpy
from keat.events.time_format import formatted_times
from keat.events.units import TimeUnit

Times = npt.NDArray[np.int64]
OVERFLOW, COARSER = "{value} does not fit 64-bit integers", "use a coarser unit of time"

# Where float times have fractions they are kept, as whole numbers of a unit a million times finer.
FINER: dict[TimeUnit, TimeUnit] = {"s": "us", "ms": "ns"}
MILLION = 1e6

# Text is read as the first of these that its first row fits.
TEXT_FORMS = (pa.int64(), pa.float64(), pa.timestamp("us"), pa.timestamp("us", "UTC"))


def read_time(column: Column, unit: TimeUnit | None, form: str | None = None) -> tuple[Times, TimeUnit]:
    """The times and their unit: the column's own for dates, else ``unit`` (seconds if not given). ``form`` is
    how they are written, if in no usual way."""
    column.require_values("every event needs a time, so fill it in or drop the row")
    column = column.plain()
    if form is not None:
        column = formatted_times(column, form)
    elif is_text(column.type):
        column = _parsed(column)
    kind = column.type
    if pa.types.is_decimal(kind):
        column = Column(column.where, column.name, column.data.cast(pa.float64()))
        kind = column.type
    if pa.types.is_integer(kind):
        times, unit = _from_integers(column), unit or "s"
    elif pa.types.is_floating(kind):
        times, unit = _from_floats(column, unit or "s")
    elif pa.types.is_date(kind):
        times, unit = _from_dates(column, unit)
    elif pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        times, unit = _from_datetimes(column, unit)
    else:
        raise column.error(f"the values are {kind}, not times", do="give numbers, dates or datetimes")
    return times, unit


def _parsed(column: Column) -> Column:
    """Text as numbers or datetimes; an error at the first row that is neither."""
    first = Column(column.where, column.name, column.data.slice(0, 1))
    forms = [form for form in TEXT_FORMS if first.first_not(form) is None]
    rows = [column.first_not(form) for form in forms]
    for form, row in zip(forms, rows, strict=True):
        if row is None:
            return Column(column.where, column.name, column.data.cast(form))
    row = max((row for row in rows if row is not None), default=0)
    raise column.error(
        f"'{column.data[row]}' is not a time",
        do="write numbers or ISO 8601 datetimes such as 2024-05-31 13:45:00, or give the time format",
        row=row,
    )


def _from_integers(column: Column) -> Times:
    if pa.types.is_uint64(column.type):
        column = column.cast(pa.int64(), OVERFLOW, do=COARSER)
    times = to_numpy(column.data, np.int64)
    _require_not_negative(column, times)
    return times


def _from_floats(column: Column, unit: TimeUnit) -> tuple[Times, TimeUnit]:
    stored = to_numpy(column.data)
    values = stored.astype(np.float64, copy=False)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise column.error(f"the time is {values[row]}", do="fill it in or drop the row", row=row)
    fractional = values != np.floor(values)
    if fractional.any():
        if unit not in FINER:
            row = int(np.argmax(fractional))
            raise column.error(
                f"{values[row]} is not a whole {unit}",
                do="convert the times to whole numbers, or to seconds or milliseconds",
                row=row,
            )
        values = np.rint(values * MILLION)
    if (too_large := np.abs(values) >= 2.0**63).any():
        row = int(np.argmax(too_large))
        raise column.error(OVERFLOW.format(value=column.data[row]), do=COARSER, row=row)
    _require_not_negative(column, values)
    if np.abs(stored).max() > 2 ** (np.finfo(stored.dtype).nmant + 1):
        _notify(column, f"{stored.dtype} is too coarse for times this large, so they may be rounded.")
    if fractional.any():
        _notify(column, f"times in '{unit}' have fractions, kept by converting to whole '{FINER[unit]}'.")
        unit = FINER[unit]
    return values.astype(np.int64), unit


def _from_dates(column: Column, unit: TimeUnit | None) -> tuple[Times, TimeUnit]:
    if unit not in (None, "day"):
        raise column.error(f"dates are in days, not '{unit}'", do="leave the unit out")
    days = to_numpy(column.data.cast(pa.date32()).cast(pa.int32()), np.int64)
    _require_not_negative(column, days)
    return days, "day"


def _from_datetimes(column: Column, unit: TimeUnit | None) -> tuple[Times, TimeUnit]:
    own: TimeUnit = column.type.unit
    if unit is not None and unit != own:
        if unit in ("day", "year"):
            raise column.error(f"datetimes are in '{own}', not '{unit}'", do="leave the unit out")
        target = (
            pa.duration(unit) if pa.types.is_duration(column.type) else pa.timestamp(unit, column.type.tz)
        )
        column = column.cast(target, f"{{value}} does not fit whole '{unit}'", do="leave the unit out")
    times = to_numpy(column.data.cast(pa.int64()))
    _require_not_negative(column, times)
    return times, unit or own


def _require_not_negative(column: Column, times: npt.NDArray[Any]) -> None:
    if times.min() < 0:
        row = int(np.argmax(times < 0))
        value = column.data[row].cast(pa.string())
        raise column.error(f"the time is negative ({value})", do="shift all times so that none is", row=row)


def _notify(column: Column, what: str) -> None:
    warnings.warn(f"{column.where}, column '{column.name}': {what}", Notice, stacklevel=5)
