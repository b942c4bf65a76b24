"""Labels of the nodes of a whole graph: the metrics are scikit-learn's, and the lessons are balanced."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, roc_auc_score

from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.dgraphfin_generator import ContactsConfig, write_dgraphfin
from keat.datasets.labelled_graph import graph_fingerprint, open_labelled_graph
from keat.errors import InputError, UnknownNameError
from keat.models.contract import NodeQueries
from keat.tasks.graph_label import PARTS, GraphLabel, labelled_nodes
from keat.tasks.script import Ask
from keat.training.graph_lessons import GraphLessons, cross_entropy


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DGraphFin:
    path = tmp_path_factory.mktemp("generated") / "small.npz"
    write_dgraphfin(path, 2000, seed=1, config=ContactsConfig(fraud_share=0.1))
    return open_labelled_graph(path)


@pytest.mark.parametrize("part", PARTS)
def test_metrics_are_those_of_scikit_learn(data: DGraphFin, part: str) -> None:
    task = GraphLabel(data, part)  # type: ignore[arg-type]
    nodes = {"train": data.train, "val": data.valid, "test": data.test}[part]
    y = data.y[nodes] == 1
    rng = np.random.default_rng(0)
    for scores in (
        rng.normal(size=len(y)),
        rng.integers(0, 4, len(y)).astype(float),
        y + rng.normal(size=len(y)),
    ):
        found = task.metrics(torch.from_numpy(scores))
        assert found["auc"] == pytest.approx(roc_auc_score(y, scores))
        assert found["ap"] == pytest.approx(average_precision_score(y, scores))
    assert task.metrics(torch.from_numpy(y.astype(np.float64))) == {"auc": 1.0, "ap": 1.0}
    assert task.metrics(torch.zeros(len(y))) == pytest.approx({"auc": 0.5, "ap": y.mean()})


def test_every_node_is_asked_about_once_and_at_once(data: DGraphFin) -> None:
    task = GraphLabel(data, "test")
    (ask,) = task.script()
    assert isinstance(ask, Ask)
    (queries,) = ask.queries
    assert isinstance(queries, NodeQueries)
    assert queries.node.tolist() == data.test.tolist()
    assert len(task) == len(data.test)
    assert task.headline in task.metrics(torch.randn(len(task)))


def test_intervals_are_around_the_metrics(data: DGraphFin) -> None:
    task = GraphLabel(data, "test")
    scores = torch.from_numpy(task.truth + np.random.default_rng(0).normal(size=len(task)))
    found, intervals = task.metrics(scores), task.intervals(scores)
    assert set(found) == set(intervals)
    assert all(low < found[name] < high for name, (low, high) in intervals.items())


def test_a_part_has_to_be_one_with_both_kinds(data: DGraphFin) -> None:
    with pytest.raises(UnknownNameError, match="Unknown part"):
        labelled_nodes(data, "future")  # type: ignore[arg-type]
    no_fraud = replace(data, test=data.test[data.y[data.test] == 0])
    with pytest.raises(InputError, match=r"test nodes of small are of classes \[0\]"):
        GraphLabel(no_fraud, "test")
    with pytest.raises(InputError, match=r"train nodes of small are of classes \[1\]"):
        GraphLessons(replace(data, train=data.train[data.y[data.train] == 1]))


# -- lessons -----------------------------------------------------------------------------------------


def drawn(data: DGraphFin, seed: int, epoch: int) -> np.ndarray:
    (lesson,) = GraphLessons(data).epoch(seed, epoch)
    assert isinstance(lesson.queries, NodeQueries)
    return lesson.queries.node


def test_a_lesson_has_all_frauds_and_as_many_others(data: DGraphFin) -> None:
    nodes = drawn(data, 1, 1)
    frauds = data.train[data.y[data.train] == 1]
    assert len(np.unique(nodes)) == len(nodes) == 2 * len(frauds)
    assert np.isin(nodes, data.train).all()
    assert set(nodes[: len(frauds)].tolist()) == set(frauds.tolist())
    assert (data.y[nodes[len(frauds) :]] == 0).all()


def test_the_others_are_a_function_of_seed_and_epoch(data: DGraphFin) -> None:
    first = drawn(data, 1, 1)
    assert np.array_equal(first, drawn(data, 1, 1))
    assert not np.array_equal(first, drawn(data, 1, 2))
    assert not np.array_equal(first, drawn(data, 2, 1))


def test_where_frauds_are_the_most_all_others_are_drawn(data: DGraphFin) -> None:
    few = data.train[data.y[data.train] == 0][:3]
    frauds = data.train[data.y[data.train] == 1]
    nodes = drawn(replace(data, train=np.concatenate((few, frauds))), 1, 1)
    assert len(nodes) == len(frauds) + 3


def test_the_loss_is_binary_cross_entropy(data: DGraphFin) -> None:
    (lesson,) = GraphLessons(data).epoch(1, 1)
    assert lesson.loss is not None
    assert isinstance(lesson.queries, NodeQueries)
    logits = torch.randn(len(lesson.queries.node), 1)
    fraud = torch.from_numpy(data.y[lesson.queries.node] == 1).float()
    chance = torch.sigmoid(logits[:, 0])
    by_hand = -(fraud * chance.log() + (1 - fraud) * (1 - chance).log()).mean()
    assert lesson.loss(logits).item() == pytest.approx(by_hand.item(), rel=1e-5)
    assert cross_entropy(logits, fraud > 0).item() == lesson.loss(logits).item()


def test_the_fingerprint_is_of_labels_and_split_too(data: DGraphFin) -> None:
    before = graph_fingerprint(data)
    turned = data.y.copy()
    turned[data.train[0]] = 1 - turned[data.train[0]]
    assert graph_fingerprint(replace(data, y=turned)) != before
    assert graph_fingerprint(replace(data, train=data.train[1:])) != before
    assert graph_fingerprint(replace(data)) == before
