"""Text files of other layouts, and the reading that is kept to read the next one alike."""

from __future__ import annotations

import json
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keat.datasets.loading import load
from keat.disk import typed
from keat.errors import InputError
from keat.events import Reading, read_events
from keat.events.feature_encoding import ColumnEncoding, FeatureEncoding
from keat.events.reading import ReadingOptions

ROWS = [("a", "x", 5, 0.5), ("b", "y", 6, 1.5), ("a", "y", 7, 2.5)]


def write(path: Path, sign: str, *, header: bool = True) -> Path:
    lines = [("who", "whom", "when", "x")] * header + ROWS
    path.write_text("".join(sign.join(map(str, line)) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("sign", "given"),
    [
        (";", ";"),
        (";", "semicolon"),
        ("|", "|"),
        ("|", "pipe"),
        ("\t", "tab"),
        ("\t", "\\t"),
        ("\t", "\t"),
        (",", "comma"),
        (",", "Comma"),
        (" ", "space"),
        ("^", "^"),
    ],
)
@pytest.mark.parametrize("name", ["e.csv", "e.txt"])
def test_any_sign_separates_columns(sign: str, given: str, name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, sign)
    stream = read_events(path, src="who", dst="whom", time="when", features="x", delimiter=given)
    assert [stream.ids.label(node) for node in stream.src] == ["a", "b", "a"]
    assert stream.t.tolist() == [5, 6, 7]
    assert stream.features.tolist() == [[0.5], [1.5], [2.5]]


@pytest.mark.parametrize("sign", ["", "::", "é", "a", '"', "\n", "tabs"])
def test_a_delimiter_is_one_sign(sign: str) -> None:
    with pytest.raises(InputError, match="does not separate columns; a delimiter is one sign"):
        Reading(delimiter=sign)


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_without_a_header_columns_have_numbers(kind: str, tmp_path: Path) -> None:
    source: Any = write(tmp_path / "e.csv", ",", header=False)
    if kind != "csv":
        source = pa.table(dict(zip("wxyz", map(list, zip(*ROWS, strict=True)), strict=True)))
    if kind == "parquet":
        pq.write_table(source, tmp_path / "e.parquet")
        source = tmp_path / "e.parquet"
    plain = read_events(source, header=False)
    assert (len(plain), plain.t.tolist()) == (3, [5, 6, 7])
    assert [plain.ids.label(node) for node in plain.dst] == ["x", "y", "y"]
    turned = read_events(source, header=False, src=2, dst="1", time=3, features=[4])
    assert [turned.ids.label(node) for node in turned.dst] == ["a", "b", "a"]
    assert turned.features.tolist() == [[0.5], [1.5], [2.5]]


HEADERLESS = [
    ("a,b,1\na,b\n", {}, r"e\.csv, data row 2: 2 values where the first row has 3 columns; mend or drop"),
    (
        "a,b\nb,c\n",
        {},
        r"e\.csv has 2 columns, and source, destination and time need one each; check the del",
    ),
    ("a,b,1\n", {"features": "4"}, r"e\.csv has no column '4'; it has 1, 2, 3\."),
    ("src,dst,t\na,b,1\n", {}, r"e\.csv, column '3', data row 1: 't' is not a time"),
    ("a,b,1\n", {"src": 2}, r"Column '2' of \S*e\.csv is given twice, as src and dst"),
]


@pytest.mark.parametrize(("text", "options", "message"), HEADERLESS)
def test_what_is_wrong_without_a_header(
    text: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    (tmp_path / "e.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_events(tmp_path / "e.csv", header=False, **options)


def test_an_event_taken_for_a_header_is_suspected(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("17,4,1700000000\n4,17,1700000001\n")
    with pytest.raises(InputError, match=r"columns \(17, 4, 1700000000\) it is, or that it has no header\."):
        read_events(tmp_path / "e.csv")


WHOLE = Reading(
    src="1",
    features=("x", "kind"),
    categorical=("kind",),
    scale=True,
    unit="ms",
    bipartite=True,
    delimiter="tab",
    header=False,
    time_format="%d.%m.%Y",
    node_features="nodes.csv",
    weight="w",
    encoding=FeatureEncoding(
        (
            ColumnEncoding("x", 2, None, (0.5, 1.0), (2.0, 3.0)),
            ColumnEncoding("kind", 1, ("é", "")),
            ColumnEncoding("w", 1),
        ),
        (ColumnEncoding("age", 1),),
    ),
)


@pytest.mark.parametrize("reading", [Reading(), WHOLE])
def test_a_reading_survives_json(reading: Reading) -> None:
    assert typed(Reading, json.loads(json.dumps(asdict(reading)))) == reading


DAMAGED: list[tuple[str, Any, str]] = [
    ("colour", "red", "'colour' is no entry of it"),
    ("scale", "yes", r"bool, got str .*\.scale"),
    ("features", "x", r"array, got str .*\.features"),
    ("features", ["x", 1], r"str, got int .*\.features\[1\]"),
    ("src", 1, r"str \| null, got int .*\.src"),
    ("unit", "fortnight", r"'fortnight' .*\.unit"),
    ("time_format", "%Q", "'%Q' is not a format of times"),
    ("encoding", [], r"object \| null, got array .*\.encoding"),
    ("encoding", {"events": [{}], "nodes": []}, r"missing required field name .*\.encoding\.events\[0\]"),
    ("encoding", {"events": [{"colour": 1}]}, r"'encoding\.events\[0\]\.colour' is no entry of it"),
]


@pytest.mark.parametrize(("key", "value", "message"), DAMAGED)
def test_a_damaged_reading_is_told(key: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        typed(Reading, asdict(Reading()) | {key: value})


@pytest.mark.parametrize(
    "change",
    [
        {"width": -1},
        {"width": "1"},
        {"name": None},
        {"categories": [1]},
        {"categories": ["a"]},
        {"mean": [1.0, 2.0]},
        {"deviation": [0.0]},
        {"deviation": [float("nan")]},
        {"mean": []},
        {"mean": ["1"]},
    ],
)
def test_a_damaged_encoding_is_told(change: dict[str, Any]) -> None:
    encoding = FeatureEncoding((ColumnEncoding("x", 1, None, (1.0,), (2.0,)),))
    about = json.loads(json.dumps(asdict(replace(WHOLE, encoding=encoding))))
    assert typed(Reading, about).encoding == encoding
    about["encoding"]["events"][0].update(change)
    with pytest.raises(ValueError, match=r"encoding|scales"):
        typed(Reading, about)


def test_options_and_fields_are_the_same() -> None:
    assert {*get_type_hints(ReadingOptions)} == {each.name for each in fields(Reading)} - {"encoding"}
    assert all("help" in each.metadata for each in fields(Reading) if each.name not in ("weight", "encoding"))


def test_an_option_nobody_knows_is_an_error() -> None:
    with pytest.raises(TypeError, match="scr"):
        read_events(pa.table({"src": [0], "dst": [1], "t": [2]}), scr="src")  # type: ignore[call-arg]


def test_a_reading_or_its_options() -> None:
    table = pa.table({"src": np.arange(20), "dst": np.arange(20), "t": np.arange(20), "w": np.ones(20)})
    data = load(table, reading=Reading(weight="w"))
    assert data.reading is not None
    assert (data.reading.features, data.stream.feature_dim) == (("w",), 1)
    with pytest.raises(InputError, match="Give a reading or 'unit', not both"):
        load(table, reading=Reading(), unit="ms")
    with pytest.raises(InputError, match="is a stream already, so its columns are settled"):
        load(data.stream, scale=True)
