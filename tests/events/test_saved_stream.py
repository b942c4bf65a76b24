"""A saved stream may come from anywhere: whatever is wrong with it is one sentence, before it is used."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_stream import full_stream

from damaged_streams import Damage, array, meta, value
from keat.errors import InputError
from keat.events import EventStream, IdMap, NodeLabels, read_events


def case(name: str, damage: Damage, message: str) -> Any:
    return pytest.param(damage, message, id=name)


def without(key: str) -> Damage:
    def damage(folder: Path) -> None:
        about = json.loads((folder / "stream.json").read_text())
        del about[key]
        (folder / "stream.json").write_text(json.dumps(about))

    return damage


def content(file: str, new: bytes) -> Damage:
    return lambda folder: (folder / file).write_bytes(new)


def ids(table: pa.Table) -> Damage:
    return lambda folder: pq.write_table(table, folder / "ids.parquet")


def instead(file: str, make: Callable[[Path], Any]) -> Damage:
    def damage(folder: Path) -> None:
        (folder / file).unlink()
        make(folder / file)

    return damage


def header(shape: str) -> bytes:
    text = f"{{'descr': '<i4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00\x76\x00" + text.encode() + bytes(24)


LABELS = pa.array(["a", "b", "c", "d"])
COLUMNS = ["src", "dst", "t", "features"]
CASES = [
    case("node too large", value("src", 3, 10**6), "src names node 1000000 at row 4, which is none of its"),
    case("node below zero", value("dst", 5, -1), "dst names node -1 at row 6"),
    case("first too large", value("src", 0, 4), "src names node 4 at row 1"),
    case("times backwards", array("t", lambda t: t[::-1].copy()), r"not in order \(row 2 is earlier"),
    case("last time early", value("t", 5, 0), r"not in order \(row 6 is earlier"),
    case("time below zero", value("t", 0, -1), "its times begin with -1, before 0"),
    case("NaN", value("features", (2, 1), np.nan), "features is nan at row 3"),
    case("infinite", value("features", (2, 1), np.inf), "features is inf at row 3"),
    case("nodes as int64", array("src", lambda a: a.astype("i8")), "src holds int64 in 1 dimensions, where"),
    case("nodes as floats", array("src", lambda a: a.astype("f4")), "src holds float32"),
    case("big-endian", array("src", lambda a: a.astype(">i4")), "src holds >i4"),
    case("objects", array("src", lambda a: a.astype(object)), "src.npy is not an array .*Python objects"),
    case("records", array("src", lambda _: np.zeros(6, dtype=[("x", "i4")])), "src holds .*'x'"),
    case("a number", array("t", lambda _: np.int64(5)), "t holds int64 in 0 dimensions"),
    case("float times", array("t", lambda a: a.astype("f8")), "t holds float64"),
    case("text features", array("features", lambda a: a.astype("U8")), "features holds <U8"),
    case("flat features", array("features", lambda a: a[:, 0].copy()), "features holds float32 in 1 dim"),
    case("too few rows", array("dst", lambda a: a[:-1]), "dst does not have one row for each of the 6 times"),
    case("too few labels", array("labels", lambda a: a[:-1]), "labels does not have one row for each"),
    case("text labels", array("labels", lambda a: a.astype("U1")), "labels holds <U1 in 1 dimensions, where"),
    case("NaN label", array("labels", lambda a: a * np.nan), "labels is nan at row 1"),
    case("node features", array("node_features", lambda a: a[:-1]), "node_features does not have .* 4 nodes"),
    case("NaN of a node", value("node_features", (1, 1), np.nan), "node_features is nan at row 2"),
    case("label of nobody", value("node_labels_node", 1, 4), "node labels name node 4, which is none"),
    case("label below zero", value("node_labels_node", 1, -1), "node labels name node -1"),
    case("class too large", value("node_labels_classes", 1, 3), "node labels name class 3 of 3"),
    case("class below zero", value("node_labels_classes", 1, -1), "node labels name class -1 of 3"),
    case("rows beyond the end", value("node_labels_indptr", 3, 9), "rows of its node labels do not follow"),
    case("rows backwards", value("node_labels_indptr", 1, 3), "rows of its node labels do not follow"),
    case("weight", value("node_labels_weights", 1, np.inf), "a weight of its node labels is inf"),
    case("weights", array("node_labels_weights", lambda a: a[:-1]), "classes without weights"),
    case("label times", value("node_labels_t", 0, 99), "node labels must be sorted by time"),
    case("first class", meta(first_class=2), "classes that are none of its nodes"),
    case("no number of classes", without("num_classes"), "its 'num_classes' is not a whole number in range"),
    case("classes below zero", meta(num_classes=-1), "its 'num_classes' is not a whole number in range"),
    case("a part", meta(columns=[*COLUMNS, "node_labels_t"]), "a part of its node labels is missing"),
    case("no nodes", without("num_nodes"), "its 'num_nodes' is not a whole number in range"),
    case("nodes as text", meta(num_nodes="4"), "its 'num_nodes' is not a whole number in range"),
    case("nodes as a truth", meta(num_nodes=True), "its 'num_nodes' is not a whole number in range"),
    case("more nodes", meta(num_nodes=5), "it has 4 ids for 5 nodes"),
    case("too many nodes", meta(num_nodes=10**12), "its 'num_nodes' is not a whole number in range"),
    case("no unit", without("unit"), "its 'unit' is none of s, ms"),
    case("odd unit", meta(unit="fortnight"), "its 'unit' is none of s, ms"),
    case("list of units", meta(unit=["s"]), "its 'unit' is none of s, ms"),
    case("name", meta(name=7), "its 'name' is not a text"),
    case("offset", meta(offset=-3), "its 'offset' is not a whole number in range"),
    case("offset as text", meta(offset="x"), "its 'offset' is not a whole number in range"),
    case("whether there are ids", meta(ids="yes"), "its 'ids' is neither true nor false"),
    case("no columns", without("columns"), "'columns' does not list the columns of a stream"),
    case("a path", meta(columns=[*COLUMNS, "../saved/src"]), "'columns' does not list the columns"),
    case("numbers for columns", meta(columns=[*COLUMNS, 1]), "'columns' does not list each column once"),
    case("twice", meta(columns=[*COLUMNS, "t"]), "'columns' does not list each column once"),
    case("no features", meta(columns=COLUMNS[:3]), "it has no column features"),
    case("a list", content("stream.json", b"[]"), "stream.json does not describe a stream"),
    case("null", content("stream.json", b"null"), "stream.json does not describe a stream"),
    case("no JSON", content("stream.json", b'{"format": 1,'), "stream.json is not JSON"),
    case("no text", content("stream.json", b"\xff\xfe\x00"), "stream.json is not JSON"),
    case("deep", content("stream.json", b"[" * 100_000), "stream.json is not JSON"),
    case("format as text", meta(format="1"), "stream.json does not describe a stream"),
    case("empty column", content("src.npy", b""), "src.npy is not an array"),
    case("another file", content("src.npy", b"PK\x03\x04 hello"), "src.npy is not an array"),
    case("broken header", content("src.npy", b"\x93NUMPY\x01\x00\x76\x00" + b"{" * 118), "src.npy is not an"),
    case("huge", content("src.npy", header("(99999999999999,)")), "src.npy is not an array"),
    case("less than nothing", content("src.npy", header("(-6,)")), "src.npy is not an array"),
    case("a folder", instead("src.npy", Path.mkdir), "src.npy is missing"),
    case("a link to nothing", instead("src.npy", lambda p: p.symlink_to("nowhere")), "src.npy is missing"),
    case("a pipe", instead("src.npy", os.mkfifo), "src.npy is neither a file nor a folder but a pipe"),
    case("a pipe of JSON", instead("stream.json", os.mkfifo), "is neither a file nor a folder but a pipe"),
    case("no ids", lambda folder: (folder / "ids.parquet").unlink(), "ids.parquet, .* is missing; make"),
    case("few ids", ids(pa.table({"label": LABELS[:3]})), "it has 3 ids for 4 nodes"),
    case("equal ids", ids(pa.table({"label": ["a"] * 4})), "ids.parquet is damaged: an id is there twice"),
    case("no id", ids(pa.table({"label": [None, "b", "c", "d"]})), "ids.parquet is damaged: one is missing"),
    case("float ids", ids(pa.table({"label": [1.0, 2, 3, 4]})), "damaged: they are double, neither whole"),
    case("other ids", ids(pa.table({"x": LABELS})), "damaged: it needs one column, 'label'"),
    case("junk ids", content("ids.parquet", b"hello"), "ids.parquet is damaged: "),
]


@pytest.mark.parametrize(("damage", "message"), CASES)
def test_damage_is_named(damage: Damage, message: str, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    full_stream().save(folder)
    damage(folder)
    with pytest.raises(InputError, match=message) as caught:
        EventStream.open(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("boundary", ["-1", "5", "x", "9" * 30])
def test_a_boundary_out_of_range(boundary: str, tmp_path: Path) -> None:
    table = pa.table({"label": LABELS}).replace_schema_metadata({"keat.boundary": boundary})
    pq.write_table(table, tmp_path / "ids.parquet")
    with pytest.raises(InputError, match=r"ids\.parquet is damaged: "):
        IdMap.load(tmp_path / "ids.parquet")


def test_damage_far_from_the_beginning_is_found(tmp_path: Path) -> None:
    """Columns are looked at in blocks; a fault where two blocks meet is one too."""
    many = 200_000
    EventStream.from_arrays(np.zeros(many, int), np.ones(many, int), np.arange(many)).save(tmp_path / "saved")
    for column, place, new in (
        ("dst", many - 1, 2),
        ("src", 1 << 16, -7),
        ("t", 1 << 16, 5),
        ("t", 1, 1 << 40),
    ):
        good = np.load(tmp_path / "saved" / f"{column}.npy")
        value(column, place, new)(tmp_path / "saved")
        with pytest.raises(InputError, match="is damaged"):
            EventStream.open(tmp_path / "saved")
        np.save(tmp_path / "saved" / f"{column}.npy", good)
    assert len(EventStream.open(tmp_path / "saved")) == many


def test_ids_in_a_folder_that_looks_like_a_column(tmp_path: Path) -> None:
    (tmp_path / "a=1").mkdir()
    IdMap(LABELS).save(tmp_path / "a=1" / "ids.parquet")
    assert IdMap.load(tmp_path / "a=1" / "ids.parquet") == IdMap(LABELS)


def test_a_run_or_nothing_at_all_is_no_stream(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InputError, match="is a run, made by keat train, and not a dataset; give the data"):
        read_events(tmp_path)
    full_stream()[:0].save(tmp_path / "empty")
    with pytest.raises(InputError, match="a saved stream without events"):
        read_events(tmp_path / "empty")


def test_arrays_in_memory_are_checked_as_well() -> None:
    labels = NodeLabels.from_long(
        np.array([1]), np.array([7], "i4"), np.array([0], "i4"), np.array([1.0], "f4"), 1
    )
    with pytest.raises(InputError, match=r"node labels of events are not sound: .* name node 7"):
        EventStream.from_arrays([0, 1], [1, 0], [1, 2], node_labels=labels)
    with pytest.raises(InputError, match="labels of events are not sound: labels holds <U1"):
        EventStream.from_arrays([0, 1], [1, 0], [1, 2], labels=["a", "b"])
