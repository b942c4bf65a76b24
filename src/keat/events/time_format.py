"""Times written in a form of their own: 31.01.2024 13:45, 20240131, a spreadsheet's 45321.5.

Python's strptime says what fits a format. Arrow reads a column a hundred times faster but takes 31 February
for 2 March, so its answer counts only where it is written back as the very same text.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keat.errors import InputError
from keat.events.columns import Column, is_text, to_numpy

EXCEL = "excel"
NAMED = {"yyyymmdd": "%Y%m%d"}
HOW = f"write it for strptime, like %d.%m.%Y %H:%M, or use {', '.join([*NAMED, EXCEL])}"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_IN_SHEETS = 25_569  # the day number of 1970-01-01
LAST_IN_SHEETS = 2_958_466  # of the end of the year 9999
MILLISECONDS_A_DAY = 86_400_000
MICROSECONDS_A_DAY = 86_400_000_000

YEAR = re.compile("%[YyGcx]")
TIME_OF_DAY = re.compile("%[HIMSfpXczZ]")
RUN_TOGETHER = re.compile("%[YymdHMSjI]%[YymdHMSjI]")  # digits whose number alone tells where one ends


def require_time_format(form: str) -> None:
    """``form`` is a name that is known, or what strptime understands and has a year in it."""
    if form == EXCEL or form in NAMED:
        return
    if "%" not in form:
        raise InputError(f"'{form}' is not a format of times; {HOW}.")
    try:
        datetime.strptime("", form)
    except (ValueError, re.error) as error:
        if "does not match" not in str(error):
            raise InputError(f"'{form}' is not a format of times ({error}); {HOW}.") from error
    if not YEAR.search(form):
        raise InputError(f"'{form}' has no year, so its times have no order; {HOW}.")


def formatted_times(column: Column, form: str) -> Column:
    """The datetimes of a column that is written in ``form``, or the dates, if it has no time of day."""
    if pa.types.is_temporal(column.type):
        raise column.error(f"the values are {column.type} already", do="leave the time format out")
    if form == EXCEL:
        return _from_sheet(column)
    form = NAMED.get(form, form)
    times = _microseconds(_written(column), form)
    if not TIME_OF_DAY.search(form):
        days = pa.array((times // MICROSECONDS_A_DAY).astype(np.int32)).cast(pa.date32())
        return Column(column.where, column.name, pa.chunked_array([days]))
    moments = pa.array(times).cast(pa.timestamp("us"))
    if "%f" not in form:
        moments = moments.cast(pa.timestamp("s"))
    return Column(column.where, column.name, pa.chunked_array([moments]))


def _written(column: Column) -> Column:
    """As text without blanks around it, and none of it empty."""
    if pa.types.is_floating(column.type):  # what a frame makes of whole numbers where one was missing
        column = column.cast(pa.int64(), "{value} is not a whole number", do="write the times as text")
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        column = column.from_bytes()
    if not (is_text(column.type) or pa.types.is_integer(column.type)):
        raise column.error(f"the values are {column.type}, not times", do="write them as text")
    text = pc.utf8_trim_whitespace(column.data.cast(pa.large_string()))
    column = Column(column.where, column.name, text)
    if (row := pc.index(text, "").as_py()) >= 0:
        raise column.error(
            "the value is missing", do="every event needs a time, so fill it in or drop the row", row=row
        )
    return column


def _microseconds(column: Column, form: str) -> npt.NDArray[np.int64]:
    """Since 1970; an error at the first row that does not fit."""
    times, doubtful = _by_arrow(column.data, form)
    rows = np.flatnonzero(doubtful)
    if len(rows) == 0:
        return times
    encoded = column.data.take(pa.array(rows)).combine_chunks().dictionary_encode()
    values = np.zeros(len(encoded.dictionary), dtype=np.int64)
    for place, text in enumerate(
        encoded.dictionary.to_pylist()
    ):  # as they appear: the first bad is the first
        try:
            values[place] = _by_python(text, form)
        except (ValueError, OverflowError):
            row = int(rows[np.argmax(encoded.indices.to_numpy() == place)])
            raise column.error(
                f"'{text}' is not a time written as {form}",
                do="mend or drop the row, or give the format that all rows have",
                row=row,
            ) from None
    times[rows] = values[encoded.indices.to_numpy()]
    return times


def _by_arrow(data: pa.ChunkedArray, form: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """What Arrow makes of it, and where that is in doubt."""
    try:
        found = pc.strptime(data, form, "us", error_is_null=True)
        if found.type.tz is not None:
            raise pa.ArrowNotImplementedError("written back in another zone")
        seconds = found.cast(pa.timestamp("s"))  # in a finer unit, seconds would be written with fractions
        same = pc.equal(pc.strftime(seconds, form), data.cast(pa.string()))
    except pa.ArrowException:
        return np.zeros(len(data), dtype=np.int64), np.ones(len(data), dtype=np.bool_)
    times = to_numpy(pc.fill_null(found.cast(pa.int64()), 0)).copy()
    return times, ~to_numpy(pc.fill_null(same, False)).astype(np.bool_)


def _by_python(text: str, form: str) -> int:
    moment = datetime.strptime(text, form)
    if RUN_TOGETHER.search(form) and moment.strftime(form) != text:
        raise ValueError("2024131 may be 31 January or 1 December")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // timedelta(microseconds=1)


def _from_sheet(column: Column) -> Column:
    """Day numbers of a spreadsheet, with the time of day as a fraction, to the millisecond it resolves."""
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        column = column.from_bytes()
    if is_text(column.type):
        column = Column(column.where, column.name, pc.utf8_trim_whitespace(column.data))
    elif not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise column.error(f"the values are {column.type}, not day numbers", do="leave the time format out")
    do = "mend or drop the row, or give another time format"
    column = column.cast(pa.float64(), "'{value}' is not a day number of a spreadsheet", do=do)
    days: npt.NDArray[Any] = to_numpy(column.data)
    odd = ~((days >= 0) & (days < LAST_IN_SHEETS))  # also where it is no number
    if odd.any():
        row = int(np.argmax(odd))
        raise column.error(f"{days[row]} is not a day number of a spreadsheet", do=do, row=row)
    moments = np.rint((days - EPOCH_IN_SHEETS) * MILLISECONDS_A_DAY).astype(np.int64)
    return Column(column.where, column.name, pa.chunked_array([pa.array(moments).cast(pa.timestamp("ms"))]))
