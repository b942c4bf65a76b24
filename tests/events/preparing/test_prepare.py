"""What is prepared in pieces is, to the byte, what is read in memory and saved."""

from __future__ import annotations

import datetime
import gzip
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_pieces import assert_as_in_memory, prepare_in_pieces

from keat.errors import CacheError, InputError, Notice
from keat.events import EventStream
from keat.events.preparing.sizes import Sizes

RNG = np.random.default_rng(7)
ROWS = 200
WORDS = np.array([f"n{k}" for k in range(30)])
START = datetime.datetime(2024, 1, 1)


def log(**columns: Any) -> pa.Table:
    """Events with ties in a random order of times; ``columns`` in place of some."""
    usual = {
        "src": WORDS[RNG.integers(0, 20, ROWS)],
        "dst": WORDS[RNG.integers(10, 30, ROWS)],
        "t": RNG.integers(0, 60, ROWS),
        "amount": RNG.normal(5, 2, ROWS),
        "count": RNG.integers(0, 9, ROWS),
        "kind": WORDS[RNG.integers(0, 5, ROWS)],
        "fraud": RNG.random(ROWS) < 0.2,
    }
    return pa.table(usual | columns)


def text(path: Path, table: pa.Table) -> None:
    pacsv.write_csv(table, path)


def packed(path: Path, table: pa.Table) -> None:
    text(path.with_suffix(".plain"), table)
    path.write_bytes(gzip.compress(path.with_suffix(".plain").read_bytes()))


def parquet(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path, row_group_size=50)


def arrow(path: Path, table: pa.Table) -> None:
    feather.write_feather(table, path, compression="uncompressed", chunksize=60)


def arrow_stream(path: Path, table: pa.Table) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=60)


WRITERS: dict[str, Callable[[Path, pa.Table], None]] = {
    "log.csv": text,
    "log.csv.gz": packed,
    "log.parquet": parquet,
    "log.feather": arrow,
    "log.arrow": arrow_stream,
}
ALL: dict[str, Any] = {
    "features": ["amount", "count"],
    "categorical": "kind",
    "scale": True,
    "label": "fraud",
}


def whole_numbers(low: int, high: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return RNG.integers(low, high, ROWS)


def datetimes() -> pa.Array:
    return pa.array([START + datetime.timedelta(minutes=int(m)) for m in whole_numbers(0, 60)])


LOGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "all options": ({}, ALL),
    "no features": ({}, {}),
    "in order": ({"t": np.sort(whole_numbers(0, 60))}, ALL),
    "one time for most": ({"t": np.where(RNG.random(ROWS) < 0.8, 5, whole_numbers(0, 9))}, {}),
    "two crowded times": ({"t": np.where(RNG.random(ROWS) < 0.5, 5, 6)}, {}),
    "one far outlier": ({"t": np.append(whole_numbers(0, 60)[1:], 2**62)}, {}),
    "the last of all times": ({"t": np.full(ROWS, 2**63 - 1)}, {}),
    "dense integers": ({"src": np.arange(ROWS) % 9, "dst": np.arange(ROWS) % 13}, {}),
    "integers from 5": ({"src": whole_numbers(5, 15), "dst": whole_numbers(5, 30)}, {}),
    "negative integers": ({"src": whole_numbers(-15, 15), "dst": whole_numbers(-5, 30)}, {}),
    "sparse integers": ({"src": whole_numbers(0, 2**62), "dst": whole_numbers(-(2**62), 0)}, {}),
    "two kinds of integers": ({"src": whole_numbers(0, 9), "dst": whole_numbers(5, 9)}, {"bipartite": True}),
    "two kinds of text": ({}, {"bipartite": True}),
    "integers and text": ({"src": whole_numbers(0, 9)}, {}),
    "two kinds, integers and text": ({"src": whole_numbers(0, 9)}, {"bipartite": True}),
    "zeros before": (
        {"src": np.array(["007", "7", "8"])[whole_numbers(0, 3)], "dst": whole_numbers(1, 9)},
        {},
    ),
    "names of nothing": ({"src": np.array(["NULL", "ann", "NA"])[whole_numbers(0, 3)]}, {}),
    "times with fractions": ({"t": np.round(RNG.random(ROWS) * 9, 3)}, {}),
    "a fraction at the end": ({"t": np.append(np.arange(ROWS - 1.0)[::-1], 0.5)}, {}),
    "float times in days": ({"t": whole_numbers(0, 60).astype(float)}, {"unit": "day"}),
    "coarse float times": ({"t": (2**26 + whole_numbers(0, 60)).astype(np.float32)}, {}),
    "milliseconds": ({}, {"unit": "ms"}),
    "datetimes": ({"t": datetimes()}, {}),
    "datetimes in zones": ({"t": datetimes().cast(pa.timestamp("us", "UTC"))}, {}),
    "datetimes in ns": ({"t": datetimes()}, {"unit": "ns"}),
    "dates": ({"t": datetimes().cast(pa.date32(), safe=False)}, {}),
    "a format": (
        {"t": pa.array([f"{1 + m % 28:02}.01.2024" for m in whole_numbers(0, 60)])},
        {"time_format": "%d.%m.%Y"},
    ),
    "labels with fractions": ({"fraud": RNG.random(ROWS)}, {"label": "fraud"}),
    "large features": ({"amount": RNG.random(ROWS) * 1e6}, {"features": ["amount"]}),
    "a weight": ({}, {"features": ["count"], "weight": "amount", "scale": True}),
    "many kinds": ({"kind": [f"k{k % 90}" for k in range(ROWS)]}, {"categorical": "kind"}),
    "kinds that are missing": ({"kind": [None if k % 7 == 0 else f" k{k % 3} " for k in range(ROWS)]}, ALL),
}


@pytest.mark.parametrize("file", WRITERS)
@pytest.mark.parametrize("what", LOGS)
def test_a_file_of_any_kind(what: str, file: str, tmp_path: Path) -> None:
    columns, options = LOGS[what]
    WRITERS[file](tmp_path / file, log(**columns))
    assert None is assert_as_in_memory([tmp_path / file], tmp_path / file, tmp_path, **options)


TYPED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "lists": ({"amount": [[float(k), 1.0, -k] for k in range(ROWS)]}, {"features": ["amount", "count"]}),
    "decimals": ({"amount": log()["amount"].cast(pa.decimal128(20, 12), safe=False)}, {"features": "amount"}),
    "categories": ({"src": log()["src"].dictionary_encode()}, {}),
    "categories of times": ({"t": pa.array(whole_numbers(0, 9)).dictionary_encode()}, {}),
    "text times": ({"t": [str(k) for k in whole_numbers(0, 60)]}, {}),
    "text times with a fraction": ({"t": [*map(str, whole_numbers(0, 60)[1:]), "7.5"]}, {}),
    "text datetimes": ({"t": datetimes().cast(pa.string())}, {}),
    "uint64": ({"src": whole_numbers(0, 9).astype(np.uint64), "dst": whole_numbers(0, 9)}, {}),
    "durations": ({"t": pa.array(whole_numbers(0, 60), pa.duration("s"))}, {"unit": "ms"}),
    "bytes": ({"src": log()["src"].cast(pa.binary())}, {}),
}


@pytest.mark.parametrize("what", TYPED)
def test_columns_with_types(what: str, tmp_path: Path) -> None:
    columns, options = TYPED[what]
    parquet(tmp_path / "log.parquet", log(**columns))
    assert None is assert_as_in_memory(
        [tmp_path / "log.parquet"], tmp_path / "log.parquet", tmp_path, **options
    )


@pytest.mark.parametrize("end", [".csv", ".parquet", ".arrow"])
def test_several_files_are_one(end: str, tmp_path: Path) -> None:
    table, write = log(), WRITERS[f"log{end}"]
    paths = [tmp_path / f"part-{k}{end}" for k in range(4)]
    for path, first, rows in zip(
        paths, (0, 90, 90, 91), (90, 0, 1, ROWS), strict=True
    ):  # the second is empty
        write(path, table.slice(first, rows))
    write(tmp_path / f"whole{end}", table)
    assert None is assert_as_in_memory(paths, tmp_path / f"whole{end}", tmp_path, **ALL)


def test_types_of_several_files_are_brought_together(tmp_path: Path) -> None:
    table = log(src=whole_numbers(0, 9), dst=whole_numbers(0, 9), t=np.arange(ROWS) // 3)
    narrow = table.slice(0, 90).set_column(0, "src", table["src"].slice(0, 90).cast(pa.int32()))
    narrow = narrow.set_column(3, "amount", narrow["amount"].cast(pa.float32()).cast(pa.float64()))
    parquet(tmp_path / "a.parquet", narrow)
    parquet(tmp_path / "b.parquet", table.slice(90))
    whole = pa.concat_tables([narrow, table.slice(90)], promote_options="permissive")
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    assert None is assert_as_in_memory(paths, whole, tmp_path, features=["amount"])


def test_kinds_of_text_are_those_of_all_files(tmp_path: Path) -> None:
    """Whole numbers at first, fractions and words only at the end."""
    table = log(
        src=[*map(str, range(ROWS - 1)), "ann"],
        amount=[*map(str, range(ROWS - 1)), "0.5"],
        t=[*map(str, range(ROWS - 1)), "7.25"],
        fraud=["", *map(str, whole_numbers(0, 2)[1:])],
    )
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, rows in zip(paths, (table.slice(0, 120), table.slice(120)), strict=True):
        text(path, rows)
    text(tmp_path / "whole.csv", table)
    assert None is assert_as_in_memory(paths, tmp_path / "whole.csv", tmp_path, features=["amount"])


def test_features_in_a_matrix_and_of_nodes(tmp_path: Path) -> None:
    parquet(tmp_path / "log.parquet", log())
    np.save(tmp_path / "matrix.npy", RNG.normal(0, 3, (ROWS, 4)))
    nodes = pa.table({"node": WORDS[:25], "x": RNG.random(25), "y": RNG.random(25)})
    text(tmp_path / "nodes.csv", nodes)
    options = {"features": tmp_path / "matrix.npy", "node_features": tmp_path / "nodes.csv", "scale": True}
    assert None is assert_as_in_memory(
        [tmp_path / "log.parquet"], tmp_path / "log.parquet", tmp_path, **options
    )


def test_without_a_header_and_with_line_breaks_in_quotes(tmp_path: Path) -> None:
    rows = [f'"a\n{k % 5}";b{k % 7};{k * 37 % 101};{k / 4}' for k in range(ROWS)]
    (tmp_path / "log.txt").write_text("\n".join(rows))
    options = {"header": False, "delimiter": "semicolon", "features": "4"}
    assert None is assert_as_in_memory([tmp_path / "log.txt"], tmp_path / "log.txt", tmp_path, **options)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_small_log(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    tmp_path = tmp_path_factory.mktemp("log")
    rows = data.draw(st.integers(1, 40))
    ids = st.sampled_from(["1", "2", "03", "x", "NA", "-4", " y", "2.5"][: data.draw(st.integers(2, 8))])
    whole = st.one_of(st.integers(0, 5), st.integers(0, 2**40))
    times = data.draw(st.sampled_from([whole, st.floats(0, 9, width=32)]))
    columns = {
        "src": data.draw(st.lists(ids, min_size=rows, max_size=rows)),
        "dst": data.draw(st.lists(ids, min_size=rows, max_size=rows)),
        "t": data.draw(st.lists(times, min_size=rows, max_size=rows)),
        "x": data.draw(st.lists(st.floats(-9, 9, width=32), min_size=rows, max_size=rows)),
    }
    lines = ["src,dst,t,x", *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines) + "\n")
    options = {"features": "x", "bipartite": data.draw(st.booleans())}
    assert_as_in_memory([path], path, tmp_path, **options)


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


def test_what_was_prepared_is_said(tmp_path: Path) -> None:
    parquet(tmp_path / "log.parquet", log())
    with pytest.warns(Notice, match="not in time order"):
        prepared = prepare_in_pieces([tmp_path / "log.parquet"], tmp_path / "out", **ALL)
    stream = EventStream.open(tmp_path / "out")
    assert (prepared.events, prepared.nodes) == (len(stream), stream.num_nodes)
    assert (prepared.features, prepared.unit) == (stream.feature_dim, stream.unit)
    assert prepared.buckets > 3
    assert not prepared.continued
