"""What cannot be prepared is refused in the words of reading it in memory, and nothing is left."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from small_logs import ALL, RNG, ROWS, WRITERS, datetimes, log, parquet, text, whole_numbers
from small_pieces import assert_as_in_memory, prepare_in_pieces

from keat.errors import CacheError, InputError
from keat.events.preparing.sizes import Sizes


def with_row(row: int, **values: Any) -> pa.Table:
    """A log with something odd in one row."""
    table = log(t=np.arange(ROWS))
    for name, value in values.items():
        column = table[name].to_pylist()
        column[row] = value
        table = table.set_column(table.column_names.index(name), name, pa.array(column))
    return table


def as_text(table: pa.Table, column: str) -> pa.Table:
    place = table.column_names.index(column)
    return table.set_column(place, column, table[column].cast(pa.string()))


REFUSED: dict[str, tuple[str, pa.Table, dict[str, Any], str]] = {
    "no source": (
        "log.parquet",
        with_row(150, src=None),
        {},
        "column 'src', data row 151: the value is missing",
    ),
    "an empty source": (
        "log.csv",
        with_row(150, src=""),
        {},
        "column 'src', data row 151: the value is missing",
    ),
    "no time": ("log.parquet", with_row(99, t=None), {}, "column 't', data row 100: the value is missing"),
    "a negative time": ("log.csv", with_row(99, t=-1), {}, "data row 100: the time is negative"),
    "a word for a time": (
        "log.csv",
        as_text(log(t=np.arange(ROWS)), "t").set_column(2, "t", pa.array([*map(str, range(199)), "soon"])),
        {},
        "data row 200: 'soon' is not a time",
    ),
    "an infinite time": (
        "log.parquet",
        log(t=[*map(float, range(99)), np.inf, *range(100)]),
        {},
        "data row 100: the time is inf",
    ),
    "part of a day": (
        "log.csv",
        log(t=[*map(float, range(199)), 7.5]),
        {"unit": "day"},
        "7.5 is not a whole day",
    ),
    "a time beyond 64 bits, once there are fractions": (
        "log.parquet",
        log(t=[1e15, *np.arange(ROWS - 2.0), 0.5]),
        {},
        "data row 1: 1000000000000000.0 does not fit",
    ),
    "a fraction of an id": ("log.parquet", log(src=np.arange(ROWS) + 0.5), {}, "0.5 is a double"),
    "ids as fractions": (
        "log.csv",
        log(src=[f"{k}.0" for k in range(ROWS)], dst=whole_numbers(0, 9)),
        {},
        "data row 1: 0.0 is a fraction",
    ),
    "NULL among numbers": (
        "log.csv",
        log(src=[*map(str, range(150)), "NULL", *map(str, range(49))], dst=whole_numbers(0, 9)),
        {},
        "data row 151: the value is missing ('NULL')",
    ),
    "no feature": (
        "log.parquet",
        with_row(99, amount=None),
        ALL,
        "'amount', data row 100: the value is missing",
    ),
    "an infinite feature": (
        "log.parquet",
        with_row(99, amount=1e300),
        ALL,
        "data row 100: 1e+300 is not a finite",
    ),
    "a word for a feature": (
        "log.csv",
        log(amount=[*map(str, range(199)), "much"]),
        {"features": "amount"},
        "data row 200: 'much' is not a number",
    ),
    "text for a feature": ("log.parquet", as_text(log(), "count"), {"features": "count"}, "is not a number"),
    "lists of two lengths": (
        "log.parquet",
        log(amount=[[1.0, 2.0]] * 150 + [[1.0]] * 50),
        {"features": "amount"},
        "data row 151: the list has 1 values where the first has 2",
    ),
    "no label": (
        "log.csv",
        with_row(99, fraud=None),
        {"label": "fraud"},
        "data row 100: the value is missing",
    ),
    "a word for a label": ("log.csv", log(), {"label": "kind"}, "labels must be numbers"),
    "kinds that are amounts": ("log.parquet", log(), {"categorical": "amount"}, "not kinds"),
    "no such column": ("log.parquet", log(), {"src": "sauce"}, "has no column 'sauce'"),
    "no rows": ("log.parquet", log().slice(0, 0), {}, "has columns but no rows"),
    "too far to be scaled": (
        "log.parquet",
        log(t=np.arange(ROWS), amount=[*RNG.random(ROWS - 1) * 1e-30, 3e38]),
        {"features": "amount", "scale": True},
        "is too far from the mean of training",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_in_memory_is_refused_with_the_same_words(what: str, tmp_path: Path) -> None:
    file, table, options, told = REFUSED[what]
    WRITERS[file](tmp_path / file, table)
    refusal = assert_as_in_memory([tmp_path / file], tmp_path / file, tmp_path, **options)
    assert refusal is not None
    assert told in refusal


def test_files_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    table = log()
    parquet(tmp_path / "a.parquet", table)
    text(tmp_path / "b.csv", table)
    parquet(tmp_path / "c.parquet", table.rename_columns(["source", *table.column_names[1:]]))
    parquet(tmp_path / "d.parquet", log(t=datetimes()))
    for others, told in {
        (): "There are no files",
        ("a.parquet", "a.parquet"): "is given twice",
        ("a.parquet", "b.csv"): "are files of two kinds",
        ("a.parquet", "c.parquet"): "has no column 'src'",
        ("a.parquet", "d.parquet"): r"column 't': the values are timestamp\[us\] where those of",
        ("a.parquet", "e.parquet"): "does not exist",
    }.items():
        with pytest.raises(InputError, match=told):
            prepare_in_pieces([tmp_path / name for name in others], tmp_path / "out")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    with pytest.raises(InputError, match="full is not empty; delete it first"):
        prepare_in_pieces([tmp_path / "a.parquet"], tmp_path / "full")
    assert not [*tmp_path.glob(".*")]


def test_disk_space_is_looked_at_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet(tmp_path / "log.parquet", log())
    free = shutil.disk_usage(tmp_path)._replace(free=100)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    with pytest.raises(CacheError, match=r"Preparing 200 events needs .* where 0.0 GB are free"):
        prepare_in_pieces([tmp_path / "log.parquet"], tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]


def test_too_little_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too few to prepare anything"):
        Sizes.within(10**8)
    parquet(tmp_path / "log.parquet", log())
    with pytest.raises(InputError, match="The ids of these nodes alone need more than"):
        prepare_in_pieces([tmp_path / "log.parquet"], tmp_path / "out", Sizes(1000, 1, 300, 64))
