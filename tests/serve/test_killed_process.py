"""`keat serve` itself, as a process, killed with -9 while several clients send to it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
from live_runs import later_events, live_run

from keat.serve.client import Client
from keat.serve.engine import Engine

EVENTS, CLIENTS = 400, 4


def started(run: Path) -> tuple[subprocess.Popen[str], str]:
    words = [sys.executable, "-m", "keat", "serve", str(run), "--port", "0", "--json"]
    words += ["--durability", "process"]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())["address"]


def test_every_acknowledged_event_is_there_once(tmp_path: Path, moments: np.random.Generator) -> None:
    run = live_run("keat-rank", tmp_path)
    engine = Engine(run)
    events: list[dict[str, Any]] = [
        {"source": one.source, "destination": one.destination, "time": one.time, "id": one.id}
        for one in later_events(engine, EVENTS)
    ]
    engine.close()
    process, address = started(run)
    answers: dict[str, dict[str, Any]] = {}

    def send(own: list[dict[str, Any]]) -> None:
        client = Client(address)
        for event in own:
            try:
                answers[event["id"]] = client.events([event])[0]
            except OSError:  # it is gone
                return

    senders = [threading.Thread(target=send, args=(events[number::CLIENTS],)) for number in range(CLIENTS)]
    for sender in senders:
        sender.start()
    threading.Event().wait(float(moments.uniform(0.05, 0.6)))
    process.kill()
    process.wait()
    for sender in senders:
        sender.join()
    before = dict(answers)
    process, address = started(run)
    with Client(address) as client:
        every = client.events(events)
        assert client.ready()["seq"] == EVENTS
    process.terminate()
    assert process.wait() == 0
    for event, answer in zip(events, every, strict=True):
        if event["id"] in before:  # the same, from the log
            assert answer.pop("again")
            assert answer == before[event["id"]]
    assert sorted(answer["seq"] for answer in every) == [*range(1, EVENTS + 1)]
    engine = Engine(run)
    digest = engine.digest()
    engine.close()
    for snapshot in (run / "live").glob("snapshot-*"):  # which was taken as the service stopped
        snapshot.unlink()
    assert Engine(run).digest() == digest
