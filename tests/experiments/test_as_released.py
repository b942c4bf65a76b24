"""The released evaluation, against what it is said to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from keat.analysis.what_if import attend, past_of
from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_payments
from keat.experiments.as_released import AsReleased, evaluate_as_released
from keat.models.tgn import TGN, TGNConfig
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_file import read_run_file
from keat.runs.run_model import open_model, train_run
from keat.runs.spec import RunSpec
from keat.tasks.task_factory import make_task
from keat.training.fit import FitConfig

CONFIG = TGNConfig(kernel="laplacian", dim=8, neighbors=4)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return Dataset(simulate_payments(2_000, seed=4))


@pytest.fixture(scope="module")
def folder(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "run"
    train_run(RunSpec("keat-tgn", CONFIG, FitConfig(epochs=1, lr=1e-3)), data, folder)
    return folder


def test_neighbours_are_events_evaluated_with_times_of_training(data: Dataset, folder: Path) -> None:
    model = open_model(folder, read_run_file(folder))
    assert isinstance(model, TGN)
    before = model.state.memory.clone()
    released = AsReleased(model, data.train)
    assert (model.state._recent.ring == -1).all()
    assert (model.state.last_update == 0).all()
    assert not torch.equal(model.state.memory, before)
    released.observe(data.val[:50])
    released.observe(data.val[50:80])
    assert model.state._log.t[:80].tolist() == data.train.t[:80].tolist()
    assert model.state._log.src[:80].tolist() == data.val.src[:80].tolist()
    nodes = torch.from_numpy(data.val.src[:80]).long()
    assert (model.state.last_update[nodes] >= data.val.t[0]).all()  # memory knows the true times
    known = torch.from_numpy(np.unique(data.val.src[:80])).long()
    _, attention = attend(model, past_of(model, known, torch.full_like(known, int(data.val.t[80]))))
    assert attention.psi.max() < 1e-3  # ages are nearly the length of the data


def test_another_state_is_another_result(data: Dataset, folder: Path) -> None:
    val, test = make_task(data, "val"), make_task(data, "test")
    released = evaluate_as_released(folder, data, [val, test])  # type: ignore[list-item]
    assert [metrics.keys() for metrics in released] == [{"mrr", "hits@1", "hits@3", "hits@10"}] * 2
    assert evaluate_run(folder, data, test, "test").metrics != released[1]
