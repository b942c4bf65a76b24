"""Kill a service with -9, at named steps and at random moments, and have it go on.

    python tests/serve/live_killing.py KILLS SEED FOLDER

A client sends events in requests, each until it is acknowledged; the service is a process of its own, which
is ended at a step on the way of an event to the disk, of a snapshot, a checkpoint, a seal, an exchange of
models or of a calibration, or at any moment in between. It is started again, and the client goes on with
what was not acknowledged, or, as with a topic, the service goes on where its log ends. In the end every event
is in the log once, and answers and state are those of a service that was never killed. Prints one JSON
object.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from live_runs import checked, later_events, live_run

from keat.serve import refitting, sealing, steps
from keat.serve.engine import Engine
from keat.serve.events import Checked
from keat.serve.label_taking import look_at_labels, tell
from keat.serve.log_records import Settings, Swap
from keat.serve.swapping import Shadow, catch_up, open_beside

EVENTS, REQUEST = 90, 6
CALIBRATED = "calibration switched"
RECORD = ("record in transaction", "record committed")  # the second record is that of a calibration
ONCE = ("model copied aside", "model in place", CALIBRATED)  # steps that are reached once
MODELS = ("keat-rank", "keat-tgn", "fraud")  # the last labels events
WINDOWS = {"keat-rank": 3_000}  # seconds that events may come out of order, by model
PARTITION = "events/0@broker"
Acknowledge = Callable[[int, list[Any]], None]


def requests_of(run: Path) -> list[list[Checked]]:
    engine = Engine(run, "process")
    events = checked(engine, later_events(engine, EVENTS, seed=5))
    engine.close()
    return [events[start : start + REQUEST] for start in range(0, EVENTS, REQUEST)]


def work(
    run: Path, requests: list[list[Checked]], begun: int | None, window: int, acknowledge: Acknowledge
) -> None:
    """A service that takes the requests from number ``begun`` on, or from where its log ends."""
    engine = Engine(run, "process", window=window)
    if begun is None:
        begun = engine.watch.offsets.get(PARTITION, 0) // REQUEST
    for number in range(begun, len(requests)):
        keep_house(engine, number)
        for place, (at, other) in enumerate(((7, run.parent / "next"), (11, run))):
            if number == at and sum(isinstance(one.record, Swap) for one in engine.log.records()) == place:
                exchange(engine, other)
        if number == 5 and engine.watch.labels_events:
            calibrate(engine)
        prepared = engine.begin(requests[number], offsets={PARTITION: REQUEST * (number + 1)})
        engine.commit(prepared)
        acknowledge(number, [msgspec.to_builtins(answer) for answer in engine.finish(prepared)])
    (run / "digest").write_text(engine.digest())
    engine.close()


def keep_house(engine: Engine, number: int) -> None:
    """What is done before a request; it may be done once more after a kill."""
    if number and number % 4 == 0:
        engine.set(Settings(alerts=number))
        engine.snapshot()
    if number and number % 5 == 0:
        engine.log.tidy()
    if number and number % 6 == 0:
        run = engine.base.run.folder
        sealing.seal(run, run / "sealed.parquet")


def exchange(engine: Engine, run: Path) -> None:
    """Load another run beside, and switch to it."""
    model, ids, tail = open_beside(engine.base, engine.folder, run)
    catch_up(model, engine.log, ids, tail)
    engine.shadow = Shadow(model, run.name)
    engine.switch()


def calibrate(engine: Engine) -> None:
    """Tell labels of the first 30 events, and have the calibration fitted to them; once, however often."""
    answers = [engine.answer(seq) for seq in range(1, 31)]
    middle = float(np.median([one.logit for one in answers]))
    tell(engine, [(one.seq, float(one.logit > middle), 1) for one in answers])
    while look_at_labels(engine):
        pass
    fitted = engine.models[-1].fitted is not None
    assert refitting.refit(engine) != fitted


def another(run: Path, place: Path) -> None:
    """A run of the same weights that is another by its calibration, which it has not."""
    shutil.copytree(run, place, ignore=shutil.ignore_patterns("live", ".lock"))
    lines = [json.loads(line) for line in (place / "metrics.jsonl").read_text().splitlines()]
    kept = [json.dumps(line | {"calibration": None}) + "\n" for line in lines]
    (place / "metrics.jsonl").write_text("".join(kept))


def in_a_child(job: Callable[[], None], after: float | None) -> int:
    """How a process that does the job ended; it is killed after some seconds."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            job()
            status = 0
        finally:
            os._exit(status)
    timer = None
    if after is not None:
        timer = threading.Timer(after, os.kill, (child, signal.SIGKILL))
        timer.start()
    _, status = os.waitpid(child, 0)
    if timer is not None:
        timer.cancel()
    return os.waitstatus_to_exitcode(status)


def kill_at(step: str, time_of_it: int) -> None:
    """From now on, the process ends when a step is reached for the n-th time."""
    left = time_of_it

    def watch(reached: str) -> None:
        nonlocal left
        left -= reached == step
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    steps.watcher = watch


def one_kill(
    run: Path,
    requests: list[list[Checked]],
    expected: list[Any],
    step: str | None,
    time_of_it: int,
    draw: random.Random,
    window: int,
) -> str | None:
    """What was wrong after a kill and a restart; None where nothing was."""
    acknowledged = run / "acknowledged"
    acknowledged.touch()

    def acknowledge(number: int, answers: list[Any]) -> None:
        with acknowledged.open("ab", buffering=0) as file:
            file.write(json.dumps([number, answers]).encode() + b"\n")

    def known() -> list[Any]:
        lines = acknowledged.read_bytes().split(b"\n")[:-1]
        return [json.loads(line) for line in lines]

    def killed() -> None:
        if step is not None:
            kill_at(step, time_of_it)
        work(run, requests, 0, window, acknowledge)

    ended = in_a_child(killed, None if step is not None else draw.uniform(0.0, 0.5))
    if ended == 1:
        return "it failed before it was killed"
    if step is not None and ended != -signal.SIGKILL:
        return "the step was not reached"
    if not (run / "digest").exists():
        begun = None if draw.random() < 0.5 else len(known())
        ended = in_a_child(lambda: work(run, requests, begun, window, acknowledge), None)
        if ended:
            return f"it does not go on after the kill ({ended})"
    for number, answers in known():
        for answer, wanted in zip(answers, expected[number][1], strict=True):
            answer.pop("again", None)
            if answer != wanted:
                return f"request {number}: {answer} instead of {wanted}"
    reader = Engine(run, write=False)
    rows = [row for _, row in reader.log.rows()]
    names = [name for row in rows for name in row.ids.values()]
    reader.close()
    if names != [f"event {number}" for number in range(EVENTS)]:
        return "an event is missing from the log, or there twice"
    return None


def main(kills: int, seed: int, scratch: Path) -> dict[str, Any]:
    torch.set_num_threads(1)
    refitting.ENOUGH, refitting.OF_EACH = 20, 4
    started = time.perf_counter()
    faults, prepared = [], {}
    for name in MODELS:
        run = live_run(name, scratch / f"straight-{name}")
        requests = requests_of(run)
        shutil.rmtree(run / "live")
        fresh = scratch / f"fresh-{name}"
        another(run, run.parent / "next")
        shutil.copytree(run.parent, fresh)
        expected: list[Any] = []
        window = WINDOWS.get(name, 0)
        work(run, requests, 0, window, lambda number, answers, into=expected: into.append([number, answers]))  # type: ignore[misc]
        prepared[name] = fresh, requests, json.loads(json.dumps(expected)), (run / "digest").read_text()
    for number in range(kills):
        draw = random.Random(f"{seed} {number}")
        step = None if number >= len(steps.STEPS) and number % 2 else steps.STEPS[number % len(steps.STEPS)]
        calibrates = step in RECORD and number < len(steps.STEPS)
        name = MODELS[2 if calibrates or step == CALIBRATED or number % 8 == 5 else number % 4 == 3]
        time_of_it = 1 if step in ONCE else 2 if calibrates else draw.choice([1, 2])
        fresh, requests, expected, digest = prepared[name]
        run = Path(tempfile.mkdtemp(dir=scratch)) / "run"
        shutil.copytree(fresh, run.parent, dirs_exist_ok=True)
        fault = one_kill(run, requests, expected, step, time_of_it, draw, WINDOWS.get(name, 0))
        if fault is None and (run / "digest").read_text() != digest:
            fault = "another state"
        if fault is not None:
            faults.append(f"kill {number}, {name} at {step or 'any moment'}: {fault}")
        shutil.rmtree(run.parent)
    seconds = round(time.perf_counter() - started, 1)
    return {"kills": kills, "seed": seed, "steps": len(steps.STEPS), "seconds": seconds, "faults": faults}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
