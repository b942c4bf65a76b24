"""Kill a run between any two file operations of `observe` and `save`, and open it again.

    python tests/runs/update_killing.py KILLS SEED FOLDER

It must have the state that was saved before, or the new one, and go on to the same bits as a run that never
was killed. Prints one JSON object. The way of killing is that of `killing.py` beside it.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from killing import MODELS, Killer, in_a_child

import keat
from keat.datasets.payments import simulate_payments
from keat.errors import KeatError
from keat.events import EventStream
from keat.runs.spec import RunSpec
from keat.runs.trainer import train_spec
from keat.training.fit import FitConfig

FITTING = FitConfig(epochs=1, lr=1e-2)


def update(folder: Path, events: EventStream, at: int | None = None, count: Path | None = None) -> int:
    def work() -> None:
        killer = Killer(folder, at)
        killer.watch()
        run = keat.open(folder)
        run.observe(events)
        run.save()
        if count is not None:
            count.write_text(str(killer.count))

    return in_a_child(work)


def same(one: keat.Run, other: keat.Run) -> bool:
    mine, theirs = one.model.stream_state(), other.model.stream_state()
    return (
        one.present.seen == other.present.seen
        and one.names.labels.equals(other.names.labels)
        and mine.keys() == theirs.keys()
        and all(torch.equal(mine[name], theirs[name]) for name in mine)
    )


def fault_of(folder: Path, before: keat.Run, after: keat.Run) -> str | None:
    try:
        run = keat.open(folder)
    except KeatError as error:
        return f"it does not open: {error}"
    return None if same(run, before) or same(run, after) else "its state is neither the old nor the new one"


def main(kills: int, seed: int, scratch: Path) -> dict[str, Any]:
    torch.set_num_threads(1)
    stream, rng = simulate_payments(500, seed=1), np.random.default_rng(seed)
    runs = {}
    for name, config in MODELS.items():
        old, new = scratch / f"old-{name}", scratch / f"new-{name}"
        train_spec(RunSpec(name, config, FITTING), keat.Dataset(stream[:400]), old)
        shutil.copytree(old, new)
        count = scratch / f"{name}.count"
        assert update(new, stream[400:], count=count) == 0
        runs[name] = keat.open(old), keat.open(new), int(count.read_text())
    faults = []
    for number in range(kills):
        name = list(MODELS)[number % len(MODELS)]
        before, after, operations = runs[name]
        folder, at = scratch / f"run-{number}", int(rng.integers(1, operations + 1))
        shutil.copytree(before.folder, folder)
        ended = update(folder, stream[400:], at)
        fault = fault_of(folder, before, after)
        if ended != -signal.SIGKILL or fault:
            faults.append(f"{name} killed at {at}: {fault or ended}")
        elif update(folder, stream[400:]) or not same(keat.open(folder), after):  # sent again
            faults.append(f"{name} killed at {at}, then updated again: another state")
        shutil.rmtree(folder)
    return {"kills": kills, "operations": {name: run[2] for name, run in runs.items()}, "faults": faults}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
