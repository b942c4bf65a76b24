"""Features of nodes from a file of their own: one row a node, which it names, and numbers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keat.errors import InputError, Notice
from keat.events.columns import Column, is_text
from keat.events.feature_columns import Matrix, RawColumn, read_features
from keat.events.files import open_file
from keat.events.ids import IdMap

NODE_NAMES = ("node", "node_id", "id")  # of the column that names the node; else it is the first
SIDE = "side"  # of the column that says src or dst, where a bipartite stream needs it
NUMBERS = "features of nodes are numbers, so write it as one or drop the column"


@dataclass(frozen=True, slots=True, eq=False)
class NodeTable:
    """A row of numbers for every node of a stream; zeros for those that have none in the file."""

    where: str
    matrix: Matrix  # (num_nodes, d)
    known: npt.NDArray[np.bool_]  # (num_nodes,), whether the file has a row
    raw: list[RawColumn]


def read_node_table(
    path: Path, ids: IdMap, stream: str, delimiter: str | None = None, *, header: bool = True
) -> NodeTable:
    """The features of the nodes in ``ids``; what is missing or superfluous is said."""
    opened = open_file(path, delimiter, header=header)
    if len(set(opened.columns)) < len(opened.columns):
        raise InputError(f"{opened.where} has two columns of one name; rename or drop one.")
    named = next((c for usual in NODE_NAMES for c in opened.columns if c.lower() == usual), opened.columns[0])
    sides = [c for c in opened.columns if c.lower() == SIDE and c != named and ids.boundary is not None]
    features = [c for c in opened.columns if c not in (named, *sides)]
    if not features:
        raise InputError(
            f"{opened.where} has no column beside '{named}', which names the nodes; add numbers."
        )
    table = opened.read(opened.columns, [named, *sides])
    if table.num_rows == 0:
        raise InputError(f"{opened.where} has columns but no rows; give at least one node.")
    where = opened.where
    nodes = _text(Column(where, named, table[named]))
    matrix, raw = read_features([Column(where, name, table[name]) for name in features], text=NUMBERS)
    side = _text(Column(where, sides[0], table[sides[0]])) if sides else None
    found = _nodes(ids, nodes, side)
    _require_once(nodes, found)
    _tell(where, nodes, found, len(ids), stream)
    rows = np.zeros((len(ids), matrix.shape[1]), dtype=np.float32)
    known = np.zeros(len(ids), dtype=np.bool_)
    rows[found[found >= 0]] = matrix[found >= 0]
    known[found[found >= 0]] = True
    return NodeTable(where, rows, known, raw)


def _text(column: Column) -> Column:
    column.require_values("say which node it is, or drop the row")
    column = column.plain()
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        column = column.from_bytes()
    if not (is_text(column.type) or pa.types.is_integer(column.type)):
        raise column.error(
            f"the values are {column.type}", do="nodes are whole numbers or text, so cast them"
        )
    return Column(column.where, column.name, column.data.cast(pa.large_string()))


def _nodes(ids: IdMap, nodes: Column, side: Column | None) -> npt.NDArray[np.int64]:
    """Dense ids, -1 where a node does not occur."""
    written = nodes.data.combine_chunks()
    if ids.boundary is None:
        return ids.find_written(written)
    source, destination = ids.find_written(written, side="src"), ids.find_written(written, side="dst")
    if side is None:
        both = (source >= 0) & (destination >= 0)
        if both.any():
            row = int(np.argmax(both))
            raise nodes.error(
                f"'{written[row]}' is a source and a destination, which are different things here",
                do=f"add a column '{SIDE}' that says src or dst",
                row=row,
            )
        return np.maximum(source, destination)
    said = pc.utf8_trim_whitespace(side.data).combine_chunks()
    odd = pc.index(pc.is_in(said, value_set=pa.array(["src", "dst"], said.type)), False).as_py()
    if odd >= 0:
        raise side.error(f"'{said[odd]}' is neither src nor dst", do="say which the node is", row=odd)
    return np.where(pc.equal(said, "src").to_numpy(zero_copy_only=False), source, destination)


def _require_once(nodes: Column, found: npt.NDArray[np.int64]) -> None:
    values, counts = np.unique(found[found >= 0], return_counts=True)
    if (counts > 1).any():
        row = int(np.flatnonzero(found == values[np.argmax(counts > 1)])[1])
        raise nodes.error(
            f"the node '{nodes.data[row]}' has a row already", do="keep one of the two", row=row
        )


def _tell(where: str, nodes: Column, found: npt.NDArray[np.int64], num_nodes: int, stream: str) -> None:
    strangers, present = int(np.count_nonzero(found < 0)), int(np.count_nonzero(found >= 0))
    if present == 0:
        raise InputError(
            f"None of the {len(found):,} nodes in column '{nodes.name}' of {where} occurs in {stream}; name "
            "them as the events do."
        )
    if strangers:
        first = nodes.data[int(np.argmax(found < 0))]
        warnings.warn(
            f"{strangers:,} of the {len(found):,} nodes in {where} do not occur in {stream} and are left out "
            f"(the first is '{first}').",
            Notice,
            stacklevel=3,
        )
    if present < num_nodes:
        warnings.warn(
            f"{num_nodes - present:,} of the {num_nodes:,} nodes of {stream} have no row in {where}; their "
            "features are zeros.",
            Notice,
            stacklevel=3,
        )
