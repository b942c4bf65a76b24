"""GEARSage on a small generated graph: learns, resumes to the same bits, and says what is wrong."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.dgraphfin_generator import ContactsConfig, write_dgraphfin
from keat.errors import InputError, UnknownNameError
from keat.training.checkpoint import KEPT
from keat.training.epochs import kept_tensors
from keat.training.gearsage import (
    GEARSageFit,
    build_gearsage,
    evaluate_gearsage,
    gearsage_configuration,
    label_metrics,
    labelled_nodes,
    open_gearsage,
    open_labelled_graph,
    train_gearsage,
)

KEAT = gearsage_configuration("keat-gearsage")
TWO, FOUR = GEARSageFit(epochs=2), GEARSageFit(epochs=4)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DGraphFin:
    path = tmp_path_factory.mktemp("generated") / "small.npz"
    write_dgraphfin(path, 3000, seed=1, config=ContactsConfig(fraud_share=0.1))
    return open_labelled_graph(str(path))


@pytest.mark.parametrize("name", ["gearsage", "keat-gearsage"])
def test_learns_what_is_planted(data: DGraphFin, tmp_path: Path, name: str) -> None:
    config = gearsage_configuration(name)
    reports = train_gearsage(name, data, tmp_path / "run", config, GEARSageFit(epochs=25))
    assert reports[-1].loss < 0.8 * reports[0].loss
    assert max(report.val["auc"] for report in reports) > 0.65
    test = evaluate_gearsage(tmp_path / "run", data, "test")
    assert 0.6 < test["auc"] < 1
    best = max(reports, key=lambda report: (report.val["auc"], report.epoch))
    assert evaluate_gearsage(tmp_path / "run", data, "valid") == pytest.approx(best.val)


def test_resuming_equals_never_having_stopped(data: DGraphFin, tmp_path: Path) -> None:
    train_gearsage("keat-gearsage", data, tmp_path / "whole", KEAT, FOUR)
    train_gearsage("keat-gearsage", data, tmp_path / "halves", KEAT, TWO)
    train_gearsage("keat-gearsage", data, tmp_path / "halves", KEAT, FOUR, resume=True)
    for which in KEPT:
        whole, halves = (kept_tensors(tmp_path / run, which) for run in ("whole", "halves"))
        assert whole.keys() == halves.keys()
        for key in whole:
            assert torch.equal(whole[key], halves[key]), key


def test_another_seed_is_another_run(data: DGraphFin, tmp_path: Path) -> None:
    reports = [
        train_gearsage("gearsage", data, tmp_path / str(seed), KEAT, dataclasses.replace(TWO, seed=seed))
        for seed in (1, 2)
    ]
    assert reports[0][-1].loss != reports[1][-1].loss
    with pytest.raises(InputError, match=r"different fit"):
        train_gearsage("gearsage", data, tmp_path / "1", KEAT, dataclasses.replace(TWO, seed=2), resume=True)


def test_stops_when_validation_stops_improving_and_validates_as_often_as_told(
    data: DGraphFin, tmp_path: Path
) -> None:
    frozen = GEARSageFit(epochs=6, patience=2, lr=0.0, validate_every=1)
    still = dataclasses.replace(KEAT, dropout=0.0)
    reports = train_gearsage("keat-gearsage", data, tmp_path / "still", still, frozen)
    since_best = [report.best for report in reports][::-1].index(True)
    assert since_best == 2 or len(reports) == 6
    seldom = train_gearsage(
        "keat-gearsage", data, tmp_path / "seldom", KEAT, GEARSageFit(epochs=5, validate_every=2)
    )
    assert [bool(report.val) for report in seldom] == [False, True, False, True, True]


def test_labels_of_validation_and_test_nodes_are_not_seen(data: DGraphFin, tmp_path: Path) -> None:
    """With test and validation labels permuted, training ends at the same parameters."""
    rng = np.random.default_rng(0)
    y = data.y.copy()
    for part in (data.valid, data.test):
        y[part] = rng.permutation(y[part])
    permuted = dataclasses.replace(data, y=y)
    for name, given in (("true", data), ("permuted", permuted)):
        train_gearsage("gearsage", given, tmp_path / name, KEAT, TWO)
    true, other = (kept_tensors(tmp_path / name, "last") for name in ("true", "permuted"))
    assert all(torch.equal(true[key], other[key]) for key in true)


def test_a_run_opens_as_it_was_trained(data: DGraphFin, tmp_path: Path) -> None:
    config = gearsage_configuration("keat-gearsage", kernel="rbf", width=2.0, delta="end")
    train_gearsage("keat-gearsage", data, tmp_path / "run", config, TWO)
    model, description = open_gearsage(tmp_path / "run")
    assert model.config == config
    assert model.sigma == build_gearsage(data, config).sigma == description["sigma"]
    assert description["task"] == "node-label"


def test_metrics_are_of_the_part_asked_for(data: DGraphFin) -> None:
    for part in ("train", "valid", "test"):
        y = data.y[labelled_nodes(data, part)]
        assert label_metrics(y.astype(np.float64), y) == {"auc": 1.0, "ap": 1.0}
        assert label_metrics(np.zeros(len(y)), y) == pytest.approx({"auc": 0.5, "ap": (y == 1).mean()})


def test_mistakes_are_named(data: DGraphFin, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not 'events\.csv'"):
        open_labelled_graph("events.csv")
    with pytest.raises(UnknownNameError, match="did you mean 'gearsage'"):
        gearsage_configuration("gearsag")
    with pytest.raises(UnknownNameError, match="Unknown part"):
        labelled_nodes(data, "future")  # type: ignore[arg-type]
    no_fraud = dataclasses.replace(data, test=data.test[data.y[data.test] == 0])
    with pytest.raises(InputError, match=r"test nodes of small are of classes \[0\]"):
        labelled_nodes(no_fraud, "test")
    train_gearsage("gearsage", data, tmp_path / "twice", KEAT, TWO)
    with pytest.raises(InputError, match="already holds a run"):
        train_gearsage("gearsage", data, tmp_path / "twice", KEAT, TWO)
