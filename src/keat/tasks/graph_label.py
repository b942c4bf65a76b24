"""Labels of the nodes of a whole graph, given once and for all: which of these people are frauds?

There is no order of time in it: every edge is input, and it is the labels that are split.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import torch

from keat.datasets.dgraphfin import DGraphFin
from keat.errors import InputError, unknown_name
from keat.models.contract import NodeQueries
from keat.tasks.node_label import LabelTask, bootstrap
from keat.tasks.script import TGB_BATCH, Ask, Line

Part = Literal["train", "val", "test"]
PARTS: tuple[Part, ...] = get_args(Part)


class GraphLabel(LabelTask):
    """All labelled nodes of a part are asked about at once: are they of class 1?"""

    kind = "graph-label"

    def __init__(self, graph: DGraphFin, part: Part) -> None:
        self.nodes = labelled_nodes(graph, part).astype(np.int32)
        self.truth = graph.y[self.nodes] == 1
        self.queries = NodeQueries(self.nodes, np.zeros(len(self.nodes), dtype=np.int64))

    def script(self, refresh: int = TGB_BATCH) -> Iterator[Line]:
        return self.questions(refresh)

    def questions(self, refresh: int = TGB_BATCH) -> Iterator[Line]:  # noqa: ARG002
        yield Ask((self.queries,), slice(0, len(self.nodes)))

    def intervals(self, outcomes: torch.Tensor) -> dict[str, tuple[float, float]]:
        """95 % intervals by the bootstrap over nodes."""
        return bootstrap(self.truth, outcomes.cpu().numpy(), np.arange(len(self.nodes)))


def labelled_nodes(graph: DGraphFin, part: Part) -> npt.NDArray[np.int64]:
    """The nodes of a part of the split; there have to be normal ones and frauds among them."""
    if part not in PARTS:
        raise unknown_name("part", part, PARTS)
    nodes: npt.NDArray[np.int64] = getattr(graph, "valid" if part == "val" else part)
    classes = np.unique(graph.y[nodes]).tolist()
    if classes != [0, 1]:
        raise InputError(
            f"The {part} nodes of {graph.name} are of classes {classes}; they must be of 0 and 1, both."
        )
    return nodes
