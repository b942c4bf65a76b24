"""Two workers train one run: the same bits every time, also after one of them was killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_payments
from keat.errors import InputError
from keat.models.rank import RankConfig
from keat.runs.epochs import kept_tensors, read_history
from keat.runs.parallel_training import train_in_parallel
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec
from keat.tasks.task_spec import TaskSpec
from keat.training.fit import EpochReport, FitConfig

SPEC = RunSpec(
    "keat-rank",
    RankConfig(hidden=8, ring=4, fanout=2),
    FitConfig(epochs=2, lr=3e-3, seed=7, loss="stratified", negatives=4, schedule="one-cycle"),
)


class Killer:
    """Kills a worker in the middle of the second epoch, once."""

    def __init__(self) -> None:
        self.killed = 0

    def batch(self, epoch: int, done: int, total: int, loss: float) -> None:  # noqa: ARG002
        if epoch == 2 and not self.killed:
            (worker,) = multiprocessing.active_children()
            assert worker.pid is not None
            os.kill(worker.pid, signal.SIGKILL)
            self.killed += 1

    def epoch(self, report: EpochReport) -> None: ...


def require_the_same(run: Path, again: Path) -> None:
    """The same bits: of losses, validations and calibrations, parameters, optimizer and state."""
    both = [read_history(folder) for folder in (run, again)]
    one, other = ([(each.loss, each.val, each.calibration) for each in history] for history in both)
    assert one == other
    kept, kept_again = (kept_tensors(folder, "last") for folder in (run, again))
    assert kept.keys() == kept_again.keys()
    assert all(torch.equal(kept[name], kept_again[name]) for name in kept)


def test_the_same_bits_every_time_and_after_a_lost_worker(tmp_path: Path) -> None:
    data = Dataset(simulate_payments(600, seed=1))
    alone = train_run(SPEC, data, tmp_path / "alone").reports
    train_in_parallel(SPEC, data, tmp_path / "both", workers=2)
    killer = Killer()
    train_in_parallel(SPEC, data, tmp_path / "killed", workers=2, watchers=[killer])
    assert killer.killed == 1
    assert not multiprocessing.active_children()
    require_the_same(tmp_path / "both", tmp_path / "killed")
    both = read_history(tmp_path / "both")
    assert both[0].loss == pytest.approx(alone[0].loss, rel=1e-3)  # only rounding is other
    assert both[-1].val["mrr"] == pytest.approx(alone[-1].val["mrr"], abs=0.01)


class Stopper:
    """Interrupts the training in the middle of the second epoch."""

    def batch(self, epoch: int, done: int, total: int, loss: float) -> None:  # noqa: ARG002
        if epoch == 2:
            raise KeyboardInterrupt

    def epoch(self, report: EpochReport) -> None: ...


def test_what_was_interrupted_is_resumed_to_the_same_bits(tmp_path: Path) -> None:
    data = Dataset(simulate_payments(600, seed=1))
    train_in_parallel(SPEC, data, tmp_path / "whole", workers=2)
    with pytest.raises(KeyboardInterrupt):
        train_in_parallel(SPEC, data, tmp_path / "parts", workers=2, watchers=[Stopper()])
    assert not multiprocessing.active_children()
    assert [report.epoch for report in read_history(tmp_path / "parts")] == [1]
    train_in_parallel(SPEC, data, tmp_path / "parts", workers=2, resume=True)
    require_the_same(tmp_path / "whole", tmp_path / "parts")


def test_what_workers_cannot_share_is_refused(tmp_path: Path) -> None:
    data = Dataset(simulate_payments(300, seed=1))
    timed = replace(SPEC, fitting=replace(SPEC.fitting, budget=5.0))
    with pytest.raises(InputError, match="A budget is of the time of one worker"):
        train_in_parallel(timed, data, tmp_path, workers=2)
    labels = replace(SPEC, model="tgn", task=TaskSpec(kind="node-label"))
    labelled = Dataset(replace(data.stream, labels=data.stream.src % 2))
    with pytest.raises(InputError, match="Only models of links"):
        train_in_parallel(labels, labelled, tmp_path, workers=2)
