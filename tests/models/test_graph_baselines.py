"""What GEARSage is seen beside: counts of contacts, and a logistic regression on its features."""

from __future__ import annotations

import numpy as np
import pytest

from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.dgraphfin_generator import ContactsConfig, write_dgraphfin
from keat.datasets.labelled_graph import open_labelled_graph
from keat.models.registry import GRAPH_BASELINES
from keat.runs.run_evaluation import heuristics_beside, heuristics_for
from keat.tasks.graph_label import GraphLabel, Part
from keat.tasks.script import TGB_BATCH
from keat.training.evaluate import evaluate


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DGraphFin:
    path = tmp_path_factory.mktemp("generated") / "small.npz"
    write_dgraphfin(path, 600, 900, seed=1, config=ContactsConfig(fraud_share=0.3))
    return open_labelled_graph(path)


def found(name: str, data: DGraphFin, part: Part) -> dict[str, float]:
    model = GRAPH_BASELINES[name](data.stream, data.y, data.train)
    return evaluate(model, GraphLabel(data, part)).metrics


def test_degree_is_how_often_a_fraud_has_more_contacts(data: DGraphFin) -> None:
    contacts = np.array([np.sum(data.stream.src == n) + np.sum(data.stream.dst == n) for n in data.test])
    fraud = data.y[data.test] == 1
    pairs = contacts[fraud][:, None] - contacts[~fraud]
    assert found("degree", data, "test")["auc"] == pytest.approx(np.mean((pairs > 0) + 0.5 * (pairs == 0)))


def test_logistic_learns_from_the_training_nodes_alone(data: DGraphFin) -> None:
    train, valid, test = (found("logistic", data, part) for part in ("train", "val", "test"))
    assert train["auc"] > 0.75
    assert train["auc"] > test["auc"] != valid["auc"]
    turned = data.y.copy()
    turned[data.test] = 1 - turned[data.test]
    other = DGraphFin(data.stream, turned, data.train, data.valid, data.test)
    assert found("logistic", other, "val") == valid
    assert found("logistic", other, "test")["auc"] == pytest.approx(1 - test["auc"])


def test_all_of_them_stand_beside_a_model(data: DGraphFin) -> None:
    task = GraphLabel(data, "test")
    assert heuristics_for(task) == ["degree", "logistic"]
    beside = heuristics_beside(data, task, TGB_BATCH)
    assert beside == {name: found(name, data, "test") for name in GRAPH_BASELINES}
