"""What the nodes of a run are called. Newcomers join as they appear, whatever side they are on."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from keat.disk import is_file, reason_of
from keat.errors import InputError, Notice
from keat.events import IdMap
from keat.events.ids import Side

Dense = npt.NDArray[np.int32]
SIDES: tuple[Side, Side] = ("src", "dst")
MANY = 20_000  # names, among which looking for a similar one would take long


class NodeNames:
    """Labels of nodes 0 … n - 1; in a bipartite run also which side each is on, where equal labels may be of
    two nodes."""

    def __init__(self, labels: pa.Array, side: npt.NDArray[np.int8] | None = None) -> None:
        self.labels, self.side = labels, side

    @classmethod
    def of(cls, ids: IdMap) -> NodeNames:
        labels = ids.labels if ids.labels is not None else pa.array(np.arange(len(ids)))
        if ids.boundary is None:
            return cls(labels)
        return cls(labels, (np.arange(len(ids)) >= ids.boundary).astype(np.int8))

    def __len__(self) -> int:
        return len(self.labels)

    def label(self, node: int) -> str | int:
        value: str | int = self.labels[int(node)].as_py()
        return value

    def known_written(self, labels: Sequence[str | int], *, side: Side) -> Dense:
        """Nodes of labels as they are written; a stranger is an error."""
        nodes, known = self._of_side(side)
        return nodes[known.index_written(labels)]

    def labels_of(self, nodes: npt.NDArray[np.integer]) -> pa.Array:
        """What many nodes are called."""
        return self.labels.take(pa.array(nodes))

    def find(self, labels: Sequence[str | int] | pa.Array, side: Side) -> Dense:
        """Nodes of labels, as they are written or as they are kept; a stranger has -1."""
        nodes, known = self._of_side(side)
        look_up = known.index if isinstance(labels, pa.Array) else known.index_written
        found: Dense = look_up(labels, strangers=True)
        return np.where(found < 0, -1, nodes[np.maximum(found, 0)]).astype(np.int32) if len(nodes) else found

    def index_written(self, labels: Sequence[str | int], *, side: Side) -> Dense:
        """Nodes of labels that are asked about. A stranger has a number beyond all nodes, and one label
        always the same. A notice says that there are strangers, since it may be a slip of the pen."""
        found = self.find(labels, side)
        rows = np.flatnonzero(found < 0).tolist()
        distinct = dict.fromkeys(labels[row] for row in rows)
        if "" in distinct:
            raise InputError("The name of a node is empty; give one.")
        if distinct:
            self._tell_of_strangers(next(iter(distinct)), len(distinct))
        number = dict(zip(distinct, range(len(self), len(self) + len(distinct)), strict=True))
        found[rows] = [number[labels[row]] for row in rows]
        return found

    def tell_of_strangers(self, names: NodeNames) -> None:
        """A notice that some of other names, which begin with these, are new."""
        if len(names) > len(self):
            self._tell_of_strangers(names.label(len(self)), len(names) - len(self))

    def _tell_of_strangers(self, first: str | int, number: int) -> None:
        others = f" and {number - 1:,} more are" if number > 1 else " is"
        warnings.warn(
            f"'{first}'{others} new to this run, and answered about as a stranger{self._near(str(first))}",
            Notice,
            stacklevel=4,
        )

    def ends_written(
        self, source: Sequence[str | int], destination: Sequence[str | int]
    ) -> tuple[Dense, Dense]:
        """Both ends of pairs. Where there are no sides, a stranger has one number on either end; where there
        are, strangers of the two sides are different nodes."""
        if self.side is not None:
            src, dst = self.index_written(source, side="src"), self.index_written(destination, side="dst")
            taken = max(int(src.max(initial=-1)) + 1 - len(self), 0)
            return src, np.where(dst >= len(self), dst + taken, dst).astype(np.int32)
        both = self.index_written([*source, *destination], side="src")
        return both[: len(source)], both[len(source) :]

    def _near(self, label: str) -> str:
        """The end of a sentence about a label that is not known."""
        if len(self) > MANY or not pa.types.is_large_string(self.labels.type):
            return "."
        known = {str(name).lower(): name for name in self.labels.to_pylist()}
        near = difflib.get_close_matches(label.lower()[:100], known, n=1, cutoff=0.8)
        return f"; did you mean '{known[near[0]]}'?" if near else "."

    def joined_by(self, ids: IdMap) -> tuple[NodeNames, Dense]:
        """These names with the nodes of another map that are not known yet; and for each node of that map,
        which one it is here."""
        theirs = NodeNames.of(ids)
        if (theirs.side is None) != (self.side is None):
            raise InputError("One of the two has separate sources and destinations and the other has not.")
        if theirs.labels.type != self.labels.type:
            try:
                theirs = NodeNames(theirs.labels.cast(self.labels.type), theirs.side)
            except pa.ArrowInvalid as error:
                raise InputError(f"Nodes of this run are whole numbers ({reason_of(error)}).") from error
        place = np.empty(len(theirs), dtype=np.int32)
        labels, side = self.labels, self.side
        for number, name in enumerate(SIDES if side is not None else SIDES[:1]):
            rows = np.arange(len(theirs)) if theirs.side is None else np.flatnonzero(theirs.side == number)
            wanted = theirs.labels.take(pa.array(rows))
            found = self.find(wanted, name)
            fresh = np.flatnonzero(found < 0)
            found[fresh] = len(labels) + np.arange(len(fresh))
            place[rows] = found
            labels = pa.concat_arrays([labels, wanted.take(pa.array(fresh))])
            if side is not None:
                side = np.concatenate((side, np.full(len(fresh), number, dtype=np.int8)))
        return NodeNames(labels, side), place

    def _of_side(self, side: Side) -> tuple[Dense, IdMap]:
        if self.side is None:
            return np.arange(len(self), dtype=np.int32), IdMap(self.labels)
        nodes = np.flatnonzero(self.side == SIDES.index(side)).astype(np.int32)
        return nodes, IdMap(self.labels.take(pa.array(nodes)))

    # -- files ---------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        columns = {"label": self.labels} | ({} if self.side is None else {"side": pa.array(self.side)})
        pq.write_table(pa.table(columns), path)

    @classmethod
    def load(cls, path: Path) -> NodeNames:
        """What `save` wrote. Raises `ValueError` with the reason where the file holds no names."""
        if not is_file(path):
            raise ValueError(f"{path.name} is missing")
        try:
            with pq.ParquetFile(path) as file:
                table = file.read()
            labels = table["label"].combine_chunks()
            side = table["side"].to_numpy().astype(np.int8) if "side" in table.column_names else None
        except (pa.ArrowException, OSError, KeyError) as error:
            raise ValueError(f"{path.name} does not hold names of nodes ({reason_of(error)})") from error
        if labels.null_count or (side is not None and not np.isin(side, (0, 1)).all()):
            raise ValueError(f"{path.name} has nodes without a name or a side")
        return cls(labels, side)
