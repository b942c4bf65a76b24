"""What GEARSage is seen beside: counts of contacts, and a logistic regression on its features."""

from __future__ import annotations

import numpy as np
import pytest

from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.dgraphfin_generator import ContactsConfig, write_dgraphfin
from keat.errors import UnknownNameError
from keat.models.gearsage import build_features
from keat.training.gearsage import open_labelled_graph
from keat.training.graph_baselines import GRAPH_BASELINES, evaluate_baseline


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DGraphFin:
    path = tmp_path_factory.mktemp("generated") / "small.npz"
    write_dgraphfin(path, 600, 900, seed=1, config=ContactsConfig(fraud_share=0.3))
    return open_labelled_graph(str(path))


def test_degree_is_how_often_a_fraud_has_more_contacts(data: DGraphFin) -> None:
    (found,) = evaluate_baseline("degree", data, ["test"])
    contacts = np.array([np.sum(data.stream.src == n) + np.sum(data.stream.dst == n) for n in data.test])
    fraud = data.y[data.test] == 1
    pairs = contacts[fraud][:, None] - contacts[~fraud]
    assert found["auc"] == pytest.approx(np.mean((pairs > 0) + 0.5 * (pairs == 0)))


def test_logistic_learns_from_the_training_nodes_alone(data: DGraphFin) -> None:
    train, valid, test = evaluate_baseline("logistic", data, ("train", "valid", "test"))
    assert train["auc"] > 0.75
    assert train["auc"] > test["auc"] != valid["auc"]
    turned = data.y.copy()
    turned[data.test] = 1 - turned[data.test]
    other = DGraphFin(data.stream, turned, data.train, data.valid, data.test)
    again, opposite = evaluate_baseline("logistic", other, ("valid", "test"))
    assert again == valid
    assert opposite["auc"] == pytest.approx(1 - test["auc"])


@pytest.mark.parametrize("name", GRAPH_BASELINES)
def test_features_that_are_at_hand_change_nothing(name: str, data: DGraphFin) -> None:
    known = build_features(data.stream, data.y)
    assert evaluate_baseline(name, data, ["test"], known) == evaluate_baseline(name, data, ["test"])


def test_a_name_that_is_none(data: DGraphFin) -> None:
    with pytest.raises(UnknownNameError, match="logistic"):
        evaluate_baseline("logistics", data, ["test"])
