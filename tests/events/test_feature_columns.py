from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from keat.errors import Notice
from keat.events import read_events


def events(**columns: Any) -> pa.Table:
    return pa.table({"src": [0, 1, 2], "dst": [1, 2, 0], "t": [1, 2, 3]} | columns)


NUMBERS = [
    pa.array([1, 2, 3], pa.int8()),
    pa.array([1, 2, 3], pa.uint64()),
    pa.array([1.0, 2.0, 3.0], pa.float16()),
    pa.array([1.0, 2.0, 3.0], pa.float64()),
    pa.array([Decimal(1), Decimal(2), Decimal(3)]),
]


@pytest.mark.parametrize("column", NUMBERS, ids=lambda column: str(column.type))
def test_numbers_of_every_type_become_float32(column: pa.Array) -> None:
    features = read_events(events(x=column), features="x").features
    assert features.dtype == np.float32
    np.testing.assert_array_equal(features, [[1], [2], [3]])


def test_booleans_are_features() -> None:
    np.testing.assert_array_equal(
        read_events(events(x=[True, False, True]), features="x").features[:, 0], [1, 0, 1]
    )


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float64()), pa.large_list(pa.int32()), pa.list_(pa.float32(), 2)]
)
def test_lists_and_numbers_stand_side_by_side(kind: pa.DataType) -> None:
    table = events(x=pa.array([[1, 2], [3, 4], [5, 6]], kind), y=[7, 8, 9])
    features = read_events(table, features=["y", "x"]).features
    np.testing.assert_array_equal(features, [[7, 1, 2], [8, 3, 4], [9, 5, 6]])


def test_a_sliced_list_column_keeps_its_rows() -> None:
    table = events(x=pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], pa.list_(pa.float32(), 2)))[1:]
    np.testing.assert_array_equal(read_events(table, features="x").features, [[3, 4], [5, 6]])


def test_a_matrix_stays_on_disk(tmp_path: Path) -> None:
    matrix = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.save(tmp_path / "x.npy", matrix)
    for path in (tmp_path / "x.npy", str(tmp_path / "x.npy")):
        features = read_events(events(), features=path).features
        assert isinstance(features.base, np.memmap)
        np.testing.assert_array_equal(features, matrix)


def test_a_matrix_of_another_type_is_converted(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(3)[:, None])
    features = read_events(events(), features=tmp_path / "x.npy").features
    assert features.dtype == np.float32
    np.testing.assert_array_equal(features, [[0], [1], [2]])


def test_a_matrix_is_sorted_with_its_events(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(3, dtype=np.float32)[:, None])
    with pytest.warns(Notice, match="not in time order"):
        stream = read_events(events(t=[3, 1, 2]), features=tmp_path / "x.npy")
    np.testing.assert_array_equal(stream.features[:, 0], [1, 2, 0])


@pytest.mark.parametrize(
    ("column", "dtype"),
    [([True, False, True], np.int64), ([3, 1, 2], np.int64), ([0.5, 1.5, 2.5], np.float32)],
)
def test_labels_keep_their_kind(column: list[Any], dtype: type) -> None:
    labels = read_events(events(y=column), label="y").labels
    assert labels is not None
    assert labels.dtype == dtype
    np.testing.assert_array_equal(labels, column)


def test_columns_of_one_chunk_are_arrows_own_memory() -> None:
    t = np.array([1, 2, 3], dtype=np.int64)
    node = np.array([0, 1, 2], dtype=np.int32)
    x = np.arange(6, dtype=np.float32)
    table = pa.table(
        {"src": node, "dst": node, "t": t, "x": pa.FixedSizeListArray.from_arrays(pa.array(x), 2)}
    )
    stream = read_events(table, features="x")
    assert np.shares_memory(stream.src, node)
    assert np.shares_memory(stream.t, t)
    assert np.shares_memory(stream.features, x)


def test_an_arrow_file_is_mapped_not_read(tmp_path: Path) -> None:
    node = np.arange(100_000, dtype=np.int32)
    table = pa.table({"src": node, "dst": node, "t": node.astype(np.int64)})
    with pa.ipc.new_file(str(tmp_path / "e.arrow"), table.schema) as writer:
        writer.write_table(table)
    before = pa.total_allocated_bytes()
    stream = read_events(tmp_path / "e.arrow")
    assert pa.total_allocated_bytes() - before < stream.src.nbytes
    assert not stream.src.flags.owndata
    assert not stream.t.flags.owndata
