"""A number for every node, growing as nodes appear."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class NodeArray:
    """One value a node; nodes never written have ``default``, whether or not they exist yet."""

    def __init__(self, num_nodes: int, default: float, dtype: npt.DTypeLike) -> None:
        self.default = default
        self.values = np.full(num_nodes, default, dtype=dtype)

    def clear(self) -> None:
        self.values.fill(self.default)

    def writable(self, nodes: npt.NDArray[np.integer]) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
        """The array itself, made long enough to be indexed by ``nodes``."""
        needed = int(nodes.max(initial=-1)) + 1
        if needed > len(self.values):
            grown = np.full(max(needed, 2 * len(self.values)), self.default, dtype=self.values.dtype)
            grown[: len(self.values)] = self.values
            self.values = grown
        return self.values

    def at(self, nodes: npt.NDArray[np.integer]) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
        """Values of ``nodes``; reading never grows the array."""
        if nodes.max(initial=-1) < len(self.values):
            found: npt.NDArray[Any] = self.values[nodes]
            return found
        known = nodes < len(self.values)
        found = np.full(nodes.shape, self.default, dtype=self.values.dtype)
        found[known] = self.values[nodes[known]]
        return found
