"""Ids of any kind become dense, and the map gives back what they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keat.errors import InputError, Notice
from keat.events import EventStream, read_events, text_files
from keat.events import dense_ids as dense_ids_module

INTEGERS = st.one_of(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1),
    st.lists(st.tuples(st.integers(-50, 50), st.integers(900, 999)), min_size=1),
    st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3)), min_size=1),
)
WORDS = st.lists(st.tuples(st.text("ab€ 0", min_size=1), st.text("ab€ 0", min_size=1)), min_size=1)


def stream_of(pairs: list[tuple[Any, Any]], *, chunks: int = 1, **options: Any) -> EventStream:
    """The events of ``pairs`` one after another, in a table of about ``chunks`` chunks."""
    src, dst = zip(*pairs, strict=True)
    table = pa.table({"src": src, "dst": dst, "t": range(len(pairs))})
    step = -(-len(pairs) // chunks)
    return read_events(pa.concat_tables([table[i : i + step] for i in range(0, len(pairs), step)]), **options)


def nodes_of(stream: EventStream) -> list[Any]:
    return [stream.ids.label(node) for node in range(stream.num_nodes)]


def labels_of(stream: EventStream) -> list[tuple[Any, Any]]:
    pairs = zip(stream.src, stream.dst, strict=True)
    return [(stream.ids.label(int(s)), stream.ids.label(int(d))) for s, d in pairs]


@given(pairs=st.one_of(INTEGERS, WORDS), chunks=st.integers(1, 3), bipartite=st.booleans())
def test_the_map_gives_the_labels_back(pairs: list[tuple[Any, Any]], chunks: int, bipartite: bool) -> None:
    stream = stream_of(pairs, chunks=chunks, bipartite=bipartite)
    assert labels_of(stream) == pairs
    src, dst = zip(*pairs, strict=True)
    np.testing.assert_array_equal(stream.ids.index(src, side="src"), stream.src)
    np.testing.assert_array_equal(stream.ids.index(dst, side="dst"), stream.dst)
    used = np.union1d(stream.src, stream.dst)  # dense: every number is somebody's
    np.testing.assert_array_equal(used, np.arange(stream.num_nodes))


@given(pairs=INTEGERS)
def test_integers_keep_their_order(pairs: list[tuple[int, int]]) -> None:
    stream = stream_of(pairs)
    distinct = sorted({node for pair in pairs for node in pair})
    assert nodes_of(stream) == distinct
    assert (stream.ids.labels is None) == (distinct == list(range(len(distinct))))


@given(pairs=WORDS, cut=st.integers(1, 20))
def test_a_longer_log_keeps_the_ids_of_a_shorter_one(pairs: list[tuple[str, str]], cut: int) -> None:
    whole, start = stream_of(pairs), stream_of(pairs[:cut])
    appearance = list(dict.fromkeys(node for pair in pairs for node in pair))
    assert nodes_of(whole) == appearance
    np.testing.assert_array_equal(whole.src[:cut], start.src)
    np.testing.assert_array_equal(whole.dst[:cut], start.dst)


@given(pairs=WORDS, times=st.data())
def test_events_of_equal_time_keep_their_order(pairs: list[tuple[str, str]], times: st.DataObject) -> None:
    t = sorted(times.draw(st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs))))
    src, dst = zip(*pairs, strict=True)
    assert labels_of(read_events(pa.table({"src": src, "dst": dst, "t": t}))) == pairs


def test_pieces_hashed_apart_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    pairs = [(f"n{a}", f"n{b}") for a, b in rng.integers(0, 40, (500, 2))]
    whole = stream_of(pairs)
    monkeypatch.setattr(dense_ids_module, "PIECE", 64)
    pieces = stream_of(pairs, chunks=7)
    assert pieces.ids == whole.ids
    np.testing.assert_array_equal(pieces.src, whole.src)
    np.testing.assert_array_equal(pieces.dst, whole.dst)


def test_unused_categories_are_no_nodes() -> None:
    category = pa.DictionaryArray.from_arrays(pa.array([3, 1]), pa.array(["unused", "b", "never", "a"]))
    stream = read_events(pa.table({"src": category, "dst": ["b", "c"], "t": [1, 2]}))
    assert nodes_of(stream) == ["a", "b", "c"]


def test_a_number_is_its_own_text_where_the_other_side_is_text() -> None:
    stream = read_events(pa.table({"src": [7, 8], "dst": ["8", "x"], "t": [1, 2]}))
    assert labels_of(stream) == [("7", "8"), ("8", "x")]
    assert stream.num_nodes == 3


def test_bytes_are_read_as_utf8() -> None:
    stream = read_events(pa.table({"src": [b"a", "ü".encode()], "dst": ["b", "c"], "t": [1, 2]}))
    assert nodes_of(stream) == ["a", "b", "ü", "c"]


def test_integers_of_different_width_share_one_space() -> None:
    table = pa.table({"src": pa.array([1, 0], pa.uint64()), "dst": pa.array([0, 2], pa.int8()), "t": [1, 2]})
    stream = read_events(table)
    assert stream.ids.labels is None
    assert labels_of(stream) == [(1, 0), (0, 2)]


def test_bipartite_ids_never_meet() -> None:
    table = pa.table({"user": [5, 5, 7], "item": [5, 6, 5], "t": [1, 2, 3]})
    stream = read_events(table, bipartite=True)
    np.testing.assert_array_equal(stream.src, [0, 0, 1])
    np.testing.assert_array_equal(stream.dst, [2, 3, 2])
    assert (stream.num_nodes, stream.ids.boundary) == (4, 2)
    assert nodes_of(stream) == [5, 7, 5, 6]
    assert [stream.ids.side(i) for i in range(4)] == ["src", "src", "dst", "dst"]


def test_bipartite_sides_may_be_of_different_kinds() -> None:
    stream = read_events(pa.table({"src": ["c1", "c2"], "dst": [1, 0], "t": [1, 2]}), bipartite=True)
    assert labels_of(stream) == [("c1", "1"), ("c2", "0")]


def test_digits_in_csv_are_numbers_unless_one_id_is_not(tmp_path: Any) -> None:
    (tmp_path / "e.csv").write_text("src,dst,t\n007,07,1\n8,x,2\n9,-,3\n")
    assert nodes_of(read_events(tmp_path / "e.csv")) == ["007", "07", "8", "x", "9", "-"]


@pytest.mark.parametrize("word", ["NULL", "NA", "nan", "None", "#N/A"])
def test_a_word_for_nothing_is_told_of(word: str, tmp_path: Any) -> None:
    """Among names it may be one (NA is Namibia); among numbers it is none."""
    (tmp_path / "e.csv").write_text(f"src,dst,t\na,b,1\nc,{word},2\n{word},a,3\n")
    with pytest.warns(Notice, match=f"'dst', data row 2: the id '{word}' looks like a missing value"):
        assert nodes_of(read_events(tmp_path / "e.csv")) == ["a", "b", "c", word]
    with pytest.warns(Notice, match=f"'src', data row 1: the id '{word}' looks like"):
        read_events(pa.table({"src": [word], "dst": ["a"], "t": [1]}))
    (tmp_path / "e.csv").write_text(f"src,dst,t\n1,2,1\n3,{word},2\n")
    with pytest.raises(InputError, match=rf"'dst', data row 2: the value is missing \('{word}'\); every"):
        read_events(tmp_path / "e.csv")


def test_leading_zeros_make_a_text(tmp_path: Any) -> None:
    (tmp_path / "e.csv").write_text("src,dst,t\n0042,0007,1\n0042,1234,2\n")
    assert nodes_of(read_events(tmp_path / "e.csv")) == ["0042", "0007", "1234"]
    (tmp_path / "e.csv").write_text("src,dst,t\n007,8,1\n7,8,2\n")
    with pytest.warns(Notice, match="'007' and '7' are two nodes, because ids with leading zeros are text"):
        assert nodes_of(read_events(tmp_path / "e.csv")) == ["007", "8", "7"]
    (tmp_path / "e.csv").write_text("src,dst,t\n007,7,1\n008,7,2\n")
    assert nodes_of(read_events(tmp_path / "e.csv", bipartite=True)) == ["007", "008", "7"]


def test_blanks_around_ids_are_left_out(tmp_path: Any) -> None:
    (tmp_path / "e.csv").write_text("src, dst, t\na, b, 1\nb , c d, 2\n")
    with pytest.warns(Notice, match="blanks around this id are left out") as told:
        assert nodes_of(read_events(tmp_path / "e.csv")) == ["a", "b", "c d"]
    assert ["'src', data row 2" in str(told[0].message), "'dst', data row 1" in str(told[1].message)] == [
        True
    ] * 2
    (tmp_path / "e.csv").write_text("src,dst,t\na,  ,1\n")
    with (
        pytest.warns(Notice, match="blanks"),
        pytest.raises(InputError, match="'dst', data row 1: the value is missing"),
    ):
        read_events(tmp_path / "e.csv")
    stream = read_events(pa.table({"src": [" a"], "dst": ["a"], "t": [1]}))  # a table means what it holds
    assert nodes_of(stream) == [" a", "a"]


@pytest.mark.parametrize(
    ("rows", "nodes"),
    [
        ("7,10,1\n0,-9,2\n", [-9, 0, 7, 10]),
        ("07,8,1\n8,-9,2\n", ["07", "8", "-9"]),
        ("-0,8,1\n8,-9,2\n", ["-0", "8", "-9"]),
        ("007,8,1\nx,007,2\n", ["007", "8", "x"]),
        ("1, 2,1\n2 ,1,2\n", [1, 2]),
        ("9223372036854775807,0,1\n", [0, 2**63 - 1]),
        ("9223372036854775808,1,1\n1,12345678901234567890123,2\n", None),
        ("true,false,1\nfalse,true,2\n", ["true", "false"]),
        ("2024-01-01,2024-01-02,1\n", ["2024-01-01", "2024-01-02"]),
        ("0x10,16,1\n", ["0x10", "16"]),
        ("1e5,100000,1\n", ["1e5", "100000"]),
        ("1.10.2,1.1.2,1\n", ["1.10.2", "1.1.2"]),
    ],
)
@pytest.mark.parametrize("bipartite", [False, True])
def test_ids_in_csv(rows: str, nodes: list[Any] | None, bipartite: bool, tmp_path: Any) -> None:
    (tmp_path / "e.csv").write_text("src,dst,t\n" + rows)
    stream = read_events(tmp_path / "e.csv", bipartite=bipartite)
    if nodes is None:
        nodes = ["9223372036854775808", "1", "12345678901234567890123"]
    if bipartite:
        assert set(nodes_of(stream)) == set(nodes)
    else:
        assert nodes_of(stream) == nodes


def test_digits_far_down_that_are_no_number(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "CSV_BLOCK", 1_000)
    (tmp_path / "e.csv").write_text(
        "src,dst,t\n" + "".join(f"{i},0{i},{i}\n" for i in range(500)) + "x,1,500\n"
    )
    nodes = nodes_of(read_events(tmp_path / "e.csv"))
    assert (nodes[:4], nodes[-1]) == (["0", "00", "1", "01"], "x")
