"""Lessons of a whole labelled graph. An epoch is one step: all frauds of the training nodes, as many normal
ones drawn anew, and whatever can reach them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from keat.datasets.dgraphfin import DGraphFin
from keat.models.contract import NodeQueries
from keat.tasks.graph_label import labelled_nodes
from keat.tasks.script import TGB_BATCH
from keat.training.lessons import Lesson


class GraphLessons:
    """The labelled training nodes of a graph; binary cross-entropy."""

    refresh = TGB_BATCH  # there is no time, and so no freshness

    def __init__(self, graph: DGraphFin) -> None:
        nodes = labelled_nodes(graph, "train").astype(np.int32)
        fraud = graph.y[nodes] == 1
        self.frauds, self.normal, self.nothing = nodes[fraud], nodes[~fraud], graph.stream[:0]

    def __len__(self) -> int:
        return 1

    def epoch(self, seed: int, epoch: int) -> Iterator[Lesson]:
        rng = np.random.default_rng([seed, epoch])
        drawn = rng.choice(self.normal, min(len(self.frauds), len(self.normal)), replace=False)
        nodes = np.concatenate((self.frauds, drawn))
        truth = torch.arange(len(nodes)) < len(self.frauds)
        queries = NodeQueries(nodes, np.zeros(len(nodes), dtype=np.int64))
        yield Lesson(self.nothing, queries, partial(cross_entropy, truth=truth), asked=1)


def cross_entropy(logits: Tensor, truth: Tensor) -> Tensor:
    """Binary cross-entropy of logits (B, 1)."""
    return functional.binary_cross_entropy_with_logits(logits[:, 0], truth.to(logits.device, logits.dtype))
