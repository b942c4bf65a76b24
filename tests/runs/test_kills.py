"""A run that is killed anywhere goes on to the same bits; two processes never train into one folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_payments
from keat.errors import InputError
from keat.models.rank import RankConfig
from keat.runs.epochs import numbered_files, read_history
from keat.runs.run_file import read_run_file
from keat.runs.run_model import open_model, train_run
from keat.runs.spec import RunSpec
from keat.training.fit import EpochReport, FitConfig

KILLS = int(os.environ.get("KEAT_KILLS", "40"))
SEED = int(os.environ.get("KEAT_SEED", "13"))
SMALL = RankConfig(hidden=8, ring=4, fanout=2)
FAST = FitConfig(epochs=2, lr=3e-3, seed=7)
SPEC = RunSpec("keat-rank", SMALL, FAST)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return Dataset(simulate_payments(400, seed=1))


def test_killed_between_any_two_file_operations_it_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    """KEAT_KILLS=200 kills it 200 times; KEAT_SEED draws other moments."""
    print(f"{KILLS} kills, seed {SEED}")
    driver = Path(__file__).parent / "killing.py"
    command = [sys.executable, str(driver), str(KILLS), str(SEED), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    print(found)
    assert found["faults"] == []
    assert found["kills"] >= KILLS
    assert found["killed twice"] > 0


TRAINS = """
import sys
from pathlib import Path
from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_payments
from keat.models.rank import RankConfig
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec
from keat.training.fit import FitConfig

class Waits:
    def batch(self, *_): ...
    def epoch(self, report):
        print(report.epoch, flush=True)
        sys.stdin.readline()

spec = RunSpec("keat-rank", RankConfig(hidden=8, ring=4, fanout=2), FitConfig(epochs=2, lr=3e-3, seed=7))
train_run(spec, Dataset(simulate_payments(400, seed=1)), Path(sys.argv[1]), watchers=[Waits()])
"""


def test_a_second_process_is_told_that_the_first_is_at_it(data: Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = [sys.executable, "-c", TRAINS, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        try:
            assert first.stdout.readline() == "1\n"  # an epoch is finished, and it goes on training
            before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
            with pytest.raises(
                InputError, match=r"is being trained by another process; wait for it or choose"
            ):
                train_run(SPEC, data, folder, resume=True)
            assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
            open_model(folder, read_run_file(folder))  # readers need no lock
        finally:
            first.kill()
        first.wait()
    trained = train_run(SPEC, data, folder, resume=True)  # a dead process holds nothing
    assert [report.epoch for report in trained.reports] == [2]


def test_a_second_thread_is_told_so_too(data: Dataset, tmp_path: Path) -> None:
    told: list[str] = []

    def second() -> None:
        with pytest.raises(InputError) as refused:
            train_run(SPEC, data, tmp_path / "run", resume=True)
        told.append(str(refused.value))

    class StartsAnother:
        def batch(self, epoch: int, done: int, total: int, loss: float) -> None: ...

        def epoch(self, report: EpochReport) -> None:
            if report.epoch == 1:
                thread = threading.Thread(target=second)
                thread.start()
                thread.join()

    train_run(SPEC, data, tmp_path / "run", watchers=[StartsAnother()])
    assert len(told) == 1
    assert "is being trained by another process" in told[0]
    assert len(read_history(tmp_path / "run")) == 2


def test_a_reader_finds_the_run_while_its_epochs_are_replaced(data: Dataset, tmp_path: Path) -> None:
    """Also where the file it was about to open is gone when it opens it."""
    from keat.runs import epochs

    folder, real = tmp_path / "run", epochs.load_tensors
    train_run(SPEC, data, folder)
    files = set(numbered_files(folder))
    asked: list[Path] = []

    def too_late(path: Path) -> object:
        asked.append(path)
        if len(asked) == 1:  # two epochs have passed since the reader looked
            train_run(replace(SPEC, fitting=replace(FAST, epochs=8)), data, folder, resume=True)
        return real(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(epochs, "load_tensors", too_late)
        tensors = epochs.kept_tensors(folder, "last")
    assert files.isdisjoint(numbered_files(folder))
    assert [path.name for path in asked] == ["last-00002.safetensors", "last-00008.safetensors"]
    assert tensors.keys() == real(asked[1]).keys()
