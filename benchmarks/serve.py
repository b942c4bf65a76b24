"""How quickly a served run answers, over HTTP on this machine, beside what the disk itself does.

    python -m benchmarks.serve [--quick] [--model keat-rank|keat-tgn] [--seconds 20]

The driver is open-loop: requests leave by the clock, whether or not earlier ones are answered, and a latency
counts from the moment a request should have left. Client and server share the cores of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import keat
from keat.datasets.payments import simulate_payments

Floats = npt.NDArray[np.float64]
CONNECTIONS = 32
AHEAD = 0.2  # seconds until the first request leaves
CANDIDATES = 1_000
LINES = 5_000  # of one request
HEAD = "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"


def request(path: str, body: bytes, kind: str = "application/json") -> bytes:
    return HEAD.format(path=path, kind=kind, length=len(body)).encode() + body


class Connection(asyncio.Protocol):
    """One connection on which a request waits for the answer of the one before."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[float, asyncio.Future[tuple[float, int]]]] = deque()
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            place = head.index(b"content-length:") + 15
            length = int(head[place:].split(b"\r\n", 1)[0])
            if len(self._buffer) < end + 4 + length:
                return
            self._buffer = self._buffer[end + 4 + length :]
            due, done = self.waiting.popleft()
            if not done.done():
                done.set_result((time.perf_counter() - due, int(head[9:12])))


async def drive(port: int, requests: list[bytes], rate: float) -> tuple[Floats, set[int]]:
    """Latencies in ms and statuses of requests that leave at a rate."""
    loop = asyncio.get_running_loop()
    free = [(await loop.create_connection(Connection, "127.0.0.1", port))[1] for _ in range(CONNECTIONS)]
    begin, results = time.perf_counter() + AHEAD, []
    for number, sent in enumerate(requests):
        due = begin + number / rate
        wait = due - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        connection = min(free, key=lambda one: len(one.waiting))
        done: asyncio.Future[tuple[float, int]] = loop.create_future()
        connection.waiting.append((due, done))
        connection.transport.write(sent)
        results.append(done)
    found = await asyncio.gather(*results)
    for connection in free:
        connection.transport.close()
    return np.array([one[0] for one in found]) * 1e3, {one[1] for one in found}


class Server:
    """A service in a process of its own."""

    def __init__(self, run: Path, *options: str) -> None:
        words = [sys.executable, "-m", "keat", "serve", str(run), "--port", "0", "--json", *options]
        started = time.perf_counter()
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)  # also where a measurement fails
        assert self.process.stdout is not None
        ready = json.loads(self.process.stdout.readline())
        self.port, self.seconds = int(ready["address"].rpartition(":")[2]), time.perf_counter() - started

    def memory(self) -> float:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) / 1024

    def cpu(self) -> float:
        """Seconds that it has computed for, which others on the machine do not change."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def small_disk_writes(folder: Path, number: int = 300) -> Floats:
    """What the disk takes to bring one page home, in ms."""
    taken = []
    with (folder / "probe").open("wb", buffering=0) as file:
        for _ in range(number):
            file.write(b"x" * 4_096)
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append((time.perf_counter() - started) * 1e3)
    return np.array(taken)


def events_of(stream: keat.EventStream, start: int, number: int, names: list[str]) -> list[dict[str, Any]]:
    """Events after the stream, of its own pairs."""
    last = int(stream.t[-1])
    return [
        {
            "source": int(stream.src[place % len(stream)]),
            "destination": int(stream.dst[place % len(stream)]),
            "time": last + place // 10,
            "id": f"event {place}",
            **({"features": dict.fromkeys(names, 0.5)} if names else {}),
        }
        for place in range(start, start + number)
    ]


def percentiles(taken: Floats) -> str:
    p50, p99 = np.percentile(taken, [50, 99])
    return f"p50 {p50:7.2f} ms   p99 {p99:7.2f} ms   longest {taken.max():8.2f} ms"


def said(what: str, taken: Floats, status: set[int], computed: float | None = None) -> None:
    """``computed`` is how long the service did, for all of them."""
    refused = "" if status == {200} else f"   statuses {sorted(status)}"
    each = "" if computed is None else f"   computing {1e3 * computed / len(taken):.2f} ms each"
    print(f"{what:<40}{percentiles(taken)}{each}{refused}", flush=True)


class Load:
    """What is sent to a service; events go on where the last measurement ended."""

    def __init__(self, stream: keat.EventStream, names: list[str]) -> None:
        self.stream, self.names, self.sent = stream, names, 0

    def events(self, number: int) -> list[bytes]:
        found = events_of(self.stream, self.sent, number, self.names)
        self.sent += number
        return [json.dumps(event).encode() for event in found]

    def single(self, server: Server, seconds: float, rate: float, durability: str) -> None:
        posts = [request("/v1/events", body) for body in self.events(200 + int(seconds * rate))]
        asyncio.run(drive(server.port, posts[:200], 200))
        before = server.cpu()
        taken, status = asyncio.run(drive(server.port, posts[200:], rate))
        said(f"one event, {rate:,.0f} a second, {durability}", taken, status, server.cpu() - before)

    def ranking(self, server: Server, seconds: float, rate: float = 50) -> None:
        known = np.unique(self.stream.dst)[:CANDIDATES].tolist()
        strangers = range(10_000_000, 10_000_000 + CANDIDATES - len(known))
        asked = {"source": int(self.stream.src[0]), "candidates": [*known, *strangers]}
        posts = [request("/v1/rank", json.dumps(asked).encode())] * int(rate * seconds)
        asyncio.run(drive(server.port, posts[:20], rate))
        before = server.cpu()
        taken, status = asyncio.run(drive(server.port, posts, rate))
        said(f"ranking {CANDIDATES:,}, {rate:,.0f} a second", taken, status, server.cpu() - before)

    def lines(self, server: Server, total: int, durability: str) -> None:
        lines = self.events(total)
        parts = [b"\n".join(lines[start : start + LINES]) for start in range(0, total, LINES)]
        posts = [request("/v1/events", part, "application/x-ndjson") for part in parts]
        started, before = time.perf_counter(), server.cpu()
        _, status = asyncio.run(drive(server.port, posts, 1e9))
        seconds, computed = time.perf_counter() - started - AHEAD, server.cpu() - before
        refused = "" if status == {200} else f"   statuses {sorted(status)}"
        print(
            f"{f'NDJSON, scored and kept, {durability}':<40}{total / seconds:,.0f} events/s, "
            f"{total / computed:,.0f} a second of computing{refused}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--model", default="keat-rank")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rate", type=float, default=1_000.0)
    given = parser.parse_args()
    seconds, total = (2.0, 20_000) if given.quick else (given.seconds, 200_000)
    scratch = Path(tempfile.mkdtemp(prefix="keat-serve-"))
    stream = simulate_payments(5_000 if given.quick else 50_000, seed=1)
    run = scratch / "run"
    keat.train(given.model, stream, out=run, epochs=1, watchers=[])
    names = [] if given.model == "keat-rank" else [f"feature {k + 1}" for k in range(stream.feature_dim)]
    load = Load(stream, names)
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    said("the disk's own fdatasync of a page", small_disk_writes(scratch), {200})
    for durability in ("process", "disk"):
        server = Server(run, "--durability", durability, "--most-queued", "1000000")
        load.single(server, seconds, given.rate, durability)
        if durability == "process":
            load.ranking(server, seconds)
        load.lines(server, total, durability)
        print(f"memory of the service: {server.memory():,.0f} MB")
        if durability == "disk":
            server.process.kill()
            server.process.wait()
            server = Server(run)
            print(f"ready again after kill -9, {load.sent:,} events in the log: {server.seconds:.1f} s")
        server.stop()
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
