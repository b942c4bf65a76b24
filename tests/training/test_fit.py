"""Training: it learns, it resumes to the same bits wherever it was killed, and it says what is wrong."""

from __future__ import annotations

import json
import sys
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_payments
from keat.errors import InputError, KeatError
from keat.events import EventStream
from keat.models.tgn import TGNConfig
from keat.runs.epochs import kept_tensors
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_folder import KEPT
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec, configuration
from keat.tasks.link import LinkRanking
from keat.tasks.task_factory import make_task
from keat.training.fit import FitConfig
from keat.training.losses import link_loss
from keat.training.tensorboard import tensorboard_watchers

SMALL = TGNConfig(kernel="learnable", dim=16, neighbors=4)
FAST = FitConfig(epochs=3, lr=3e-3, seed=7)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return Dataset(simulate_payments(3_000, seed=1))


@pytest.fixture(scope="module")
def finished(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three epochs without interruption."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    train_run(RunSpec("keat-tgn", SMALL, FAST), data, folder)
    return folder


def lines(folder: Path) -> list[dict[str, object]]:
    """The metrics of a run without its clock."""
    seconds = ("train_seconds", "val_seconds", "processor_seconds")
    return [
        {key: value for key, value in json.loads(line).items() if key not in seconds}
        for line in (folder / "metrics.jsonl").read_text().splitlines()
    ]


def assert_same_run(one: Path, other: Path) -> None:
    assert lines(one) == lines(other)
    for which in KEPT:
        mine, theirs = kept_tensors(one, which), kept_tensors(other, which)
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[key], theirs[key]) for key in mine)


def test_it_learns_who_meets_whom(tmp_path: Path) -> None:
    """Each source returns to whom it met last, and moves on now and then: memory knows, chance does not."""
    rng = np.random.default_rng(0)
    src = rng.integers(0, 15, 4_000)
    favourite, dst = rng.integers(15, 45, 15), np.empty(4_000, dtype=np.int64)
    for i, u in enumerate(src):
        if rng.random() < 0.05:
            favourite[u] = rng.integers(15, 45)
        dst[i] = favourite[u]
    planted = Dataset(EventStream.from_arrays(src, dst, np.arange(4_000) * 60, num_nodes=45))
    longer = replace(FAST, epochs=6, lr=1e-2, batch_size=50)
    reports = train_run(
        RunSpec("tgn", replace(SMALL, kernel="identity", dim=32), longer), planted, tmp_path / "run"
    ).reports
    assert reports[-1].loss < reports[0].loss
    assert reports[-1].val["mrr"] > 1.5 * np.mean(1 / np.arange(1, 31))  # what guessing gives is 0.13


def test_the_same_seed_gives_the_same_bits_and_another_does_not(
    data: Dataset, finished: Path, tmp_path: Path
) -> None:
    train_run(RunSpec("keat-tgn", SMALL, FAST), data, tmp_path / "again")
    assert_same_run(finished, tmp_path / "again")
    train_run(RunSpec("keat-tgn", SMALL, replace(FAST, seed=8, epochs=1)), data, tmp_path / "other")
    assert lines(tmp_path / "other")[0]["loss"] != lines(finished)[0]["loss"]


def test_training_in_two_goes_equals_one(data: Dataset, finished: Path, tmp_path: Path) -> None:
    train_run(RunSpec("keat-tgn", SMALL, replace(FAST, epochs=1)), data, tmp_path / "run")
    train_run(RunSpec("keat-tgn", SMALL, FAST), data, tmp_path / "run", resume=True)
    assert_same_run(finished, tmp_path / "run")


def test_test_scores_continue_from_the_kept_state(data: Dataset, finished: Path) -> None:
    task = make_task(data, "test")
    assert isinstance(task, LinkRanking)
    first, second = (evaluate_run(finished, data, task, "test").metrics for _ in range(2))
    assert first == second
    replayed = evaluate_run(finished, Dataset(simulate_payments(2_000, seed=1)), task, "val").metrics
    assert set(replayed) == set(first)


def test_early_stopping_counts_epochs_without_improvement(data: Dataset, tmp_path: Path) -> None:
    frozen = replace(FAST, lr=0.0, epochs=9, patience=2)
    reports = train_run(RunSpec("keat-tgn", SMALL, frozen), data, tmp_path / "run").reports
    assert [report.best for report in reports] == [True, False, False]


def test_validation_can_be_rarer(data: Dataset, tmp_path: Path) -> None:
    reports = train_run(
        RunSpec("tgn", SMALL, replace(FAST, epochs=3, validate_every=2)), data, tmp_path / "run"
    ).reports
    assert [bool(report.val) for report in reports] == [False, True, True]


def test_a_loss_that_explodes_is_named(data: Dataset, tmp_path: Path) -> None:
    with pytest.raises(KeatError, match="lower lr or set clip"):
        train_run(RunSpec("tgn", SMALL, replace(FAST, lr=1e30)), data, tmp_path / "run")


def test_the_second_sigmoid_bounds_the_loss() -> None:
    """Why tgb-parity is not the default: a perfect model still has a loss of 1.006."""
    perfect = torch.tensor([[100.0, -100.0]])
    assert link_loss(perfect).item() == pytest.approx(0.0, abs=1e-6)
    assert link_loss(perfect, "tgb-parity").item() == pytest.approx(np.log1p(np.exp(-1)) + np.log(2))


def test_an_unknown_recipe_is_refused(data: Dataset, tmp_path: Path) -> None:
    with pytest.raises(KeatError, match="did you mean 'tgb-parity'"):
        train_run(RunSpec("tgn", SMALL, replace(FAST, recipe="tgb-party")), data, tmp_path / "run")  # type: ignore[arg-type]


@pytest.mark.usefixtures("bfloat16")
def test_bfloat16_learns_about_the_same(data: Dataset, finished: Path, tmp_path: Path) -> None:
    reports = train_run(RunSpec("keat-tgn", SMALL, replace(FAST, bf16=True)), data, tmp_path / "run").reports
    exact = [line["loss"] for line in lines(finished)]
    assert [report.loss for report in reports] == pytest.approx(exact, rel=0.02)
    assert [report.loss for report in reports] != exact


def test_tensorboard_is_told_where_it_is_installed(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package is not needed for the test: a stand-in records what it would be told."""
    told: list[tuple[str, int]] = []

    class SummaryWriter:
        def __init__(self, folder: Path) -> None:
            assert told == []
            folder.mkdir()  # as the real one does

        def add_scalar(self, name: str, value: float, step: int) -> None:
            assert np.isfinite(value)
            told.append((name, step))

        def flush(self) -> None: ...

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    assert tensorboard_watchers(tmp_path) == []
    stand_in = types.ModuleType("torch.utils.tensorboard")
    stand_in.SummaryWriter = SummaryWriter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", stand_in)
    watchers = tensorboard_watchers(tmp_path / "curves")
    assert list(tmp_path.iterdir()) == []  # a run that is refused leaves nothing
    train_run(RunSpec("tgn", SMALL, replace(FAST, epochs=1)), data, tmp_path / "run", watchers=watchers)
    assert {("loss/epoch", 1), ("val/mrr", 1), ("loss/running", len(data.train))} <= set(told)


def test_a_folder_with_another_run_is_left_alone(data: Dataset, finished: Path) -> None:
    before = (finished / "run.json").read_text()
    with pytest.raises(InputError, match="already holds a run"):
        train_run(RunSpec("keat-tgn", SMALL, FAST), data, finished)
    with pytest.raises(InputError, match="different config"):
        train_run(RunSpec("keat-tgn", replace(SMALL, width=2.0), FAST), data, finished, resume=True)
    assert (finished / "run.json").read_text() == before


def test_other_features_are_refused(finished: Path) -> None:
    plain = simulate_payments(2_000, seed=1)
    bare = Dataset(replace(plain, features=np.zeros((len(plain), 0), dtype=np.float32)))
    task = make_task(bare, "test")
    assert isinstance(task, LinkRanking)
    with pytest.raises(InputError, match="features for each event"):
        evaluate_run(finished, bare, task, "test")


def test_unknown_models_name_the_nearest() -> None:
    with pytest.raises(KeatError, match="did you mean 'keat-tgn'"):
        configuration("keat-tng")
