"""Labels of events by logistic regression on plain counts and recencies: what a graph model has to beat."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.errors import InputError
from keat.events import EventStream, NodeLabels
from keat.events.units import clock_of
from keat.models.contract import NodeModel, NodeQueries
from keat.models.node_head import EventQueries
from keat.state import EventCounts

Matrix = npt.NDArray[np.float64]
BLOCK = 200  # the freshness of the state it learns with, as in TGB's protocol


class CountsAndRecencies(NodeModel):
    """logit = w · x + b, where x holds of the source, of the destination and of the pair: whether it is new,
    the logarithms of how often it was seen and of how long ago last and first; and the event's own features.

    Standardized, both kinds of label weighing the same; fitted on the training split when it is built.
    """

    name = "counts"

    def __init__(self, train: EventStream) -> None:
        if train.labels is None:
            raise InputError(f"{self.name} needs event labels, and {train.name} has none.")
        self.clock = clock_of(train.unit)
        self.reset()
        inputs, truth = [], []
        for block in train.blocks(BLOCK):
            assert block.labels is not None
            known = block.labels >= 0
            asked = EventQueries(block.src[known], block.t[known], block.dst[known], block.features[known])
            inputs.append(self.inputs(asked))
            truth.append(block.labels[known] > 0)
            self.observe(block)
        self.model = _fit(np.concatenate(inputs), np.concatenate(truth), train.name)
        self.reset()

    def reset(self) -> None:
        self.counts = EventCounts(self.clock)

    def observe(self, events: EventStream) -> None:
        self.counts.observe(events)

    def observe_labels(self, labels: NodeLabels) -> None:
        """Labels are learned from; the state is made of events alone."""

    def score(self, queries: NodeQueries) -> Tensor:
        assert isinstance(queries, EventQueries)
        logits = self.model.decision_function(self.inputs(queries))
        return torch.from_numpy(logits[:, None])

    def inputs(self, queries: EventQueries) -> Matrix:
        """x of each event, (B, 12 + features)."""
        described = self.counts.describe(queries.node, queries.other, queries.t)
        return np.concatenate((described, queries.features.astype(np.float64)), axis=1)


def _fit(inputs: Matrix, truth: npt.NDArray[np.bool_], name: str) -> Any:
    from sklearn.linear_model import LogisticRegression  # a second to import: only when used
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if truth.all() or not truth.any():
        raise InputError(f"The training split of {name} needs labelled events of both kinds, 1 and 0.")
    regression = LogisticRegression(class_weight="balanced", max_iter=1000)
    return make_pipeline(StandardScaler(), regression).fit(inputs, truth)
