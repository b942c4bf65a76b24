"""Heuristics for node properties: the future is the last label, or a running mean of labels.

On TGB's node property tasks they beat most learned models, so they are always shown.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from keat.events import EventStream, NodeLabels
from keat.models.contract import NodeModel, NodeQueries


class PersistentForecast(NodeModel):
    """Predict the last label vector seen of the node; zeros before the first."""

    name = "persistent-forecast"

    def __init__(self, labels: NodeLabels, num_nodes: int) -> None:
        self.num_classes = labels.num_classes
        # Rows for labelled nodes only: tgbn-token has 61,756 nodes × 1,001 classes, few of them labelled.
        self.row = np.full(num_nodes, -1, dtype=np.int64)
        self.reset()

    def reset(self) -> None:
        self.row.fill(-1)
        self.memory = np.zeros((0, self.num_classes), dtype=np.float32)
        self.known = 0

    def observe(self, events: EventStream) -> None:
        """Edges tell these forecasts nothing."""

    def observe_labels(self, labels: NodeLabels) -> None:
        # One call may hold several times; each node's labels are taken in order.
        starts = np.flatnonzero(np.append(True, labels.t[1:] != labels.t[:-1])[: len(labels)]).tolist()
        for start, stop in zip(starts, [*starts[1:], len(labels)], strict=True):
            rows = labels[start:stop]
            new = self.row[rows.node] < 0
            self._remember(rows.node, rows.dense(), new)

    def _remember(
        self, nodes: npt.NDArray[np.int32], vectors: npt.NDArray[np.float32], new: npt.NDArray[np.bool_]
    ) -> None:
        fresh = nodes[new]
        self.row[fresh] = self.known + np.arange(len(fresh))
        self.known += len(fresh)
        if self.known > len(self.memory):
            room = np.zeros((max(self.known, 2 * len(self.memory)), self.num_classes), dtype=np.float32)
            room[: len(self.memory)] = self.memory
            self.memory = room
        rows = self.row[nodes]
        self.memory[rows] = np.where(new[:, None], vectors, self.updated(self.memory[rows], vectors))

    def updated(
        self,
        memory: npt.NDArray[np.float32],  # noqa: ARG002
        vectors: npt.NDArray[np.float32],
    ) -> npt.NDArray[np.float32]:
        return vectors

    def score(self, queries: NodeQueries) -> torch.Tensor:
        rows = self.row[queries.node]
        out = np.zeros((len(rows), self.num_classes), dtype=np.float32)
        out[rows >= 0] = self.memory[rows[rows >= 0]]
        return torch.from_numpy(out)


class MovingAverage(PersistentForecast):
    """Predict a running mean: m ← (m·(w − 1) + y) / w with w = 7, starting at the first label.

    (TGB calls it a moving average; it is an exponential one.)
    """

    name = "moving-average"
    window = 7

    def updated(
        self, memory: npt.NDArray[np.float32], vectors: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float32]:
        return (memory * (self.window - 1) + vectors) / np.float32(self.window)
