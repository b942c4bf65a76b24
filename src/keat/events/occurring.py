"""Which nodes are in a column, and how many times are: in blocks, so that a mapped column stays on disk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BLOCK = 1 << 20  # rows at a time


def occurring(nodes: npt.NDArray[np.int32], num_nodes: int) -> npt.NDArray[np.int32]:
    """The nodes of a column, each once, rising."""
    present = np.zeros(num_nodes, dtype=np.bool_)
    for start in range(0, len(nodes), BLOCK):
        present[nodes[start : start + BLOCK]] = True
    return np.flatnonzero(present).astype(np.int32)


def distinct_times(t: npt.NDArray[np.int64]) -> int:
    """How many times there are in a column of rising times."""
    rises = 0
    for start in range(0, len(t), BLOCK):
        block = t[start : start + BLOCK + 1]  # two blocks share a row
        rises += int(np.count_nonzero(block[1:] != block[:-1]))
    return rises + 1 if len(t) else 0
