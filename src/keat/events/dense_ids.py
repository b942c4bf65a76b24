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

from keat.events.file_column import Column, is_text, to_numpy
from keat.events.ids import IdMap

Ids = npt.NDArray[np.int32]
DO = "ids must be whole numbers or text, so cast them to int or string"
FILL = "every event needs its two nodes, so fill in the id or drop the row"
# What programs write where there is nothing.
MISSING = ("NULL", "null", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "None", "<NA>", "\\N")
BLOCK = 1 << 16  # rows at a time, so that what is looked at stays in the cache
PIECE = 1 << 22  # rows of text hashed by one thread


def dense_ids(src: Column, dst: Column, *, bipartite: bool) -> tuple[Ids, Ids, IdMap]:
    """Dense source and destination ids, and their map.

    With ``bipartite`` the two columns name different kinds of node: destinations are numbered after
    all sources, even where their labels coincide.
    """
    src, dst = checked_ids(src), checked_ids(dst)
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


def checked_ids(column: Column) -> Column:
    column.require_values(FILL)
    if is_text(column.type.value_type if pa.types.is_dictionary(column.type) else column.type):
        return column
    column = column.decoded()
    if is_text(column.type):
        return column
    if pa.types.is_floating(column.type):
        values = to_numpy(column.data)
        broken = values != np.floor(values)
        row = int(np.argmax(broken))  # the first that is no whole number, or the first of all
        raise column.error(f"{values[row]} is a {column.type}", do=DO, row=row)
    if not pa.types.is_integer(column.type):
        raise column.error(f"the values are {column.type}", do=DO)
    if pa.types.is_uint64(column.type):
        return column.cast(pa.int64(), "{value} is beyond 64-bit integers", do="cast the ids to strings")
    return column


def _encode(columns: list[Column]) -> tuple[list[Ids], pa.Array | None, int]:
    """Dense ids of columns that share one id space; labels None where the ids were dense already."""
    if all(pa.types.is_integer(column.type) for column in columns):
        return _encode_integers(columns)
    return _encode_text(columns)


def _encode_integers(columns: list[Column]) -> tuple[list[Ids], pa.Array | None, int]:
    extremes = [pc.min_max(column.data).as_py() for column in columns]
    low, high = min(e["min"] for e in extremes), max(e["max"] for e in extremes)
    small = low >= -(1 << 31) and high < 1 << 31
    values = [to_numpy(column.data, np.int32 if small else np.int64) for column in columns]
    if high - low > 4 * sum(map(len, values)) + (1 << 20):
        return _encode_sparse(values)
    if low != 0:
        values = [column.astype(np.int64) - low for column in values]
    present = _present(values, high - low + 1)
    if low == 0 and present.all():
        return values, None, high + 1
    rank = np.cumsum(present, dtype=np.int32) - np.int32(1)
    labels = np.flatnonzero(present) + low
    return [rank[column] for column in values], pa.array(labels), len(labels)


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
    labels = encoded.chunk(0).dictionary.cast(pa.int64())
    order = np.argsort(labels.to_numpy())
    labels = labels.take(pa.array(order))
    rank = _ranks(order)
    return [rank[chunk.indices.to_numpy()] for chunk in encoded.chunks], labels, len(labels)


def _encode_text(columns: list[Column]) -> tuple[list[Ids], pa.Array, int]:
    """Hash pieces of all columns side by side, then join their (far fewer) distinct labels."""
    pieces = [
        (position, start, column.data.slice(start, PIECE))
        for position, column in enumerate(columns)
        for start in range(0, len(column), PIECE)
    ]
    with ThreadPoolExecutor(pa.cpu_count()) as pool:  # Arrow hashes without the interpreter lock
        codes_and_labels = list(pool.map(hashed, [data for _, _, data in pieces]))
    joined = pa.concat_arrays([labels for _, labels in codes_and_labels]).dictionary_encode()

    # Where each distinct label is seen first, going through the columns row by row.
    first = np.full(len(joined.dictionary), np.iinfo(np.int64).max)
    seen = [
        (start + first_rows(codes)) * len(columns) + position
        for (position, start, _), (codes, _) in zip(pieces, codes_and_labels, strict=True)
    ]
    np.minimum.at(first, joined.indices.to_numpy(), np.concatenate(seen))
    order = np.argsort(first)
    rank = _ranks(order)
    labels = joined.dictionary.take(pa.array(order))

    if (blank := pc.index(labels, "").as_py()) >= 0:
        row, position = divmod(int(first[order[blank]]), len(columns))
        raise columns[position].error("the value is missing", do=FILL, row=row)
    odd = pc.is_in(labels, value_set=pa.array(MISSING, labels.type)).to_numpy(zero_copy_only=False)
    for place in np.flatnonzero(odd):
        row, position = divmod(int(first[order[place]]), len(columns))
        columns[position].notice(
            f"the id '{labels[int(place)]}' looks like a missing value and is a node like any other; "
            "drop such rows if it is none",
            row,
        )
    ranks = np.split(rank[joined.indices.to_numpy()], np.cumsum([len(part) for part in seen[:-1]]))
    dense = [piece_rank[codes] for piece_rank, (codes, _) in zip(ranks, codes_and_labels, strict=True)]
    per_column = len(pieces) // len(columns)
    return (
        [np.concatenate(dense[i : i + per_column]) for i in range(0, len(dense), per_column)],
        labels,
        len(labels),
    )


def hashed(piece: pa.ChunkedArray) -> tuple[Ids, pa.Array]:
    """Codes 0, 1, … of the piece's labels in order of first appearance, and the labels."""
    if pa.types.is_dictionary(piece.type):  # its order is arbitrary, and some of it may not occur
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.large_string()))
            for chunk in piece.chunks
        ]
        whole = pa.chunked_array(chunks).unify_dictionaries().combine_chunks()
        encoded = whole.indices.dictionary_encode()
        return encoded.indices.to_numpy(), whole.dictionary.take(encoded.dictionary)
    if pa.types.is_integer(piece.type):
        piece = piece.cast(pa.large_string())
    encoded = piece.dictionary_encode()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    return codes, encoded.chunk(0).dictionary.cast(pa.large_string())


def _ranks(order: npt.NDArray[np.intp]) -> Ids:
    """The place of each in an order."""
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return ranks


def first_rows(codes: Ids) -> npt.NDArray[np.int64]:
    """Where each code is seen first, for codes numbered in order of first appearance."""
    highest = np.maximum.accumulate(codes)
    return np.append(0, np.flatnonzero(highest[1:] > highest[:-1]) + 1)
