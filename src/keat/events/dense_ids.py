"""Node ids of any integer or string type → dense 0 … n-1 and the map back, without Python objects.

Integers keep their order, and ids that are dense already stay as they are. Strings are numbered in
order of first appearance, row by row, so a longer log gives the nodes of a shorter one the same ids.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keat.events.columns import Column, is_text, to_numpy
from keat.events.ids import IdMap

Ids = npt.NDArray[np.int32]
DO = "ids must be whole numbers or text, so cast them to int or string"
BLOCK = 1 << 16  # rows at a time, so that what is looked at stays in the cache


def dense_ids(src: Column, dst: Column, *, bipartite: bool) -> tuple[Ids, Ids, IdMap]:
    """Dense source and destination ids, and their map.

    With ``bipartite`` the two columns name different kinds of node: destinations are numbered after
    all sources, even where their labels coincide.
    """
    src, dst = _checked(src), _checked(dst)
    if not bipartite:
        (dense_src, dense_dst), labels, size = _encode([src, dst])
        return dense_src, dense_dst, IdMap(labels, size)
    (dense_src,), src_labels, boundary = _encode([src])
    (dense_dst,), dst_labels, num_dst = _encode([dst])
    parts = [
        pa.array(np.arange(size)) if labels is None else labels
        for labels, size in ((src_labels, boundary), (dst_labels, num_dst))
    ]
    if parts[0].type != parts[1].type:
        parts = [part.cast(pa.large_string()) for part in parts]
    return dense_src, dense_dst + np.int32(boundary), IdMap(pa.concat_arrays(parts), boundary=boundary)


def _checked(column: Column) -> Column:
    column.require_values("every event needs its two nodes, so fill in the id or drop the row")
    value_type = column.plain().type if pa.types.is_dictionary(column.type) else column.type
    if is_text(value_type):
        return column
    column = column.plain()
    if pa.types.is_floating(column.type):
        values = to_numpy(column.data)
        broken = values != np.floor(values)
        row = int(np.argmax(broken))  # the first that is no whole number, or the first of all
        raise column.error(f"{values[row]} is not a whole number or text but {column.type}", do=DO, row=row)
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        raise column.error("the text is not UTF-8", do="save the file in UTF-8")
    if not pa.types.is_integer(column.type):
        raise column.error(f"the values are {column.type}", do=DO)
    if (row_or_none := column.first_not(pa.int64())) is not None:
        value = column.data[row_or_none]
        raise column.error(
            f"{value} is beyond 64-bit integers", do="cast the ids to strings", row=row_or_none
        )
    return column


def _encode(columns: list[Column]) -> tuple[list[Ids], pa.Array | None, int]:
    """Dense ids of columns that share one id space; labels None where the ids were dense already."""
    if all(pa.types.is_integer(column.type) for column in columns):
        return _encode_integers([to_numpy(column.data) for column in columns])
    return _encode_text(columns)


def _encode_integers(columns: list[npt.NDArray[np.integer]]) -> tuple[list[Ids], pa.Array | None, int]:
    if len({column.dtype for column in columns}) > 1 or columns[0].dtype == np.uint64:
        columns = [column.astype(np.int64) for column in columns]
    low = min(int(column.min()) for column in columns)
    high = max(int(column.max()) for column in columns)
    if high - low > 4 * sum(map(len, columns)) + (1 << 20):
        return _encode_sparse(columns)
    if low != 0:
        columns = [column.astype(np.int64) - low for column in columns]
    present = _present(columns, high - low + 1)
    if low == 0 and present.all():
        return [column.astype(np.int32, copy=False) for column in columns], None, high + 1
    rank = np.cumsum(present, dtype=np.int32) - np.int32(1)
    labels = np.flatnonzero(present) + low
    return [rank[column] for column in columns], pa.array(labels), len(labels)


def _present(columns: list[npt.NDArray[np.integer]], size: int) -> npt.NDArray[np.bool_]:
    """Which of 0 … size-1 occur. Stops as soon as all do, which is early in most logs."""
    present = np.zeros(size, dtype=np.bool_)
    for column in columns:
        for start in range(0, len(column), BLOCK):
            present[column[start : start + BLOCK]] = True
            if present.all():
                return present
    return present


def _encode_sparse(columns: list[npt.NDArray[np.integer]]) -> tuple[list[Ids], pa.Array, int]:
    """Integers too far apart for a table of all of them: hash, then sort the distinct ones."""
    encoded = pa.chunked_array([pa.array(column) for column in columns]).dictionary_encode()
    labels = encoded.chunk(0).dictionary.to_numpy()
    order = np.argsort(labels)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return [rank[chunk.indices.to_numpy()] for chunk in encoded.chunks], pa.array(labels[order]), len(order)


def _encode_text(columns: list[Column]) -> tuple[list[Ids], pa.Array, int]:
    kind = pa.dictionary(pa.int32(), pa.large_string())
    chunks = [chunk for column in columns for chunk in column.data.chunks]
    with ThreadPoolExecutor(
        pa.cpu_count()
    ) as pool:  # hashing is Arrow's and runs without the interpreter lock
        hashed = list(pool.map(lambda chunk: _hashed(chunk).cast(kind), chunks))
    unified = pa.chunked_array(hashed).unify_dictionaries()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in unified.chunks])
    split = np.split(codes, len(columns))
    labels = unified.chunk(0).dictionary

    first = np.full(len(labels), np.iinfo(np.int64).max)  # where a label is seen first, row by row
    for position, column_codes in enumerate(split):
        seen = np.full(len(labels), np.iinfo(np.int64).max)
        rows = np.arange(len(column_codes))[::-1]
        seen[column_codes[::-1]] = rows * len(columns) + position  # the last assignment wins
        first = np.minimum(first, seen)
    order = np.argsort(first)[: int(np.count_nonzero(first != np.iinfo(np.int64).max))]
    rank = np.empty(len(labels), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    labels = labels.take(pa.array(order))
    dense = [rank[column_codes] for column_codes in split]
    if (blank := pc.index(labels, "").as_py()) >= 0:
        position = next(i for i, ids in enumerate(dense) if np.any(ids == blank))
        row = int(np.argmax(dense[position] == blank))
        raise columns[position].error("the id is empty", do="fill in the id or drop the row", row=row)
    return dense, labels, len(labels)


def _hashed(chunk: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(chunk.type):
        return chunk
    return chunk.cast(pa.large_string()).dictionary_encode()
