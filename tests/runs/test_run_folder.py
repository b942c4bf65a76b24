"""The files of a run: what is written when, what failures leave behind, and runs of earlier versions."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError
from small_runs import CONFIGS, DAMAGED, FIT, content, small_data, small_run

from damaged_runs import file_of
from keat.errors import CacheError, InputError, KeatError
from keat.runs import epochs
from keat.runs.epochs import kept_tensors, read_history, unnumbered_file
from keat.runs.run_file import read_run_file
from keat.runs.run_folder import KEPT
from keat.runs.run_model import open_model, train_run
from keat.runs.spec import RunSpec
from keat.training.fit import EpochReport, FitConfig

RANK, LONGER = CONFIGS["keat-rank"], replace(FIT, epochs=4)


def train(folder: Path, fitting: FitConfig = FIT, **options: Any) -> list[EpochReport]:
    return train_run(RunSpec("keat-rank", RANK, fitting), small_data(), folder, **options).reports


def assert_same_run(one: Path, other: Path) -> None:
    mine, theirs = (
        [(line.epoch, line.loss, line.val, line.best, line.calibration) for line in read_history(folder)]
        for folder in (one, other)
    )
    assert mine == theirs
    for which in KEPT:
        mine_kept, theirs_kept = kept_tensors(one, which), kept_tensors(other, which)
        assert mine_kept.keys() == theirs_kept.keys()
        assert all(torch.equal(mine_kept[key], theirs_kept[key]) for key in mine_kept)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four epochs without interruption."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    train(folder, LONGER)
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two epochs."""
    return shutil.copytree(small_run("keat-rank"), tmp_path / "run")


def as_before(run: Path) -> None:
    """The run as an earlier version would have left it."""
    for which in KEPT:
        path = file_of(run, which)
        path.replace(unnumbered_file(run, which))
    for path in [*run.glob("*-0*.safetensors"), run / ".lock"]:
        path.unlink()


def cut_last_line(run: Path) -> None:
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    (run / "metrics.jsonl").write_text("".join(lines[:-1]))


# -- epochs ------------------------------------------------------------------------------------------


def test_an_epoch_without_its_line_never_was(run: Path, whole: Path) -> None:
    """It was trained twice, silently, where only its line of metrics was missing."""
    cut_last_line(run)
    assert [report.epoch for report in train(run, LONGER, resume=True)] == [2, 3, 4]
    assert_same_run(run, whole)


def test_files_of_other_epochs_go(whole: Path) -> None:
    numbers = sorted(path.name for path in whole.glob("last*"))
    assert numbers == ["last-00003.safetensors", "last-00004.safetensors"]
    assert len(list(whole.glob("best*"))) <= 2
    assert not list(whole.glob(".parts*"))


def test_files_can_be_read_by_those_who_can_read_the_others(whole: Path) -> None:
    """safetensors' own files are for their owner alone."""
    modes = {stat.S_IMODE(path.stat().st_mode) for path in whole.iterdir() if path.name != ".lock"}
    assert modes == {0o666 & ~_umask()}


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# -- earlier versions --------------------------------------------------------------------------------


def test_a_run_of_an_earlier_version_opens_and_goes_on(run: Path, whole: Path) -> None:
    as_before(run)
    open_model(run, read_run_file(run))
    train(run, LONGER, resume=True)
    assert_same_run(run, whole)
    best = [line.epoch for line in read_history(run) if line.best][-1]
    assert (run / "best.safetensors").exists() == (best <= 2)
    assert not (run / "last.safetensors").exists()


def test_a_run_that_an_earlier_version_left_between_two_epochs_is_not_trusted(run: Path) -> None:
    as_before(run)
    cut_last_line(run)
    before = content(run)
    with pytest.raises(InputError, match=r"last\.safetensors is of another epoch than the last line"):
        train(run, LONGER, resume=True)
    assert {file: content(run)[file] for file in before} == before


# -- failures ----------------------------------------------------------------------------------------

FULL = SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")


@pytest.mark.parametrize("error", [FULL, OSError(errno.ENOSPC, "No space left on device")])
def test_a_full_disk_is_named_and_finished_epochs_stay(
    error: Exception, run: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object, path: Path) -> None:
        path.write_bytes(b"some of it")
        raise error

    before = content(run)
    with monkeypatch.context() as patch:
        patch.setattr(epochs, "save_file", full)
        with pytest.raises(
            CacheError,
            match=r"\(No space left on device\); free some space, or .* training can be resumed from",
        ):
            train(run, LONGER, resume=True)
    after = content(run)
    kept = {file_of(run, which).name for which in KEPT} | {"metrics.jsonl", "ids.parquet"}
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert after.keys() <= before.keys()
    assert not list(run.glob(".parts*"))
    train(run, LONGER, resume=True)
    assert_same_run(run, whole)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (errno.ENOSPC, "No space left on device); free some space, or choose another folder"),
        (errno.EACCES, "Permission denied); make it writable, or choose another folder"),
        (errno.EROFS, "Read-only file system); choose another folder"),
        (errno.EIO, "Input/output error); choose another folder"),
    ],
)
def test_a_run_that_cannot_begin_leaves_nothing(
    error: int, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> int:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(Path, "write_text", fails)
    with pytest.raises(CacheError, match=rf"Cannot write .*run\.json \({re.escape(sentence)}"):
        train(tmp_path / "some" / "where")
    assert list(tmp_path.iterdir()) == []


def test_training_that_fails_in_its_first_epoch_leaves_nothing(tmp_path: Path) -> None:
    class Breaks:
        def batch(self, *_: object) -> None:
            raise KeatError("no")

        def epoch(self, report: EpochReport) -> None: ...

    with pytest.raises(KeatError, match="no"):
        train(tmp_path / "runs" / "one", watchers=[Breaks()])
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(KeatError, match="no"):
        train(tmp_path, watchers=[Breaks()])
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_folder_where_no_epoch_finished_is_free(run: Path, whole: Path) -> None:
    """Killed in its first epoch, a run has nothing to lose, and none of its options stand in the way."""
    (run / "metrics.jsonl").unlink()
    for path in run.glob("*.safetensors"):
        path.unlink()
    shutil.copy(file_of(whole, "last"), run / "last-00001.safetensors")  # left over
    train(run, replace(LONGER, seed=9))
    assert len(read_history(run)) == 4


def test_epochs_without_a_description_are_not_written_over(run: Path) -> None:
    (run / "run.json").unlink()
    before = content(run)
    with pytest.raises(InputError, match=DAMAGED):
        train(run)
    assert content(run) == before


def test_what_may_not_be_read_is_said_so(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """safetensors calls a file that may not be read missing, and keat said that no epoch had finished."""
    real = Path.open

    def denied(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.suffix == ".safetensors":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(
        InputError, match=r"Cannot read .*best-0000\d\.safetensors \(Permission denied\); check"
    ):
        open_model(run, read_run_file(run))


@pytest.mark.skipif(os.geteuid() != 0, reason="to become another user one has to be root")
def test_another_users_run_is_read_and_not_written_to(run: Path) -> None:
    """For real, as a user who is neither the owner nor root."""
    with tempfile.TemporaryDirectory() as reachable:
        Path(reachable).chmod(0o755)
        theirs = shutil.copytree(run, Path(reachable) / "run")
        child = os.fork()
        if child == 0:
            os.setuid(65534)
            try:
                open_model(theirs, read_run_file(theirs))
                train(theirs, LONGER, resume=True)
            except CacheError as error:
                os._exit(0 if "Permission denied" in str(error) else 2)
            except BaseException:
                os._exit(3)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert content(theirs) == content(run)


def test_a_path_that_is_no_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "run", tmp_path / ("long" * 100)):
        with pytest.raises(KeatError, match=r"Cannot (write|read)"):
            train(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_parts_of_a_killed_process_go(run: Path) -> None:
    for name in (".parts", ".parts-1a2b3c"):  # the first of an earlier version
        (run / name).mkdir()
        (run / name / ".tmpAbCdEf").write_bytes(b"half")
    train(run, resume=True)
    assert not list(run.glob(".parts*"))
