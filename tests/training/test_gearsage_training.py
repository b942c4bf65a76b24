"""GEARSage on a small generated graph: learns, resumes to the same bits, and says what is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.dgraphfin_generator import ContactsConfig, write_dgraphfin
from keat.datasets.labelled_graph import open_labelled_graph
from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_payments
from keat.errors import InputError, UnknownNameError
from keat.models.gearsage import GEARSage, GEARSageConfig
from keat.models.registry import build_graph_model
from keat.runs.epochs import best_epoch, kept_tensors
from keat.runs.presets import usual_fit
from keat.runs.run_evaluation import evaluate_run, most_suspect
from keat.runs.run_file import read_run_file
from keat.runs.run_folder import KEPT
from keat.runs.run_model import open_model, train_run
from keat.runs.spec import RunSpec, configuration
from keat.tasks.graph_label import GraphLabel, Part
from keat.training.fit import EpochReport, FitConfig

KEAT = configuration("keat-gearsage")
FIT = usual_fit("gearsage")
TWO, FOUR = replace(FIT, epochs=2), replace(FIT, epochs=4)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DGraphFin:
    path = tmp_path_factory.mktemp("generated") / "small.npz"
    write_dgraphfin(path, 3000, seed=1, config=ContactsConfig(fraud_share=0.1))
    return open_labelled_graph(path)


def train(
    data: DGraphFin,
    folder: Path,
    fitting: FitConfig,
    config: GEARSageConfig = KEAT,
    *,
    name: str = "keat-gearsage",
    resume: bool = False,
) -> list[EpochReport]:
    return train_run(RunSpec(name, config, fitting), data, folder, resume=resume).reports


def metrics(folder: Path, data: DGraphFin, part: Part) -> dict[str, float]:
    return evaluate_run(folder, data, GraphLabel(data, part), part).metrics


def test_its_own_training_is_the_usual_one() -> None:
    assert (FIT.epochs, FIT.patience, FIT.lr, FIT.clip) == (500, 500, 1e-2, 2.0)
    assert usual_fit("keat-gearsage") == FIT


@pytest.mark.parametrize("name", ["gearsage", "keat-gearsage"])
def test_learns_what_is_planted(data: DGraphFin, tmp_path: Path, name: str) -> None:
    fitting = replace(FIT, epochs=25, seed=42)
    reports = train(data, tmp_path / "run", fitting, configuration(name), name=name)
    assert reports[-1].loss < 0.8 * reports[0].loss
    assert max(report.val["auc"] for report in reports) > 0.65
    test = metrics(tmp_path / "run", data, "test")
    assert 0.6 < test["auc"] < 1
    best = best_epoch(tmp_path / "run")
    assert best.val["auc"] == max(report.val["auc"] for report in reports)
    assert metrics(tmp_path / "run", data, "val") == pytest.approx(best.val)


def test_resuming_equals_never_having_stopped(data: DGraphFin, tmp_path: Path) -> None:
    train(data, tmp_path / "whole", FOUR)
    train(data, tmp_path / "halves", TWO)
    train(data, tmp_path / "halves", FOUR, resume=True)
    for which in KEPT:
        whole, halves = (kept_tensors(tmp_path / run, which) for run in ("whole", "halves"))
        assert whole.keys() == halves.keys()
        for key in whole:
            assert torch.equal(whole[key], halves[key]), key


def test_another_seed_is_another_run(data: DGraphFin, tmp_path: Path) -> None:
    reports = [train(data, tmp_path / str(seed), replace(TWO, seed=seed)) for seed in (1, 2)]
    assert reports[0][-1].loss != reports[1][-1].loss
    with pytest.raises(InputError, match=r"\(different fit\)"):
        train(data, tmp_path / "1", replace(TWO, seed=2), resume=True)


def test_other_labels_are_other_data(data: DGraphFin, tmp_path: Path) -> None:
    train(data, tmp_path / "run", TWO)
    turned = data.y.copy()
    turned[data.train[:2]] = 1 - turned[data.train[:2]]
    with pytest.raises(InputError, match=r"\(different data\)"):
        train(replace(data, y=turned), tmp_path / "run", FOUR, resume=True)


def test_stops_when_validation_stops_improving_and_validates_as_often_as_told(
    data: DGraphFin, tmp_path: Path
) -> None:
    frozen = replace(FIT, epochs=6, patience=2, lr=0.0)
    reports = train(data, tmp_path / "still", frozen, replace(KEAT, dropout=0.0))
    since_best = [report.best for report in reports][::-1].index(True)
    assert since_best == 2 or len(reports) == 6
    seldom = train(data, tmp_path / "seldom", replace(FIT, epochs=5, validate_every=2))
    assert [bool(report.val) for report in seldom] == [False, True, False, True, True]


def test_labels_of_validation_and_test_nodes_are_not_seen(data: DGraphFin, tmp_path: Path) -> None:
    """With test and validation labels permuted, training ends at the same parameters."""
    rng = np.random.default_rng(0)
    y = data.y.copy()
    for part in (data.valid, data.test):
        y[part] = rng.permutation(y[part])
    permuted = replace(data, y=y)
    for name, given in (("true", data), ("permuted", permuted)):
        train(given, tmp_path / name, TWO)
    true, other = (kept_tensors(tmp_path / name, "last") for name in ("true", "permuted"))
    assert all(torch.equal(true[key], other[key]) for key in true)


def test_a_run_opens_as_it_was_trained(data: DGraphFin, tmp_path: Path) -> None:
    config = configuration("keat-gearsage", kernel="rbf", width=2.0, delta="end")
    train(data, tmp_path / "run", TWO, config)
    file = read_run_file(tmp_path / "run")
    model = open_model(tmp_path / "run", file)
    assert isinstance(model, GEARSage)
    assert model.config == config == file.spec.config
    assert model.sigma == build_graph_model(data.stream, data.y, config).sigma == file.facts.sigma
    assert file.spec.task.kind == "graph-label"
    assert file.facts.num_nodes == data.stream.num_nodes
    assert file.facts.asked == len(data.valid)


def test_the_most_suspect_are_those_with_the_highest_scores(data: DGraphFin, tmp_path: Path) -> None:
    train(data, tmp_path / "run", TWO)
    file, best = read_run_file(tmp_path / "run"), best_epoch(tmp_path / "run")
    found = most_suspect(tmp_path / "run", file, best.calibration, data, 7)
    scores = evaluate_run(tmp_path / "run", data, GraphLabel(data, "test"), "test").outcomes
    order = torch.argsort(scores, descending=True)[:7]
    assert found["node"].to_pylist() == data.test[order.numpy()].tolist()
    assert found["score"].to_pylist() == pytest.approx(scores[order].tolist())
    assert found.column_names == ["node", "score", "probability"]
    assert all(0 <= value <= 1 for value in found["probability"].to_pylist())
    assert len(most_suspect(tmp_path / "run", file, None, data, 10**6)) == len(data.test)
    with pytest.raises(InputError, match="is no run of a whole graph"):
        most_suspect(tmp_path / "run", file, None, Dataset(simulate_payments(300, seed=1)), 7)


def test_a_graph_and_a_stream_are_not_the_same(data: DGraphFin, tmp_path: Path) -> None:
    stream = Dataset(simulate_payments(300, seed=1))
    with pytest.raises(InputError, match="reads whole graphs"):
        train_run(RunSpec("gearsage", GEARSageConfig(), TWO), stream, tmp_path / "run")
    with pytest.raises(InputError, match="reads streams of events"):
        train_run(RunSpec("tgn", configuration("tgn"), TWO), data, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_mistakes_are_named(data: DGraphFin, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not 'events\.csv'"):
        open_labelled_graph("events.csv")
    with pytest.raises(UnknownNameError, match="did you mean 'gearsage'"):
        configuration("gearsag")
    train(data, tmp_path / "twice", TWO)
    with pytest.raises(InputError, match="already holds a run"):
        train(data, tmp_path / "twice", TWO)
