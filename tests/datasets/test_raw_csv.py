"""Numbering names across columns and blocks, against a plain loop."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raw_files import write_csv

from keat.datasets import raw_csv
from keat.datasets.raw_csv import INT, NAME, count_columns, number_names, read_columns
from keat.errors import InputError

names = st.sampled_from(["a", "b", "c", "NA", "", "é"])


def by_loop(rows: list[tuple[str, ...]]) -> tuple[list[tuple[int, ...]], list[str]]:
    numbers: dict[str, int] = {}
    numbered = [tuple(numbers.setdefault(name, len(numbers)) for name in row) for row in rows]
    return numbered, list(numbers)


def chunked(values: list[str], size: int) -> pa.ChunkedArray:
    chunks = [pa.array(values[i : i + size]).dictionary_encode() for i in range(0, len(values), size)]
    return pa.chunked_array(chunks)


@settings(deadline=None)
@given(st.lists(st.tuples(names, names), min_size=1), st.integers(1, 4), st.integers(1, 4))
def test_two_columns_are_numbered_row_by_row(rows: list[tuple[str, str]], left: int, right: int) -> None:
    columns = list(zip(*rows, strict=True))
    found, labels = number_names(chunked(list(columns[0]), left), chunked(list(columns[1]), right))
    expected, order = by_loop(list(rows))
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected
    assert labels.to_pylist() == order


def test_blocks_of_a_file_are_numbered_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_csv, "_BLOCK", 200)  # bytes: dozens of blocks, each with its own dictionary
    rows = [(i, f"n{i * 7 % 31}", f"n{i * 11 % 53}") for i in range(400)]
    path = write_csv(tmp_path / "edges.csv", "t,s,d", rows)
    columns = read_columns(path, {0: INT, 1: NAME, 2: NAME})
    assert columns[1].num_chunks > 10
    (src, dst), labels = number_names(columns[1], columns[2])
    expected, order = by_loop([(s, d) for _, s, d in rows])
    assert list(zip(src.tolist(), dst.tolist(), strict=True)) == expected
    assert labels.to_pylist() == order


def test_the_offending_row_is_found_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_csv, "_BLOCK", 200)
    rows: list[tuple[object, ...]] = [(i, "a") for i in range(300)]
    rows[250] = ("", "a")
    path = write_csv(tmp_path / "edges.csv", "t,s", rows)
    with pytest.raises(InputError, match="no number in column 1 of line 252"):
        read_columns(path, {0: INT, 1: NAME})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.csv does not exist"):
        count_columns(tmp_path / "gone.csv")
