"""Times in a form of their own: what fits is read to the letter, what does not is named."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from keat.errors import InputError
from keat.events import read_events


def moment(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> int:
    return int(datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp())


def times(path: Path, written: list[str], form: str, **options: Any) -> tuple[list[int], str]:
    path.write_text("src,dst,t\n" + "".join(f'a,b,"{time}"\n' for time in written))
    stream = read_events(path, time_format=form, **options)
    return stream.t.tolist(), stream.unit


NOON = moment(2024, 1, 31, 12, 5)
FORMS: list[tuple[str, list[str], list[int], str]] = [
    ("%d.%m.%Y %H:%M", ["31.01.2024 12:05", "01.02.2024 00:00"], [NOON, moment(2024, 2, 1)], "s"),
    ("%d.%m.%Y %H:%M", ["31.1.2024 12:05", " 1.2.2024 0:00 "], [NOON, moment(2024, 2, 1)], "s"),  # no zeros
    ("%m/%d/%y %I:%M %p", ["01/31/24 12:05 PM"], [NOON], "s"),
    ("%d %b %Y, %H:%M:%S", ["31 Jan 2024, 12:05:00"], [NOON], "s"),
    ("%Y-%m-%d %H:%M:%S.%f", ["2024-01-31 12:05:00.25"], [NOON * 10**6 + 250_000], "us"),
    ("%Y-%m-%dT%H:%M%z", ["2024-01-31T14:05+0200", "2024-01-31T14:05+01:00"], [NOON, NOON + 3600], "s"),
    ("%d.%m.%Y", ["31.01.2024", "01.02.2024"], [19753, 19754], "day"),
    ("%d%m%Y", ["01022024", "31122024"], [19754, 20088], "day"),  # a number would lose its zero
    ("yyyymmdd", ["20240131", "20240201"], [19753, 19754], "day"),
    ("%Y%m", ["202401", "202402"], [19723, 19754], "day"),
    (
        "excel",
        ["45322", "45322.5", "45322.503472222"],
        [s * 1000 for s in (NOON - 43500, NOON - 300, NOON)],
        "ms",
    ),
]


@pytest.mark.parametrize(("form", "written", "expected", "unit"), FORMS)
def test_times_in_their_own_form(
    form: str, written: list[str], expected: list[int], unit: str, tmp_path: Path
) -> None:
    assert times(tmp_path / "e.csv", written, form) == (expected, unit)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([20240131, 20240201]),
        pa.array([20240131.0, 20240201.0]),
        pa.array(["20240131", "20240201"], pa.large_string()),
        pa.array(["20240131", "20240201"]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_digits_of_any_type_in_a_frame(column: pa.Array) -> None:
    stream = read_events(pa.table({"src": [0, 1], "dst": [1, 0], "t": column}), time_format="yyyymmdd")
    assert (stream.t.tolist(), stream.unit) == ([19753, 19754], "day")


def test_a_unit_may_be_given_for_datetimes(tmp_path: Path) -> None:
    assert times(tmp_path / "e.csv", ["31.01.2024 12:05"], "%d.%m.%Y %H:%M", unit="ms") == (
        [NOON * 1000],
        "ms",
    )
    with pytest.raises(InputError, match="dates are in days, not 's'"):
        times(tmp_path / "e.csv", ["20240131"], "yyyymmdd", unit="s")


BAD: list[tuple[str, list[str], str]] = [
    (
        "%d.%m.%Y",
        ["31.01.2024", "2024-02-01"],
        "data row 2: '2024-02-01' is not a time written as %d.%m.%Y; m",
    ),
    ("%d.%m.%Y", ["31.01.2024", "31.02.2024"], "data row 2: '31.02.2024' is not a time"),  # no 2 March
    ("%d.%m.%Y", ["31.01.2024", "31.01.2024 12:05"], "data row 2: '31.01.2024 12:05' is not"),
    (
        "%d.%m.%Y",
        ["31.01.2024", "1.1.2024", "", "x"],
        "data row 3: the value is missing; every event needs a",
    ),
    ("%d.%m.%Y", ["soon", "later", "soon"], "data row 1: 'soon' is not"),
    ("%d.%m.%Y", ["31.12.1969"], "data row 1: the time is before 1970"),
    ("yyyymmdd", ["20240131", "2024131"], "data row 2: '2024131' is not a time written as %Y%m%d"),
    ("yyyymmdd", ["20240131", "1706702700"], "data row 2: '1706702700'"),
    ("excel", ["45322", "31.01.2024"], "data row 2: '31.01.2024' is not a day number of a spreadsheet; m"),
    ("excel", ["45322", "nan"], "data row 2: nan is not a day number"),
    ("excel", ["1706702700"], "data row 1: 1706702700.0 is not a day number"),
    ("excel", ["17"], "data row 1: the time is before 1970"),
]


@pytest.mark.parametrize(("form", "written", "message"), BAD)
def test_a_row_that_does_not_fit_is_named(
    form: str, written: list[str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as raised:
        times(tmp_path / "e.csv", written, form)
    assert message in str(raised.value)
    assert str(raised.value).endswith(".")


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("iso", "'iso' is not a format of times; write it for strptime"),
        ("", "'' is not a format"),
        ("%F", "'%F' is not a format of times .*bad directive"),
        ("%Y-%m-%", "is not a format of times .*stray"),
        ("%Y %Y", "is not a format of times"),
        ("%H:%M", "'%H:%M' has no year, so its times have no order"),
    ],
)
def test_a_format_is_checked_before_any_file(form: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_events(tmp_path / "there is none.csv", time_format=form)


def test_datetimes_have_no_format() -> None:
    stamps = pa.array([datetime(2024, 1, 31)], pa.timestamp("s"))
    with pytest.raises(InputError, match=r"the values are timestamp\[s\] already; leave the time format out"):
        read_events(pa.table({"src": [0], "dst": [1], "t": stamps}), time_format="%Y")


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("excel", "the values are list.*, not day numbers; leave"),
        ("yyyymmdd", "the values are list.*, not times"),
    ],
)
def test_lists_are_no_times(form: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_events(pa.table({"src": [0], "dst": [1], "t": [[1]]}), time_format=form)


def test_the_quick_way_and_the_careful_way_agree(tmp_path: Path) -> None:
    """Half the rows are written with zeros, which Arrow reads, half without, which only Python is asked."""
    rng = np.random.default_rng(0)
    seconds = np.sort(rng.integers(0, 4_000_000_000, 2_000))
    stamps = [datetime.fromtimestamp(int(second), tz=UTC) for second in seconds]
    written = [
        stamp.strftime("%d.%m.%Y %H:%M:%S" if k % 2 else "%-d.%-m.%Y %-H:%M:%S")
        for k, stamp in enumerate(stamps)
    ]
    assert times(tmp_path / "e.csv", written, "%d.%m.%Y %H:%M:%S") == (seconds.tolist(), "s")
