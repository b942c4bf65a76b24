"""The same events give the same stream, whatever they come in."""

from __future__ import annotations

import datetime
import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from conftest import FindFile
from keat.errors import Notice
from keat.events import EventStream, Reading, TimeUnit, read_events, text_files

TABLE = pa.table(
    {
        "user": ["ann", "bob", "ann", "zoë", "bob"],
        "item": ["p1", "p1", "bob", "p2", "p1"],
        "extra": ["not", "a", "feature", "at", "all"],
        "timestamp": [10, 10, 11, 15, 15],
        "amount": [1.5, 2.5, -3.0, 0.0, 4.0],
        "count": [1, 2, 3, 4, 5],
        "fraud": [False, False, True, False, True],
    }
)
OPTIONS: dict[str, Any] = {"features": ["amount", "count"], "label": "fraud", "name": "events"}


def write_csv(path: Path, delimiter: str = ",") -> Path:
    pacsv.write_csv(TABLE, path, pacsv.WriteOptions(delimiter=delimiter))
    return path


def write_gzip(path: Path) -> Path:
    path.write_bytes(gzip.compress(write_csv(path.with_name("plain.csv")).read_bytes()))
    return path


def write_parquet(path: Path) -> Path:
    pq.write_table(TABLE, path, row_group_size=2)
    return path


def write_arrow(path: Path, new: Callable[..., Any] = pa.ipc.new_file) -> Path:
    with new(str(path), TABLE.schema) as writer:
        writer.write_table(TABLE)
    return path


SOURCES: dict[str, Callable[[Path], Any]] = {
    "csv": lambda folder: write_csv(folder / "e.csv"),
    "csv as str": lambda folder: str(write_csv(folder / "e.csv")),
    "tsv": lambda folder: write_csv(folder / "e.tsv", "\t"),
    "gzip": lambda folder: write_gzip(folder / "e.csv.gz"),
    "parquet": lambda folder: write_parquet(folder / "e.parquet"),
    "arrow file": lambda folder: write_arrow(folder / "e.arrow"),
    "arrow stream": lambda folder: write_arrow(folder / "e.arrow", pa.ipc.new_stream),
    "feather": lambda folder: write_arrow(folder / "e.feather"),
    "chunked": lambda _: pa.concat_tables([TABLE[:1], TABLE[1:4], TABLE[4:]]),
    "record batch": lambda _: TABLE.to_batches()[0],
    "reader": lambda _: TABLE.to_reader(),
    "pandas": lambda _: TABLE.to_pandas(),
    "pandas category": lambda _: TABLE.to_pandas().astype({"user": "category", "item": "category"}),
    "polars": lambda _: pl.DataFrame(TABLE),
    "polars category": lambda _: pl.DataFrame(TABLE).with_columns(
        pl.col("user", "item").cast(pl.Categorical)
    ),
    "saved": lambda folder: save(read_events(TABLE, **OPTIONS), folder / "saved"),
}


def save(stream: EventStream, folder: Path) -> Path:
    stream.save(folder)
    return folder


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES.keys())
def test_every_source_gives_the_same_stream(make: Callable[[Path], Any], tmp_path: Path) -> None:
    source = make(tmp_path)
    is_folder = isinstance(source, Path) and source.is_dir()
    stream = read_events(source, **({} if is_folder else OPTIONS))
    names = [stream.ids.label(node) for node in range(stream.num_nodes)]
    assert names == ["ann", "p1", "bob", "zoë", "p2"]  # as they appear, row by row
    np.testing.assert_array_equal(stream.src, [0, 2, 0, 3, 2])
    np.testing.assert_array_equal(stream.dst, [1, 1, 2, 4, 1])
    np.testing.assert_array_equal(stream.t, [10, 10, 11, 15, 15])
    np.testing.assert_array_equal(stream.features, [[1.5, 1], [2.5, 2], [-3, 3], [0, 4], [4, 5]])
    assert stream.labels is not None
    np.testing.assert_array_equal(stream.labels, [0, 0, 1, 0, 1])
    dtypes = [a.dtype for a in (stream.src, stream.dst, stream.t, stream.features, stream.labels)]
    assert dtypes == [np.int32, np.int32, np.int64, np.float32, np.int64]
    assert (stream.num_nodes, stream.unit, stream.name) == (5, "s", "events")


def test_nothing_is_taken_for_a_feature_unasked(tmp_path: Path) -> None:
    stream = read_events(write_parquet(tmp_path / "payments.2024.parquet"))
    assert stream.features.shape == (5, 0)
    assert stream.labels is None
    assert stream.name == "payments.2024"


def test_line_breaks_in_quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "CSV_BLOCK", 1_000)  # so that blocks end inside quotes
    lines = [f'{i},{i + 1},{i},"two\nlines, {i}"\n' for i in range(500)]
    (tmp_path / "e.csv.gz").write_bytes(gzip.compress(("src,dst,t,text\n" + "".join(lines)).encode()))
    stream = read_events(tmp_path / "e.csv.gz")
    assert stream.name == "e"
    np.testing.assert_array_equal(stream.t, np.arange(500))


def test_a_header_with_blanks_a_mark_and_empty_lines_before(tmp_path: Path) -> None:
    text = '\n\n"src" , dst, t , amount\n0, 1, 5, 2.5\n1,0,6,3.5\n'
    (tmp_path / "e.csv").write_text(text, encoding="utf-8")
    stream = read_events(tmp_path / "e.csv", dst="dst", features="amount")
    assert (stream.t.tolist(), stream.features.tolist()) == ([5, 6], [[2.5], [3.5]])
    assert (stream.src.tolist(), stream.dst.tolist()) == ([0, 1], [1, 0])


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text('"src",dst,t\r\n0,1,5\r\n', encoding="utf-8-sig")
    assert read_events(tmp_path / "e.csv", src="src").t.tolist() == [5]


def test_a_given_column_is_not_looked_for_again() -> None:
    table = pa.table({"user": [0, 1], "u": [1, 0], "t": [1, 2]})
    stream = read_events(table, dst="u")
    np.testing.assert_array_equal(stream.src, [0, 1])
    np.testing.assert_array_equal(stream.dst, [1, 0])


def test_usual_names_in_any_case() -> None:
    stream = read_events(pa.table({"Source": [0], "Target": [1], "Timestamp": [2]}))
    assert (stream.src[0], stream.dst[0], stream.t[0]) == (0, 1, 2)


SECOND = 1_700_000_000
MOMENT = datetime.datetime(2023, 11, 14, 22, 13, 20, tzinfo=datetime.UTC)
TIMES: list[tuple[str, Any, TimeUnit | None, int, TimeUnit]] = [
    ("int16", pa.array([1986], pa.int16()), "year", 1986, "year"),
    ("int64", pa.array([SECOND]), None, SECOND, "s"),
    ("uint64 ns", pa.array([SECOND * 10**9], pa.uint64()), "ns", SECOND * 10**9, "ns"),
    ("whole float", pa.array([float(SECOND)]), None, SECOND, "s"),
    ("whole decimal", pa.array([Decimal(SECOND)]), "ms", SECOND, "ms"),
    ("datetime ms", pa.array([MOMENT], pa.timestamp("ms", "UTC")), None, SECOND * 1000, "ms"),
    ("datetime in s", pa.array([MOMENT], pa.timestamp("us", "Asia/Tokyo")), "s", SECOND, "s"),
    (
        "datetime in ns",
        pa.array([MOMENT.replace(tzinfo=None)], pa.timestamp("s")),
        "ns",
        SECOND * 10**9,
        "ns",
    ),
    ("duration", pa.array([5], pa.duration("us")), None, 5, "us"),
    ("duration in ns", pa.array([5], pa.duration("us")), "ns", 5000, "ns"),
    ("date", pa.array([MOMENT.date()]), None, 19675, "day"),
    ("date64", pa.array([MOMENT.date()], pa.date64()), "day", 19675, "day"),
    ("text of a number", pa.array([str(SECOND)]), None, SECOND, "s"),
    ("text of a datetime", pa.array(["2023-11-14T22:13:20"]), None, SECOND * 10**6, "us"),
    ("text with a zone", pa.array(["2023-11-15 00:13:20+02:00"]), None, SECOND * 10**6, "us"),
    ("category", pa.array(["2023-11-14 22:13:20"]).dictionary_encode(), None, SECOND * 10**6, "us"),
]


@pytest.mark.parametrize(("column", "unit", "time", "own"), [t[1:] for t in TIMES], ids=[t[0] for t in TIMES])
def test_time_of_every_type(column: pa.Array, unit: TimeUnit | None, time: int, own: TimeUnit) -> None:
    stream = read_events(pa.table({"src": [0], "dst": [1], "t": column}), unit=unit)
    assert (int(stream.t[0]), stream.unit) == (time, own)


@pytest.mark.parametrize(
    ("text", "time", "unit"),
    [
        ("2023-11-14 22:13:20", SECOND, "s"),
        ("2023-11-14", 19675, "day"),
        ("2023-11-14T22:13:20Z", SECOND, "s"),
    ],
)
def test_csv_datetimes_are_parsed(text: str, time: int, unit: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(f"src,dst,date\na,b,{text}\n")
    stream = read_events(tmp_path / "e.csv")
    assert (int(stream.t[0]), stream.unit) == (time, unit)


def test_fractions_are_kept_in_a_finer_unit_with_a_notice() -> None:
    table = pa.table({"src": [0, 1], "dst": [1, 0], "t": [1289241911.72836, 1289241912.0]})
    with pytest.warns(Notice, match="pyarrow Table, column 't': times in 's' have fractions.*whole 'us'"):
        stream = read_events(table)
    assert (stream.t.tolist(), stream.unit) == ([1289241911728360, 1289241912000000], "us")
    with pytest.warns(Notice, match="times in 'ms' have fractions.*whole 'ns'"):
        assert read_events(table, unit="ms").unit == "ns"


def test_float32_times_are_said_to_be_coarse() -> None:
    table = pa.table({"src": [0], "dst": [1], "t": np.array([SECOND], dtype=np.float32)})
    with pytest.warns(Notice, match="float32 is too coarse"):
        read_events(table)


def test_unsorted_input_is_sorted_with_a_notice() -> None:
    table = pa.table({"src": [0, 1, 2, 3], "dst": [1, 2, 3, 0], "t": [5, 7, 5, 1], "y": [3, 1, 2, 0]})
    with pytest.warns(Notice, match="events was not in time order .data row 3 is the first"):
        stream = read_events(table, label="y")
    np.testing.assert_array_equal(stream.src, [3, 0, 2, 1])  # the two events at 5 keep their order
    assert stream.labels is not None
    np.testing.assert_array_equal(stream.labels, [0, 3, 2, 1])


def test_shared_files_open_without_options(shared_file: FindFile, recwarn: pytest.WarningsRecorder) -> None:
    folder = shared_file("MANIFEST.json").parent
    entries = json.loads((folder / "MANIFEST.json").read_text()).values()
    for about in (entry for entry in entries if entry["file"].endswith(".parquet")):
        stream = read_events(folder / about["file"])
        assert (len(stream), stream.num_nodes) == (about["rows"], about["nodes"])
        scale = 1e6 if stream.unit == "us" else 1
        assert (stream.t[0] / scale, stream.t[-1] / scale) == pytest.approx((about["t_min"], about["t_max"]))
    assert {type(warning.message) for warning in recwarn} <= {Notice}


# -- rows in the order they were given ---------------------------------------------------------------


def shuffled() -> pa.Table:
    return pa.table(
        {
            "who": ["c", "a", "b", "a"],
            "whom": ["x", "y", "x", "z"],
            "when": [30, 10, 20, 10],
            "amount": [3.0, 1.0, 2.0, 4.0],
            "kind": ["cash", "card", "new", "card"],
        }
    )


NAMED = Reading(src="who", dst="whom", time="when", features=("amount",), categorical=("kind",), scale=True)


def test_rows_keep_their_order_where_they_are_asked_about(tmp_path: Path) -> None:
    """`read` puts them in the order of time; `read_rows` does not, and encodes them with what was learned."""
    training = pa.table(
        {
            "who": ["a", "b"] * 10,
            "whom": ["x", "y"] * 10,
            "when": range(20),
            "amount": [1.0, 3.0] * 10,
            "kind": ["card", "cash"] * 10,
        }
    )
    learned, _ = NAMED.learn(training)
    pacsv.write_csv(shuffled(), tmp_path / "rows.csv")
    pq.write_table(shuffled(), tmp_path / "rows.parquet")
    for source in (shuffled(), tmp_path / "rows.csv", str(tmp_path / "rows.parquet")):
        rows = learned.read_rows(source)
        with pytest.warns(Notice, match="was not in time order"):
            in_time = learned.read(source)
        assert [rows.ids.label(node) for node in rows.src] == ["c", "a", "b", "a"]
        assert [rows.ids.label(node) for node in rows.dst] == ["x", "y", "x", "z"]
        assert rows.t.tolist() == [30, 10, 20, 10]
        assert in_time.t.tolist() == [10, 10, 20, 30]
        order = np.argsort(rows.t, kind="stable")
        np.testing.assert_array_equal(rows.features[order], in_time.features)
        np.testing.assert_allclose(
            rows.features[:, 0], [1, -1, 0, 2], atol=1e-6
        )  # the mean is 2, the deviation 1
        np.testing.assert_array_equal(rows.features[:, 1:], [[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]])


def test_rows_without_features_or_a_header_keep_their_order(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("5;7;30\n6;7;10\n")
    rows = Reading(delimiter=";", header=False).read_rows(tmp_path / "rows.csv")
    assert rows.t.tolist() == [30, 10]
    assert [rows.ids.label(node) for node in rows.src] == [5, 6]
    assert rows.feature_dim == 0
