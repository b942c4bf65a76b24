"""A service in a process of its own, the events that are sent to it, and what the disk does by itself."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import keat
from benchmarks.open_loop import Floats, request
from keat.datasets.payments import simulate_payments
from keat.serve.engine import Engine

NEW_SOURCES, NEW_DESTINATIONS = 0.1, 0.05  # shares of events where ever-new nodes come
NDJSON = "application/x-ndjson"


class Server:
    """`keat serve` on a free port."""

    def __init__(self, run: Path, *options: str) -> None:
        words = [sys.executable, "-m", "keat", "serve", str(run), "--port", "0", "--json", *options]
        started = time.perf_counter()
        self.run, self.process = (
            run,
            subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True),
        )
        atexit.register(self.process.kill)  # also where a measurement fails
        assert self.process.stdout is not None
        ready = json.loads(self.process.stdout.readline())
        self.port, self.seconds = int(ready["address"].rpartition(":")[2]), time.perf_counter() - started

    def asked(self, path: str, body: dict[str, str] | None = None) -> Any:
        """What it answers to a question, or to an order."""
        content = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        question = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", content, headers)
        with urllib.request.urlopen(question, timeout=60) as answer:
            return json.loads(answer.read())

    def memory(self) -> float:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) / 1024

    def computed(self) -> float:
        """Seconds that it has computed for, which others on the machine change less than the clock's."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def ids_in_log(run: Path) -> list[str]:
    """What clients called the events that are in the log, once for each time it is there."""
    engine = Engine(run, write=False, until=0)
    found = [name for _, row in engine.log.rows() for name in row.ids.values()]
    engine.close()
    return found


def disk_syncs(folder: Path, number: int = 300) -> Floats:
    """What the disk takes to bring one page home, in ms."""
    taken = []
    with (folder / "probe").open("wb", buffering=0) as file:
        for _ in range(number):
            file.write(b"x" * 4_096)
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append((time.perf_counter() - started) * 1e3)
    return np.array(taken)


class Load:
    """Events for a run of simulated payments; they go on where the last measurement ended."""

    def __init__(self, model: str, folder: Path, payments: int, trained: Path) -> None:
        """A copy in a folder of a run that is trained where it is not there yet."""
        self.stream = simulate_payments(payments, seed=1)
        self.model, self.run = model, folder / model
        if not trained.exists():
            self.train(trained)
        shutil.copytree(trained, self.run)
        names = [] if model == "keat-rank" else [f"feature {k + 1}" for k in range(self.stream.feature_dim)]
        features = json.dumps(dict.fromkeys(names, 0.5))
        self._more = f', "features": {features}' if names else ""
        self.sent = 0

    def train(self, out: Path, seed: int = 0) -> None:
        """A run that could be served."""
        keat.train(self.model, self.stream, out=out, epochs=1, seed=seed, watchers=[])

    def events(self, number: int) -> Iterator[bytes]:
        """Of the stream's own pairs, ten at a time."""
        src, dst, last = self.stream.src, self.stream.dst, int(self.stream.t[-1])
        for _ in range(number):
            place = self.sent % len(src)
            yield self._written(int(src[place]), int(dst[place]), last + self.sent // 10)

    def ever_new(self, number: int, seed: int = 0) -> Iterator[bytes]:
        """Every tenth source and every twentieth destination has never been seen."""
        draw = np.random.default_rng(seed)
        nodes, last, block = self.stream.num_nodes, int(self.stream.t[-1]), 4_096
        for start in range(0, number, block):
            chance, known = draw.random((block, 2)), draw.random((block, 2))
            for (a, b), (c, d) in zip(chance.tolist(), known.tolist(), strict=True):
                if start >= number:
                    return
                start += 1
                source = nodes if a < NEW_SOURCES else int(c * nodes)
                nodes += a < NEW_SOURCES
                destination = nodes if b < NEW_DESTINATIONS else int(d * nodes)
                nodes += b < NEW_DESTINATIONS
                yield self._written(source, destination, last + self.sent // 10)

    def _written(self, source: int, destination: int, t: int) -> bytes:
        event = f'"source": {source}, "destination": {destination}, "time": {t}, "id": "event {self.sent}"'
        self.sent += 1
        return f"{{{event}{self._more}}}".encode()

    def singly(self, number: int) -> Iterator[bytes]:
        """Requests of one event."""
        return (request("/v1/events", event) for event in self.events(number))

    def lines(self, events: Iterator[bytes], each: int) -> Iterator[bytes]:
        """Requests of several, as NDJSON."""
        while some := [event for _, event in zip(range(each), events, strict=False)]:
            yield request("/v1/events", b"\n".join(some), NDJSON)
