"""Node labels over time: at time t, node n has this distribution over classes.

Columnar and sparse (CSR): TGB's token labels have 1,001 classes of which a node uses a handful, so a
dict of dense vectors, as the benchmark keeps them, is mostly zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same memory, which cannot be written through this view."""
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


@dataclass(frozen=True, slots=True, eq=False)
class NodeLabels:
    """Rows sorted by time; row r belongs to ``node[r]`` at ``t[r]`` and holds the entries
    ``indptr[r]:indptr[r+1]`` of ``classes`` and ``weights``."""

    t: npt.NDArray[np.int64]  # (M,)
    node: npt.NDArray[np.int32]  # (M,)
    indptr: npt.NDArray[np.int64]  # (M + 1,)
    classes: npt.NDArray[np.int32]  # (nnz,)
    weights: npt.NDArray[np.float32]  # (nnz,)
    num_classes: int
    first_class: int = 0  # where classes are nodes, class c is node first_class + c

    def __post_init__(self) -> None:
        if len(self.node) != len(self.t) or len(self.indptr) != len(self.t) + 1:
            raise ValueError("t, node and indptr do not belong together")
        if np.any(self.t[1:] < self.t[:-1]):
            raise ValueError("node labels must be sorted by time")
        for column in ("t", "node", "indptr", "classes", "weights"):
            object.__setattr__(self, column, read_only(getattr(self, column)))

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, rows: slice) -> NodeLabels:
        """A run of rows; a view, nothing is copied."""
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise ValueError("node labels are sliced in steps of 1")
        stop = max(start, stop)
        run = object.__new__(NodeLabels)  # rows of sorted rows are sorted: nothing to check again
        for column in ("classes", "weights", "num_classes", "first_class"):
            object.__setattr__(run, column, getattr(self, column))
        object.__setattr__(run, "t", self.t[start:stop])
        object.__setattr__(run, "node", self.node[start:stop])
        object.__setattr__(run, "indptr", self.indptr[start : stop + 1])
        return run

    @classmethod
    def from_long(
        cls,
        t: npt.NDArray[np.int64],
        node: npt.NDArray[np.int32],
        classes: npt.NDArray[np.int32],
        weights: npt.NDArray[np.float32],
        num_classes: int,
    ) -> NodeLabels:
        """Labels of one row for each (time, node, class, weight), in any order. A (time, node, class) that is
        repeated keeps its last weight, as in TGB's reader."""
        order = np.lexsort((classes, node, t))  # stable: of equal entries the last stays last
        t, node, classes, weights = t[order], node[order], classes[order], weights[order]
        same_row = (t[1:] == t[:-1]) & (node[1:] == node[:-1])
        keep = np.append(~(same_row & (classes[1:] == classes[:-1])), True)[: len(t)]
        t, node, classes, weights = t[keep], node[keep], classes[keep], weights[keep]
        first = np.flatnonzero(np.append(True, (t[1:] != t[:-1]) | (node[1:] != node[:-1]))[: len(t)])
        indptr = np.append(first, len(t)).astype(np.int64)
        return cls(t[first], node[first], indptr, classes, weights, num_classes)

    def dense(self) -> npt.NDArray[np.float32]:
        """The rows as a dense (M, num_classes) matrix."""
        out = np.zeros((len(self), self.num_classes), dtype=np.float32)
        start, stop = int(self.indptr[0]), int(self.indptr[-1])
        rows = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        out[rows, self.classes[start:stop]] = self.weights[start:stop]
        return out

    def up_to(self, time: int) -> NodeLabels:
        """All labels with t ≤ ``time``."""
        return self[: int(np.searchsorted(self.t, time, side="right"))]
