"""What a model of a whole labelled graph is seen beside: scores that need no graph network."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.events import EventStream, NodeLabels
from keat.models.contract import NodeModel, NodeQueries
from keat.models.gearsage.features import build_features

BLOCK = 1 << 18  # nodes


class GraphBaseline(NodeModel):
    """One score for each node, made once of the whole graph and the labels of the training nodes."""

    def __init__(self, stream: EventStream, y: npt.NDArray[np.int64], train: npt.NDArray[np.int64]) -> None:
        self.scores = torch.from_numpy(self._score(stream, y, train))

    @abstractmethod
    def _score(
        self, stream: EventStream, y: npt.NDArray[np.int64], train: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Of every node; ``train`` are the nodes whose labels ``y`` may be learned from."""

    def score(self, queries: NodeQueries) -> Tensor:
        return self.scores[torch.from_numpy(queries.node).long(), None]

    def observe(self, events: EventStream) -> None:
        """Every edge is input already."""

    def observe_labels(self, labels: NodeLabels) -> None:
        """Those of training are known already."""

    def reset(self) -> None:
        """Nothing was observed."""


class Degree(GraphBaseline):
    """Counts contacts."""

    name = "degree"

    def _score(
        self,
        stream: EventStream,
        y: npt.NDArray[np.int64],  # noqa: ARG002
        train: npt.NDArray[np.int64],  # noqa: ARG002
    ) -> npt.NDArray[np.float64]:
        ends = np.concatenate((stream.src, stream.dst))
        return np.bincount(ends, minlength=stream.num_nodes).astype(np.float64)


class LogisticOfFeatures(GraphBaseline):
    """A logistic regression on GEARSage's 56 features of each node."""

    name = "logistic"

    def _score(
        self, stream: EventStream, y: npt.NDArray[np.int64], train: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        from sklearn.linear_model import LogisticRegression  # a second to import: only when used
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        features = build_features(stream, y)
        classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        classifier.fit(features[train].astype(np.float64), y[train])
        scores = np.empty(len(features))
        for start in range(0, len(features), BLOCK):  # most nodes are background: not all as doubles at once
            part = features[start : start + BLOCK].astype(np.float64)
            scores[start : start + BLOCK] = classifier.decision_function(part)
        return scores
