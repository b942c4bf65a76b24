"""The rate over the course of training, and that a run which was stopped has the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_payments
from keat.errors import InputError, UnknownNameError
from keat.models.rank import RankConfig
from keat.runs.epochs import kept_tensors
from keat.runs.run_folder import KEPT
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec
from keat.training.fit import EpochReport, FitConfig
from keat.training.schedule import LOWEST, RISE, one_cycle

SMALL = RankConfig(hidden=8, ring=4, fanout=2, edition=2)  # which is measured before the first epoch
CYCLE = FitConfig(epochs=4, lr=3e-3, schedule="one-cycle", loss="stratified", negatives=5, seed=7)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return Dataset(simulate_payments(1_500, seed=1))


class StopError(Exception):
    """In the middle of training."""


class StopIn:
    """Stops in an epoch, after some of its steps."""

    def __init__(self, epoch: int) -> None:
        self.when = epoch

    def batch(self, epoch: int, done: int, total: int, loss: float) -> None:  # noqa: ARG002
        if epoch == self.when:
            raise StopError

    def epoch(self, report: EpochReport) -> None: ...


def test_it_rises_falls_and_ends_at_nothing() -> None:
    rates = [one_cycle(share / 1_000) for share in range(1_001)]
    top = round(1_000 * RISE)
    assert rates[0] == LOWEST
    assert rates[top] == max(rates) == 1
    assert rates[:top] == sorted(rates[:top])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert rates[-1] == pytest.approx(0)


@pytest.mark.parametrize("epoch", [1, 2, 4])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(epoch: int, data: Dataset, tmp_path: Path) -> None:
    spec = RunSpec("keat-rank", SMALL, CYCLE)
    whole = train_run(spec, data, tmp_path / "whole").reports
    with pytest.raises(StopError):
        train_run(spec, data, tmp_path / "parts", watchers=[StopIn(epoch)])
    rest = train_run(spec, data, tmp_path / "parts", resume=True).reports
    assert [report.epoch for report in rest] == list(range(epoch, 5))
    assert [(r.loss, r.val) for r in rest] == [(r.loss, r.val) for r in whole[epoch - 1 :]]
    for which in KEPT:
        one, two = (kept_tensors(tmp_path / folder, which) for folder in ("whole", "parts"))
        assert all(torch.equal(one[key], two[key]) for key in one)


def test_a_cycle_has_its_length_from_the_start(data: Dataset, tmp_path: Path) -> None:
    """A run at a constant rate may be longer than was said first; every step of a cycle depends on it."""
    folder = tmp_path / "run"
    with pytest.raises(StopError):
        train_run(RunSpec("keat-rank", SMALL, CYCLE), data, folder, watchers=[StopIn(2)])
    with pytest.raises(InputError, match="different epochs"):
        train_run(RunSpec("keat-rank", SMALL, replace(CYCLE, epochs=5)), data, folder, resume=True)


def test_it_changes_what_is_learned(data: Dataset, tmp_path: Path) -> None:
    for name, fitting in (("cycle", CYCLE), ("constant", replace(CYCLE, schedule="constant"))):
        train_run(RunSpec("keat-rank", SMALL, replace(fitting, epochs=2)), data, tmp_path / name)
    one, other = (kept_tensors(tmp_path / name, "last") for name in ("cycle", "constant"))
    assert not torch.equal(one["model.term.lin_out.weight"], other["model.term.lin_out.weight"])


def test_what_does_not_go() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'one-cycle'"):
        FitConfig(schedule="one_cycle")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="leave historical out"):
        FitConfig(loss="stratified", historical=0.5)


def test_nothing_stops_before_it_was_validated(data: Dataset, tmp_path: Path) -> None:
    """Patience counts from the first validation: only then is there something to be better than."""
    fitting = replace(CYCLE, schedule="constant", epochs=9, patience=1, validate_every=3, tolerance=1.0)
    reports = train_run(RunSpec("keat-rank", SMALL, fitting), data, tmp_path / "run").reports
    assert [bool(report.val) for report in reports] == [False, False, True, False]
