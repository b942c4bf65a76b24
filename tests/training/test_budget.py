"""A budget of processor time: no epoch is begun that would exceed it, and a resumed run decides alike."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_payments
from keat.errors import InputError
from keat.experiments.job import Job, spec_of
from keat.models.tgn import TGNConfig
from keat.runs.epochs import read_history
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec, SourceSpec
from keat.tasks.task_spec import TaskSpec
from keat.training import fit
from keat.training.budget import affordable_epochs
from keat.training.fit import FitConfig

SMALL = TGNConfig(dim=8, neighbors=3)
FAST = FitConfig(epochs=6, patience=6, lr=1e-3, validate_every=4)


class Clock:
    """Processor time that passes only where an epoch is trained: as many seconds for each as is said."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *seconds: float) -> None:
        self.now, self.seconds, self.shares = 100.0, list(seconds), list[int | None]()
        real = fit.train_epoch

        def train_epoch(*given: object, planned: int | None = None) -> float:
            self.now += self.seconds.pop(0)
            self.shares.append(planned)
            return real(*given, planned=planned)  # type: ignore[arg-type]

        monkeypatch.setattr(fit, "train_epoch", train_epoch)
        monkeypatch.setattr(time, "process_time", lambda: self.now)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return Dataset(simulate_payments(800, seed=1))


def run_of(fitting: FitConfig) -> RunSpec:
    return RunSpec("tgn", SMALL, fitting)


@pytest.mark.parametrize(
    ("budget", "seconds", "epochs"),
    [
        (None, [50.0], 8),
        (100.0, [], 8),
        (100.0, [10.0], 8),
        (100.0, [25.0], 4),
        (100.0, [26.0], 3),
        (100.0, [500.0], 1),  # the first is trained whatever it takes
        (100.0, [40.0, 20.0], 4),  # the next is expected to take as long as the last
        (100.0, [40.0, 20.0, 39.0], 3),
        (100.0, [0.0], 8),
    ],
)
def test_as_many_epochs_as_fit(budget: float | None, seconds: list[float], epochs: int) -> None:
    assert affordable_epochs(8, budget, seconds) == epochs


def test_training_stops_where_the_next_epoch_would_exceed_it(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Clock(monkeypatch, 30, 31, 30)
    reports = train_run(run_of(replace(FAST, budget=100)), data, tmp_path / "run").reports
    assert [report.processor_seconds for report in reports] == [30, 31, 30]
    assert [bool(report.val) for report in reports] == [False, False, True]  # the last one is validated


def test_one_epoch_is_always_trained(data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch, 30)
    (report,) = train_run(run_of(replace(FAST, budget=1)), data, tmp_path / "run").reports
    assert report.best


def test_a_run_in_two_goes_ends_where_one_does(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seconds of the first go are read from its reports; the clock of the second begins anywhere."""
    Clock(monkeypatch, 40, 25)
    train_run(run_of(replace(FAST, epochs=2, budget=100)), data, tmp_path / "run")
    monkeypatch.undo()
    Clock(monkeypatch, 25, 25)
    wanted = run_of(replace(FAST, budget=100))
    (third,) = train_run(wanted, data, tmp_path / "run", resume=True).reports
    assert third.epoch == 3
    assert train_run(wanted, data, tmp_path / "run", resume=True).reports == []
    more = run_of(replace(FAST, budget=120))  # how long to train may differ
    assert [report.epoch for report in train_run(more, data, tmp_path / "run", resume=True).reports] == [4]


def test_a_rate_that_falls_has_fallen_at_the_end(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch, 30, 30, 30)
    wanted = replace(FAST, schedule="one-cycle", budget=100)
    train_run(run_of(wanted), data, tmp_path / "run")
    assert clock.shares == [6, 3, 3]  # as soon as it is known how long an epoch takes, the cycle is of three
    with pytest.raises(InputError, match="different epochs"):  # every step would have been another
        train_run(run_of(replace(wanted, budget=200)), data, tmp_path / "run", resume=True)


def test_reports_of_older_runs_have_the_seconds_of_the_wall(data: Dataset, tmp_path: Path) -> None:
    train_run(run_of(replace(FAST, epochs=1)), data, tmp_path / "run")
    path = tmp_path / "run" / "metrics.jsonl"
    content = json.loads(path.read_text()) | {"train_seconds": 70.0}
    del content["processor_seconds"]
    path.write_text(json.dumps(content) + "\n")
    (report,) = read_history(tmp_path / "run")
    assert report.cost == 70.0
    path.write_text(json.dumps(content | {"processor_seconds": -1.0}) + "\n")
    with pytest.raises(InputError, match="no sound 'processor_seconds'"):
        read_history(tmp_path / "run")


def test_a_budget_is_part_of_a_name_where_there_is_one() -> None:
    """Names of older lines do not change: there was none."""

    def key(**fitting: object) -> str:
        spec = spec_of("tgn", {}, fitting, 1, TaskSpec(kind="link-ranking"), SourceSpec())
        return Job("d", spec).key("d")

    assert key() == key(budget=None) != key(budget=100) != key(budget=120)


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="budget must be above 0"):
        FitConfig(budget=0)
