"""Labels of events by logistic regression on plain counts and recencies: what a graph model has to beat."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.errors import InputError
from keat.events import EventStream, NodeLabels
from keat.models.contract import NodeModel, NodeQueries
from keat.models.node_head import EventQueries
from keat.state.node_array import NodeArray
from keat.state.pair_table import PairTable

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
        self.count, self.first, self.last = (NodeArray(0, 0, np.int64) for _ in range(3))
        self.pair_count, self.pair_first, self.pair_last = (PairTable() for _ in range(3))

    def observe(self, events: EventStream) -> None:
        ends = np.stack((events.src, events.dst), axis=1).ravel()
        times = np.repeat(events.t, 2)
        count, first, last = (array.writable(ends) for array in (self.count, self.first, self.last))
        nodes, begin, number = np.unique(ends, return_index=True, return_counts=True)
        first[nodes] = np.where(count[nodes] > 0, first[nodes], times[begin])
        count[nodes] += number
        last[ends] = times  # in the order of time: the latest stays
        pair = events.src.astype(np.int64) << 32 | events.dst
        _, begin, number = np.unique(pair, return_index=True, return_counts=True)
        src, dst, t = events.src[begin], events.dst[begin], events.t[begin]
        before = self.pair_count.get(src, dst[:, None], 0)[:, 0]
        new = before == 0
        self.pair_count.put(src, dst, before + number)
        self.pair_first.put(src[new], dst[new], t[new])
        self.pair_last.put(events.src, events.dst, events.t)

    def observe_labels(self, labels: NodeLabels) -> None:
        """Labels are learned from; the state is made of events alone."""

    def score(self, queries: NodeQueries) -> Tensor:
        assert isinstance(queries, EventQueries)
        logits = self.model.decision_function(self.inputs(queries))
        return torch.from_numpy(logits[:, None])

    def inputs(self, queries: EventQueries) -> Matrix:
        """x of each event, (B, 12 + features)."""
        src, dst, t = queries.node, queries.other, queries.t
        arrays, tables = (
            (self.count, self.first, self.last),
            (self.pair_count, self.pair_first, self.pair_last),
        )
        states = [[array.at(ends) for array in arrays] for ends in (src, dst)]
        states.append([table.get(src, dst[:, None], 0)[:, 0] for table in tables])
        columns = [_counts_and_ages(t, *state) for state in states]
        return np.concatenate((*columns, queries.features.astype(np.float64)), axis=1)


def _counts_and_ages(
    t: npt.NDArray[np.int64],
    count: npt.NDArray[Any],
    first: npt.NDArray[Any],
    last: npt.NDArray[Any],
) -> Matrix:
    new = count == 0
    ages = [np.log1p(np.where(new, 0, t - since)) for since in (last, first)]
    return np.stack((new, np.log1p(count), *ages), axis=1).astype(np.float64)


def _fit(inputs: Matrix, truth: npt.NDArray[np.bool_], name: str) -> Any:
    from sklearn.linear_model import LogisticRegression  # a second to import: only when used
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if truth.all() or not truth.any():
        raise InputError(f"The training split of {name} needs labelled events of both kinds, 1 and 0.")
    regression = LogisticRegression(class_weight="balanced", max_iter=1000)
    return make_pipeline(StandardScaler(), regression).fit(inputs, truth)
