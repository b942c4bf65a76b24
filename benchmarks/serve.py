"""How quickly a served run answers, over HTTP on this machine, beside what the disk itself does.

    python benchmarks/serve.py [--quick] [--model keat-rank|keat-tgn] [--seconds 20]

The driver is open-loop: requests leave by the clock, whether or not earlier ones are answered, and a latency
counts from the moment a request should have left. Client and server share the cores of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
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

import keat
from keat.datasets.payments import simulate_payments

CONNECTIONS = 32
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


async def drive(port: int, requests: list[bytes], rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Latencies in ms and statuses of requests that leave at a rate."""
    loop = asyncio.get_running_loop()
    free = [
        (await loop.create_connection(Connection, "127.0.0.1", port))[1] for _ in range(CONNECTIONS)
    ]
    begin, results = time.perf_counter() + 0.2, []
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
    return np.array([one[0] for one in found]) * 1e3, np.array([one[1] for one in found])


class Server:
    """A service in a process of its own."""

    def __init__(self, run: Path, *options: str) -> None:
        words = [sys.executable, "-m", "keat", "serve", str(run), "--port", "0", "--json", *options]
        started = time.perf_counter()
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        ready = json.loads(self.process.stdout.readline())
        self.port, self.seconds = int(ready["address"].rpartition(":")[2]), time.perf_counter() - started

    def memory(self) -> float:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) / 1024

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def small_disk_writes(folder: Path, number: int = 300) -> np.ndarray:
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


def percentiles(taken: np.ndarray) -> str:
    p50, p99 = np.percentile(taken, [50, 99])
    return f"p50 {p50:6.2f} ms   p99 {p99:6.2f} ms   longest {taken.max():7.2f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--model", default="keat-rank")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rate", type=float, default=1_000.0)
    given = parser.parse_args()
    seconds = 2.0 if given.quick else given.seconds
    scratch = Path(tempfile.mkdtemp(prefix="keat-serve-"))
    stream = simulate_payments(5_000 if given.quick else 50_000, seed=1)
    run = scratch / "run"
    keat.train(given.model, stream, out=run, epochs=1, watchers=[])
    names = [] if given.model == "keat-rank" else [f"feature {k + 1}" for k in range(stream.feature_dim)]
    disk = small_disk_writes(scratch)
    print(f"the disk's own fdatasync               {percentiles(disk)}")
    sent = 0
    for durability in ("process", "disk"):
        server = Server(run, "--durability", durability, "--most-queued", "100000")
        number = int(seconds * given.rate)
        bodies = [json.dumps(one).encode() for one in events_of(stream, sent, number, names)]
        sent += number
        asyncio.run(drive(server.port, [request("/v1/events", body) for body in bodies[:200]], 200))
        taken, status = asyncio.run(
            drive(server.port, [request("/v1/events", body) for body in bodies[200:]], given.rate)
        )
        print(f"one event at {given.rate:,.0f}/s, {durability:<8}        {percentiles(taken)}   {set(status.tolist())}")
        if durability == "process":
            candidates = [int(node) for node in np.unique(stream.dst)[:1_000]]
            while len(candidates) < 1_000:
                candidates.append(10_000_000 + len(candidates))
            asked = json.dumps({"source": int(stream.src[0]), "candidates": candidates}).encode()
            ranks = [request("/v1/rank", asked)] * int(50 * seconds)
            asyncio.run(drive(server.port, ranks[:20], 50))
            taken, status = asyncio.run(drive(server.port, ranks, 50))
            print(f"ranking 1,000 candidates, 50/s         {percentiles(taken)}   {set(status.tolist())}")
        total = 20_000 if given.quick else 200_000
        lines = [json.dumps(one).encode() for one in events_of(stream, sent, total, names)]
        sent += total
        size = 5_000
        parts = [b"\n".join(lines[start : start + size]) for start in range(0, total, size)]
        posts = [request("/v1/events", part, "application/x-ndjson") for part in parts]
        started = time.perf_counter()
        _, status = asyncio.run(drive(server.port, posts, 1e9))
        taken_in = time.perf_counter() - started - 0.2
        print(
            f"NDJSON, scored and durable, {durability:<8}   {total / taken_in:10,.0f} events/s   "
            f"{set(status.tolist())}   {server.memory():,.0f} MB"
        )
        if durability == "disk":
            server.process.kill()
            server.process.wait()
            server = Server(run, "--durability", durability)
            print(f"ready again after kill -9, {sent:,} events in the log: {server.seconds:.1f} s")
        server.stop()
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
