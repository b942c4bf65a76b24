"""What a model of a whole labelled graph is seen beside: scores that need no graph network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keat.datasets.dgraphfin import DGraphFin
from keat.errors import unknown_name
from keat.models.gearsage import GEARSAGE_CONFIGS, build_features
from keat.training.gearsage import Part, label_metrics, labelled_nodes

GRAPH_BASELINES = {
    "degree": "counts contacts",
    "logistic": "is a logistic regression on GEARSage's 56 features of each node",
}


def evaluate_baseline(
    name: str,
    data: DGraphFin,
    parts: Sequence[Part],
    features: npt.NDArray[np.float32] | None = None,
) -> list[dict[str, float]]:
    """ROC-AUC and average precision on each part of the labelled nodes. ``features`` are those of
    `build_features`, where they are at hand."""
    if name not in GRAPH_BASELINES:
        raise unknown_name("model of whole graphs", name, [*GEARSAGE_CONFIGS, *GRAPH_BASELINES])
    asked = [labelled_nodes(data, part) for part in parts]
    if name == "degree":
        ends = np.concatenate((data.stream.src, data.stream.dst))
        contacts = np.bincount(ends, minlength=data.stream.num_nodes)
        scores = [contacts[nodes].astype(np.float64) for nodes in asked]
    else:
        known = build_features(data.stream, data.y) if features is None else features
        scores = _logistic(known, data.y, labelled_nodes(data, "train"), asked)
    return [label_metrics(score, data.y[nodes]) for score, nodes in zip(scores, asked, strict=True)]


def _logistic(
    features: npt.NDArray[np.float32],
    y: npt.NDArray[np.int64],
    train: npt.NDArray[np.int64],
    asked: Sequence[npt.NDArray[np.int64]],
) -> list[npt.NDArray[np.float64]]:
    """Log odds of the nodes asked for. Only their rows are made double: most nodes are background."""
    from sklearn.linear_model import LogisticRegression  # a second to import: only when used
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    classifier.fit(features[train].astype(np.float64), y[train])
    return [classifier.decision_function(features[nodes].astype(np.float64)) for nodes in asked]
