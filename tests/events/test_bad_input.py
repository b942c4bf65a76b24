"""Every mistake a file or frame can hold gets one sentence: where, what, and what to do."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from keat.errors import InputError
from keat.events import EventStream, IdMap, read_events

HEADER = "src,dst,t,x\n"
GOOD = "a,b,1,0.5\nb,c,2,1.5\nc,a,3,2.5\n"


def bad(name: str, make: Callable[[Path], Any], message: str, **options: Any) -> Any:
    """A row of the table: how to make the source in a folder, and what its sentence must match."""
    return pytest.param(make, message, options, id=name)


def csv(text: str | bytes, name: str = "events.csv") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return make


def rows(*t: str) -> Callable[[Path], Path]:
    """A CSV that is good but for its times."""
    return csv("src,dst,t\n" + "".join(f"1,2,{time}\n" for time in t))


def table(**columns: Any) -> Callable[[Path], pa.Table]:
    """A table that is good but for ``columns``."""
    return lambda _: pa.table({"src": [1, 2, 3], "dst": [2, 3, 1], "t": [1, 2, 3]} | columns)


def matrix(array: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        np.save(folder / "x.npy", array)
        return csv(HEADER + GOOD)(folder)

    return make


def junk_matrix(folder: Path) -> Path:
    (folder / "x.npy").write_bytes(b"junk")
    return csv(HEADER + GOOD)(folder)


def misspelt_file(folder: Path) -> Path:
    return csv(HEADER, "payments.csv")(folder).with_name("payment.csv")


def under_a_file(folder: Path) -> Path:
    return csv(HEADER)(folder) / "within.csv"


def twice_in_pandas(_: Path) -> pd.DataFrame:
    return pd.DataFrame([[1, 2, 3, 4]], columns=["src", "dst", "t", "t"])


def broken_parquet(folder: Path) -> Path:
    path = folder / "events.parquet"
    pq.write_table(pa.table({c: np.arange(50_000) for c in ("src", "dst", "t")}), path)
    content = bytearray(path.read_bytes())
    content[1_000:9_000] = bytes(8_000)
    path.write_bytes(content)
    return path


def cut_parquet(folder: Path) -> Path:
    path = broken_parquet(folder)
    path.write_bytes(path.read_bytes()[:20_000])
    return path


def astray_arrow(name: str, column: pa.Array, good: list[int], wrong: int) -> Callable[[Path], Path]:
    """An Arrow file in which one of the ``good`` offsets or indices of a column leads out of it."""

    def make(folder: Path) -> Path:
        path = folder / name
        table = pa.table({"src": column, "dst": ["x"] * len(column), "t": np.arange(len(column))})
        feather.write_feather(table, path, compression="uncompressed")
        content, right = path.read_bytes(), np.array(good, dtype=np.int32).tobytes()
        assert content.count(right) == 1
        path.write_bytes(content.replace(right, np.array([*good[:-1], wrong], dtype=np.int32).tobytes()))
        return path

    return make


def incomplete_folder(folder: Path) -> Path:
    EventStream.from_arrays([0], [1], [2]).save(folder / "saved")
    (folder / "saved" / "dst.npy").unlink()
    return folder / "saved"


def other_format(folder: Path) -> Path:
    EventStream.from_arrays([0], [1], [2]).save(folder / "saved")
    meta = folder / "saved" / "stream.json"
    meta.write_text(meta.read_text().replace('"format": 1', '"format": 99'))
    return folder / "saved"


NUMBERS = HEADER + "1,2,1,0.5\n2,3,2,{}\n3,1,3,2.5\n"
CUT_GZIP = gzip.compress((HEADER + GOOD * 5_000).encode())[:200]

FILES = [
    bad("missing", lambda folder: folder / "events.csv", r"events\.csv does not exist; check the path"),
    bad("near name", misspelt_file, r"payment\.csv does not exist; did you mean '.*payments\.csv'"),
    bad("under a file", under_a_file, r"within\.csv does not exist; .*events\.csv is a file and no"),
    bad("empty CSV", csv(""), r"events\.csv is empty \(0 bytes\)"),
    bad("empty Parquet", csv("", "events.parquet"), r"events\.parquet is empty \(0 bytes\)"),
    bad("header only", csv(HEADER), r"events\.csv has columns but no rows"),
    bad(
        "no rows", lambda _: pl.DataFrame({"src": [], "dst": [], "t": []}), r"polars DataFrame has .* no rows"
    ),
    bad("unknown kind", csv(HEADER, "events.xls"), r"what kind of file .*events\.xls is; .*\.csv.*\.parquet"),
    bad(
        "ragged", csv(HEADER + GOOD + "a,b\n"), r"events\.csv, data row 4: 2 values where .* 4 columns; mend"
    ),
    bad("corrupt gzip", csv(b"not gzip", "events.csv.gz"), r"events\.csv\.gz is not a readable CSV file"),
    bad("cut gzip", csv(CUT_GZIP, "events.csv.gz"), r"events\.csv\.gz is not a readable CSV file"),
    bad("not Parquet", csv(HEADER + GOOD, "events.parquet"), r"events\.parquet is not a readable Parquet"),
    bad("corrupt Parquet", broken_parquet, r"events\.parquet is not a readable Parquet file .* again"),
    bad("cut Parquet", cut_parquet, r"events\.parquet is not a readable Parquet file .* again"),
    bad("not Arrow", csv(HEADER + GOOD, "events.arrow"), r"events\.arrow is not a readable Arrow file"),
    bad(
        "offset astray",
        astray_arrow("events.arrow", pa.array(["ab", "cde", "f", "g"]), [0, 2, 5, 6, 7], 1 << 30),
        r"events\.arrow is not a readable Arrow file \(.*offset.*\); write or download it again",
    ),
    bad(
        "index astray",
        astray_arrow("events.feather", pa.array([*"abcb"]).dictionary_encode(), [0, 1, 2, 1], 1 << 30),
        r"events\.feather is not a readable Arrow file \(.*[Ii]nd.*\); write or download it again",
    ),
    bad("not UTF-8", csv(b"src,dst,t\n\xff\xfe,b,1\n"), r"column 'src', data row 1: the text is not UTF-8"),
    bad("latin-1 header", csv("src,dst,t,größe\n".encode("latin-1")), r"events\.csv is not UTF-8 text; save"),
    bad("UTF-16", csv((HEADER + GOOD).encode("utf-16")), r"events\.csv is not UTF-8 text; save it in UTF-8"),
    bad("UTF-16 without a mark", csv((HEADER + GOOD).encode("utf-16-le")), r"events\.csv is not UTF-8 text"),
    bad("latin-1 time", csv(b"src,dst,t\na,b,1\na,b,fr\xfch\n"), r"'t', data row 2: the text is not UTF-8"),
    bad(
        "latin-1 label", csv(b"src,dst,t,y\na,b,1,\xfc\n"), r"'y', data row 1: the text is not UTF", label="y"
    ),
    bad("no header", csv("\n\n"), r"events\.csv is empty; write or download it again"),
    bad("nothing zipped", csv(gzip.compress(b""), "events.csv.gz"), r"events\.csv\.gz is empty; write or"),
    bad("semicolons", csv("src;dst;t\n1;2;3\n"), r"events\.csv are separated by semicolons, not by commas"),
    bad("tabs in .csv", csv("src\tdst\tt\n1\t2\t3\n"), r"separated by tabs, not by commas; say so"),
    bad("commas in .tsv", csv(HEADER, "events.tsv"), r"events\.tsv are separated by commas, not by tabs"),
    bad("other folder", lambda folder: folder, r"is a folder, but not one written by .*save; give a file or"),
    bad("options for another folder", lambda folder: folder, r"but not one written by", src="u"),
    bad("empty path", lambda _: "", r"The path of the events is empty; give a file or a folder"),
    bad(
        "folder with a hole",
        incomplete_folder,
        r"saved is damaged: dst\.npy is missing; delete it",
    ),
    bad("folder of another version", other_format, r"saved was written by another version .*\(format 99"),
    bad("options for a folder", incomplete_folder, r"is a saved stream, whose columns are settled", src="u"),
    bad("not a source", lambda _: {"src": [1]}, r"Cannot read events from a builtins dict; give a path"),
    bad("mixed pandas", lambda _: pd.DataFrame({"src": [1, "a"]}), r"Arrow cannot read the pandas .*src"),
]
COLUMNS = [
    bad("missing", csv(HEADER + GOOD), r"no column 'amount'; it has src, dst, t, x\.", features=["amount"]),
    bad("misspelt", csv("source,dst,t\n1,2,3\n"), r"'sorce' \(did you mean 'source'\?\)", src="sorce"),
    bad("no usual name", csv("a,dst,t\n1,2,3\n"), r"usual name for src \(src, so.*columns \(a, dst, t\)"),
    bad("two roles", csv(HEADER + GOOD), r"Column 't' of .* is given twice, as time and label", label="t"),
    bad("feature twice", csv(HEADER + GOOD), r"feature 'x' is given twice", features=["x", "x"]),
    bad("twice in the header", csv("src,dst,t,t\n1,2,3,4\n"), r"events\.csv has two columns named 't'; ren"),
    bad(
        "twice but for blanks", csv("src,dst,t, t\n1,2,3,4\n"), r"events\.csv has two columns named 't'; ren"
    ),
    bad("twice in a frame", twice_in_pandas, r"Arrow cannot read the pandas DataFrame \(Duplicate column"),
]
IDS = [
    bad("float", csv("src,dst,t\n1,2,1\n1.5,2,2\n"), r"'src', data row 2: 1\.5 .*; .*cast them to int or"),
    bad("whole float", table(dst=[1.0, 2.0, 3.0]), r"column 'dst', data row 1: 1\.0 is a double"),
    bad("missing", csv("src,dst,t\n1,2,1\n1,,2\n"), r"column 'dst', data row 2: the value is missing; "),
    bad("empty", csv("src,dst,t\na,b,1\nc,d,2\n,b,3\n"), r"column 'src', data row 3: the value is missing"),
    bad("whole float in CSV", csv("src,dst,t\n1.0,2,1\n"), r"'src', data row 1: 1\.0 is a fraction; ids"),
    bad("pandas hole", lambda _: pd.DataFrame({"src": [1, None], "dst": 1, "t": 1}), r"row 2: .*missing"),
    bad("dates", table(src=pa.array([1, 2, 3], pa.date32())), r"column 'src': the values are date32"),
    bad(
        "too large", table(src=pa.array([1, 2**63, 2], pa.uint64())), r"'src', data row 2: 92233720368547758"
    ),
]
TIMES = [
    bad("unparsable", rows("1", "soon", "3"), r"events\.csv, column 't', data row 2: 'soon' is not a time"),
    bad("unparsable date", rows("2024-01-01 10:00", "2024-13-01 10:00"), r"data row 2: '2024-13-01 10:00'"),
    bad("text", table(t=["1", "2", "three"]), r"Table, column 't', data row 3: 'three' is not a time"),
    bad("missing", rows("1", "", "3"), r"column 't', data row 2: the value is missing; .*drop the row"),
    bad("NaN in CSV", rows("1.5", "NaN"), r"column 't', data row 2: the value is missing"),
    bad("NaN", table(t=[1.0, 2.0, np.nan]), r"column 't', data row 3: the time is nan; fill it in or drop"),
    bad("infinite", rows("1", "inf"), r"events\.csv, column 't', data row 2: the time is inf"),
    bad(
        "a zone and none",
        rows("2024-03-31T00:00:00", "2024-03-31T00:05:00Z"),
        r"row 2: '2024-03-31T00:05:00Z' is not written as the times before it are; write all alike",
    ),
    bad(
        "a number and a date",
        rows("17", "2024-03-31"),
        r"row 2: '2024-03-31' is not written as the times before it are",
    ),
    bad("negative", rows("1", "2", "-3"), r"column 't', data row 3: the time is negative \(-3\); shift"),
    bad("negative fraction", rows("1", "-0.25"), r"column 't', data row 2: the time is negative \(-0\.25\)"),
    bad(
        "before 1970",
        rows("1969-12-31 23:00:00"),
        r"row 1: the time is before 1970 \(1969-12-31 23:00:00",
    ),
    bad("overflow", rows("1", "9223372036854775808"), r"column 't', data row 2: 9.22\S* does not fit"),
    bad(
        "unsigned overflow", table(t=pa.array([1, 2, 2**63], pa.uint64())), r"row 3: 9223372036854775808 doe"
    ),
    bad("fraction overflow", rows("1e16", "0.5"), r"column 't', data row 1: 1e\+16 does not fit.*coarser"),
    bad("half a day", rows("1", "1.5"), r"column 't', data row 2: 1\.5 is not a whole day", unit="day"),
    bad("half a year", rows("1986.5"), r"column 't', data row 1: 1986\.5 is not a whole year", unit="year"),
    bad("time of day", rows("10:00:00"), r"column 't': the values are time32\[s\], not times; give"),
    bad("unknown unit", rows("1"), r"Unknown time unit 'hour'; use one of s, ms", unit="hour"),
    bad("dates in s", rows("2024-01-01"), r"column 't': dates are in days, not 's'", unit="s"),
    bad(
        "coarse unit",
        rows("2024-01-01 00:00:00.5"),
        r"00:00:00.5\d* does not fit whole 's'",
        unit="s",
    ),
    bad("datetimes in years", rows("2024-01-01 00:00:00"), r"datetimes are in 's', not 'year'", unit="year"),
]
FEATURES = [
    bad("text", csv(NUMBERS.format("high")), r"column 'x', data row 2: 'high' is not a number", features="x"),
    bad(
        "decimal comma",
        csv("src;dst;t;x\n1;2;1;0,5\n2;3;2;1,5\n"),
        r"column 'x', data row 1: '0,5' is not a number; write it with a decimal point, as in 4\.50",
        features="x",
        delimiter=";",
    ),
    bad("missing", csv(NUMBERS.format("")), r"column 'x', data row 2: the value is missing", features="x"),
    bad(
        "infinite", csv(NUMBERS.format("-inf")), r"column 'x', data row 2: -inf is not a finite", features="x"
    ),
    bad("NaN", table(x=[1.0, 2.0, np.nan]), r"Table, column 'x', data row 3: nan is not a fin", features="x"),
    bad("second", table(x=[1, 1, 1], y=[1, np.nan, 1]), r"column 'y', data row 2: nan", features=["x", "y"]),
    bad("too large", table(x=[1.0, 1e39, 1.0]), r"column 'x', data row 2: 1e\+39 is not a fin", features="x"),
    bad("dates", table(x=pa.array([1, 2, 3], pa.date32())), r"'x': the values are date32", features="x"),
    bad("uneven lists", table(x=[[1.0], [1.0], [1.0, 2.0]]), r"row 3: the list has 2 values", features="x"),
    bad("lists of text", table(x=[["a"]] * 3), r"column 'x': the lists hold string, not numb", features="x"),
    bad("hole in a list", table(x=[[1, 2], [1, None], [1, 2]]), r"row 2: a value in the list", features="x"),
    bad("no matrix", csv(HEADER + GOOD), r"feature file .*x\.npy does not exist", features="x.npy"),
    bad("matrix too short", matrix(np.ones((2, 2))), r"x\.npy has 2 rows but .* 3 events", features="x.npy"),
    bad("matrix NaN", matrix([[1], [np.nan], [3]]), r"x\.npy, column 1, data row 2: nan", features="x.npy"),
    bad("matrix of text", matrix([["a"]] * 3), r"x\.npy holds <U1 of shape \(3, 1\)", features="x.npy"),
    bad("not a matrix", junk_matrix, r"x\.npy is not a readable \.npy file", features="x.npy"),
]
LABELS = [
    bad("too large", table(y=pa.array([1, 2**63, 2], pa.uint64())), r"row 2: 92233720368547758", label="y"),
    bad("text", table(y=["a", "b", "c"]), r"column 'y': labels must be numbers, not string", label="y"),
    bad("missing", table(y=[1, None, 2]), r"column 'y', data row 2: the value is missing; give", label="y"),
    bad("NaN", table(y=[1.0, 2.0, np.nan]), r"column 'y', data row 3: the label is nan", label="y"),
]


@pytest.mark.parametrize(("make", "message", "options"), FILES + COLUMNS + IDS + TIMES + FEATURES + LABELS)
def test_bad_input_gets_one_clear_sentence(
    make: Callable[[Path], Any],
    message: str,
    options: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = make(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message) as raised:
        read_events(source, **options)
    sentence = str(raised.value)
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    if isinstance(source, Path) and not options.keys() & {"features", "unit"}:
        assert source.name in sentence


ARRAYS: list[tuple[dict[str, Any], str]] = [
    ({"src": [0.5, 1.0]}, r"'src' of events must hold integers, not float64"),
    ({"dst": [0, -1]}, r"'dst' of events is -1 at data row 2"),
    ({"t": np.array([0, 2**63], dtype=np.uint64)}, r"'t' of events is 9223372036854775808 at data row 2"),
    ({"t": [1, 2, 3]}, r"'src' of events has 2 rows but 't' has 3"),
    ({"labels": [1]}, r"'labels' of events has 1 rows but 't' has 2"),
    ({"features": np.array([[1.0], [np.nan]])}, r"'features' of events is nan at row 2"),
    ({"features": [[1.0], [1e39]]}, r"'features' of events is inf at row 2"),
    ({"features": [1.0, 2.0]}, r"'features' of events must be a matrix with one row each, not shape \(2,\)"),
    ({"features": [["a"], ["b"]]}, r"'features' of events must be a matrix of numbers \(could not convert"),
    ({"features": [[1.0]]}, r"'features' of events has 1 rows but there are 2 events"),
    ({"node_features": [[1.0], [np.inf]]}, r"'node_features' of events is inf at row 2"),
    ({"node_features": [[1.0]]}, r"'node_features' of events has 1 rows but there are 2 nodes"),
    ({"ids": IdMap.identity(3)}, r"'ids' of events has 3 labels but there are 2 nodes"),
    ({"src": [[0], [1]]}, r"'src' of events must have one value for each event, not shape \(2, 1\)"),
    ({"t": 5}, r"'t' of events must have one value for each event, not shape \(\)"),
    ({"labels": 5}, r"'labels' of events must have one value for each event, not shape \(\)"),
    ({"src": []}, r"'src' of events has 0 rows but 't' has 2"),
    ({"num_nodes": 1}, r"events names node 1 but is said to have 1 nodes"),
    ({"src": [0, 2**40]}, r"Node ids of events go up to 1099511627776; make them dense"),
    ({"unit": "fortnight"}, r"Unknown time unit 'fortnight'"),
]


@pytest.mark.parametrize(("change", "message"), ARRAYS)
def test_bad_arrays_get_one_clear_sentence(change: dict[str, Any], message: str) -> None:
    arrays: dict[str, Any] = {"src": [0, 1], "dst": [1, 0], "t": [1, 2]}
    with pytest.raises(InputError, match=message):
        EventStream.from_arrays(**arrays | change)
