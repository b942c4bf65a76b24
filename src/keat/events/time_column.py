"""A time column of any type → int64 in a unit. Nothing is rounded or guessed in silence."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keat.errors import InputError
from keat.events.file_column import Column, ReadAnewError, is_text, to_numpy
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
    reading = TimeReading(unit, form)
    values = reading.look(column)
    reading.tell()
    return reading.settle(values), reading.settled_unit


@dataclass(slots=True)
class TimeReading:
    """How a column of times is read, found by looking at all of it, whole or piece by piece.

    Whether times have fractions, and as what text is read, is known only when everything has been looked at.
    `look` therefore gives numbers that `settle` makes times of, afterwards. A reading that has seen all of a
    column reads it once more in the same way.
    """

    unit: TimeUnit | None  # as it was said; `look` finds it where it was not
    form: str | None = None
    fractional: bool = False  # somewhere, so that all times are of a finer unit
    text_forms: list[int] | None = None  # places in TEXT_FORMS of those that all rows may still have
    pieces: int = 0
    _failed: list[tuple[int, int, InputError]] = field(default_factory=list)
    _coarse: tuple[Column, np.dtype[Any]] | None = None
    _fraction: tuple[Column, TimeUnit] | None = None
    _overflow: InputError | None = None  # of a time that fits if no time has a fraction
    _found: TimeUnit | None = None

    def look(self, column: Column) -> npt.NDArray[Any]:
        """The times of a piece that is sound, as int64, or as float64 where they are not settled yet."""
        column.require_values("every event needs a time, so fill it in or drop the row")
        column = column.plain()
        if self.form is not None:
            column = formatted_times(column, self.form)
        elif is_text(column.type):
            column = self._parsed(column)
        if pa.types.is_decimal(column.type):
            column = column.holding(column.data.cast(pa.float64()))
        kind = column.type
        values: npt.NDArray[Any]
        if pa.types.is_integer(kind):
            values, self._found = _from_integers(column), self.unit or "s"
        elif pa.types.is_floating(kind):
            values, self._found = self._from_floats(column, self.unit or "s"), self.unit or "s"
        elif pa.types.is_date(kind):
            values, self._found = _from_dates(column, self.unit)
        elif pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
            values, self._found = _from_datetimes(column, self.unit)
        else:
            raise column.error(f"the values are {kind}, not times", do="give numbers, dates or datetimes")
        self.pieces += 1
        return values

    def anew(self) -> TimeReading:
        """Of a reading that is to begin from the first piece again: what it has learned of the form."""
        return TimeReading(self.unit, self.form, text_forms=self.text_forms, _failed=self._failed)

    def settle(self, values: npt.NDArray[Any]) -> Times:
        """Times, of what `look` gave, as far as is known now."""
        if self.fractional and values.dtype.kind == "f":
            values = np.rint(values * MILLION)
        return values.astype(np.int64, copy=False)

    @property
    def settled_unit(self) -> TimeUnit:
        assert self._found is not None  # something was looked at
        return FINER[self._found] if self.fractional else self._found

    def tell(self) -> None:
        """Notices about all that was looked at."""
        if self._coarse is not None:
            column, kind = self._coarse
            column.notice(f"{kind} is too coarse for times this large, so they may be rounded")
        if self._fraction is not None:
            column, unit = self._fraction
            column.notice(f"times in '{unit}' have fractions, kept by converting to whole '{FINER[unit]}'")

    def _parsed(self, column: Column) -> Column:
        """Text as numbers or datetimes; an error at the first row that is neither."""
        if self.text_forms is None:
            first = column.holding(column.data.slice(0, 1))
            self.text_forms = [k for k, form in enumerate(TEXT_FORMS) if first.first_not(form) is None]
        failed = len(self._failed)
        while self.text_forms:
            form = TEXT_FORMS[self.text_forms[0]]
            if (row := column.first_not(form)) is None:
                if len(self._failed) > failed and self.pieces:
                    raise ReadAnewError
                return column.holding(column.data.cast(form))
            self._failed.append((self.pieces, row, _no_time(column, row)))
            del self.text_forms[0]
        raise max(self._failed, default=(0, 0, _no_time(column, 0)), key=lambda each: each[:2])[2]

    def _from_floats(self, column: Column, unit: TimeUnit) -> npt.NDArray[np.float64]:
        stored = to_numpy(column.data)
        values = stored.astype(np.float64, copy=False)
        column.refuse(
            ~np.isfinite(values), lambda row: f"the time is {values[row]}", do="fill it in or drop the row"
        )
        fractional = values != np.floor(values)
        if unit not in FINER:
            column.refuse(
                fractional,
                lambda row: f"{values[row]} is not a whole {unit}",
                do="convert the times to whole numbers, or to seconds or milliseconds",
            )
        elif not self.fractional and fractional.any():
            self.fractional, self._fraction = True, (column.without_data(), unit)
            if self._overflow is not None:
                raise self._overflow
        finer = np.rint(values * MILLION) if unit in FINER else values
        largest = np.abs(finer if self.fractional else values)
        column.refuse(largest >= 2.0**63, lambda row: _overflow(column, row), do=COARSER)
        if self._overflow is None and (beyond := np.abs(finer) >= 2.0**63).any():
            row = int(np.argmax(beyond))
            self._overflow = column.error(_overflow(column, row), do=COARSER, row=row)
        _require_not_negative(column, finer)
        if self._coarse is None and np.abs(stored).max(initial=0) > 2 ** (np.finfo(stored.dtype).nmant + 1):
            self._coarse = column.without_data(), stored.dtype
        return values


def _overflow(column: Column, row: int) -> str:
    return OVERFLOW.format(value=column.data[row])


def _no_time(column: Column, row: int) -> InputError:
    value = str(column.data[row])
    if (row or column.first) and _is_iso(value):
        return column.error(
            f"'{value}' is not written as the times before it are",
            do="write all alike, also in that they have a time zone or none",
            row=row,
        )
    return column.error(
        f"'{value}' is not a time",
        do="write numbers or ISO 8601 datetimes such as 2024-05-31 13:45:00, or give the time format",
        row=row,
    )


def _is_iso(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _from_integers(column: Column) -> Times:
    if pa.types.is_uint64(column.type):
        column = column.cast(pa.int64(), OVERFLOW, do=COARSER)
    times = to_numpy(column.data, np.int64)
    _require_not_negative(column, times)
    return times


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
    is_date = pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)
    what = "before 1970" if is_date else "negative"
    column.refuse(
        times < 0,
        lambda row: f"the time is {what} ({column.data[row].cast(pa.string())})",
        do="shift all times so that none is",
    )
