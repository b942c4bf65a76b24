"""Kill training between any two file operations, go on, and compare with a run that was never killed.

    python tests/runs/killing.py KILLS SEED FOLDER

A process of its own, which forks a child for each training: the imports are paid for once. In the child every
operation on files in the folder is counted, and at the operation that was drawn the child kills itself with
SIGKILL. A third of the runs are killed again while they resume. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch

from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_payments
from keat.errors import KeatError
from keat.models.rank import RankConfig
from keat.models.tgn import TGNConfig
from keat.runs import epochs
from keat.runs.epochs import kept_tensors, read_history
from keat.runs.run_file import read_run_file
from keat.runs.run_folder import KEPT
from keat.runs.run_model import open_model, train_run
from keat.runs.spec import RunSpec
from keat.training.fit import FitConfig

MODELS: dict[str, Any] = {
    "keat-tgn": TGNConfig(kernel="learnable", dim=8, neighbors=3),
    "keat-rank": RankConfig(hidden=8, ring=4, fanout=2),
}
# Not every epoch is validated: the first has no best, and the best is not always the last.
FITTING = FitConfig(epochs=5, patience=5, lr=3e-2, seed=7, validate_every=2)
CHANGES = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "fcntl.flock")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Killer:
    """Counts operations on files in a folder; at number ``at`` the process is gone."""

    def __init__(self, folder: Path, at: int | None) -> None:
        self.folder, self.at, self.count = str(folder), at, 0

    def step(self, torn: Path | None = None) -> None:
        self.count += 1
        if self.count == self.at:
            if torn is not None:  # half of the file is on the disk
                os.truncate(torn, torn.stat().st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        """Python tells of its own operations; libraries that write by themselves are wrapped."""

        def heard(event: str, arguments: tuple[Any, ...]) -> None:
            if event not in CHANGES or (event == "open" and not (arguments[2] or 0) & WRITES):
                return
            here = event == "fcntl.flock" or str(arguments[0]).startswith(self.folder)
            if here or (event in ("os.remove", "os.rmdir") and arguments[1] != -1):  # within an open folder
                self.step()

        real_sync = os.fsync

        def fsync(descriptor: Any) -> None:
            self.step()
            real_sync(descriptor)

        os.fsync = fsync  # type: ignore[assignment]
        epochs.save_file = self._wrapped(epochs.save_file)  # type: ignore[attr-defined]
        pq.write_table = self._wrapped(pq.write_table)
        sys.addaudithook(heard)

    def _wrapped(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def writes(content: Any, path: Path) -> None:
            self.step()
            write(content, path)
            self.step(torn=path)
            self.step()

        return writes


def in_a_child(work: Callable[[], None]) -> int:
    """How a child ended that did some work: 0, or the signal that killed it as a negative number."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def train(name: str, data: Dataset, folder: Path, at: int | None = None, count: Path | None = None) -> int:
    def work() -> None:
        killer = Killer(folder, at)
        killer.watch()
        train_run(RunSpec(name, MODELS[name], FITTING), data, folder, resume=True)
        if count is not None:
            count.write_text(str(killer.count))

    return in_a_child(work)


def lines(folder: Path) -> list[dict[str, Any]]:
    """The metrics of a run without its clock."""
    return [
        {key: value for key, value in asdict(report).items() if not key.endswith("seconds")}
        for report in read_history(folder)
    ]


def fault_after_kill(folder: Path, whole: list[dict[str, Any]]) -> str | None:
    """What is wrong with a run that was just killed: its epochs must be those of the whole run, as far as
    they go, and readers must find them."""
    found = lines(folder)
    if found != whole[: len(found)]:
        return "its epochs are others"
    try:
        open_model(folder, read_run_file(folder))
    except KeatError:
        return "its best epoch cannot be opened" if any(line["best"] for line in found) else None
    return None


def fault_at_the_end(folder: Path, whole: Path) -> str | None:
    if lines(folder) != lines(whole):
        return "other metrics"
    for which in KEPT:
        mine, theirs = kept_tensors(folder, which), kept_tensors(whole, which)
        if mine.keys() != theirs.keys() or not all(torch.equal(mine[key], theirs[key]) for key in mine):
            return f"other tensors in {which}"
    if extra := {path.name for path in folder.iterdir()} - {path.name for path in whole.iterdir()}:
        return f"left behind: {sorted(extra)}"
    return None


def main(kills: int, seed: int, scratch: Path) -> dict[str, Any]:
    torch.set_num_threads(1)
    data, rng = Dataset(simulate_payments(400, seed=1)), np.random.default_rng(seed)
    operations = {}
    for name in MODELS:
        # Here and not in a child: what is compiled is compiled once.
        train_run(RunSpec(name, MODELS[name], FITTING), data, scratch / f"whole-{name}")
        count = scratch / f"{name}.count"
        assert train(name, data, scratch / f"counted-{name}", count=count) == 0
        operations[name] = int(count.read_text())
    faults, done, twice, run = [], 0, 0, 0
    while done < kills:
        name, folder = list(MODELS)[run % len(MODELS)], scratch / f"run-{run}"
        whole = scratch / f"whole-{name}"
        points = rng.integers(1, operations[name] + 1, 1 + int(rng.random() < 1 / 3)).tolist()
        for at in points:
            ended = train(name, data, folder, at)
            done, fault = done + (ended == -signal.SIGKILL), fault_after_kill(folder, lines(whole))
            if ended not in (0, -signal.SIGKILL) or fault:
                faults.append(f"{name} killed at {points}: {fault or ended}")
        ended = train(name, data, folder)
        fault = f"it ended with {ended}" if ended else fault_at_the_end(folder, whole)
        if fault:
            faults.append(f"{name} killed at {points}, then resumed: {fault}")
        twice, run = twice + (len(points) > 1), run + 1
        shutil.rmtree(folder)
    return {"kills": done, "runs": run, "killed twice": twice, "operations": operations, "faults": faults}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
