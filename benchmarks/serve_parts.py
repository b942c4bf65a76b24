"""What `benchmarks.serve` measures in a few seconds each: one event, ranking, many lines, a restart."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.open_loop import Driven, Floats, drive, request
from benchmarks.served import Load, Server, disk_syncs

CANDIDATES, LINES = 1_000, 5_000
MANY = "1000000"  # events that may wait, where all are sent at once
NEVER = "1000000000"  # events between snapshots


@dataclass(frozen=True)
class Sizes:
    seconds: float = 20.0
    lines: int = 200_000
    tail: int = 1_000_000
    growth: int = 5_000_000
    growth_rate: int = 20_000  # events a second
    overload: float = 60.0
    payments: int = 50_000


QUICK = Sizes(2.0, 10_000, 20_000, 50_000, 5_000, 5.0, 5_000)
Rows = list[tuple[str, str, str]]  # what, measured, to be reached


def spoken(taken: Floats) -> str:
    if len(taken) == 0:
        return "none"
    p50, p99 = np.percentile(taken, [50, 99])
    return f"p50 {p50:.2f} ms, p99 {p99:.2f} ms, longest {taken.max():.1f} ms"


def refused(found: Driven) -> str:
    others = sorted(set(found.status.tolist()) - {200})
    return "".join(f"; {np.count_nonzero(found.status == one):,} were answered {one}" for one in others)


def own(found: Driven) -> str:
    return f" (driver late p99 {np.percentile(found.late, 99):.2f} ms)"


def one(load: Load, sizes: Sizes, scratch: Path) -> Rows:
    rows: Rows = []
    rate = 1_000 if load.run.name == "keat-rank" else 200
    number = int(sizes.seconds * rate)
    for durability in ("process", "disk"):
        server = Server(load.run, "--durability", durability)
        drive(server.port, load.singly(200), 200, 200)
        synced, before = disk_syncs(scratch), server.computed()
        found = drive(server.port, load.singly(number), number, rate)
        computed = (server.computed() - before) / number
        server.stop()
        target = "p50 ≤ 1 ms, p99 ≤ 5 ms"
        if durability == "disk":
            rows.append(("the disk's own fdatasync of a page", spoken(synced), ""))
            target = f"p99 ≤ {np.percentile(synced, 99) + 5:.1f} ms"
        text = f"{spoken(found.latency)}{own(found)}; computing {computed * 1e3:.2f} ms each{refused(found)}"
        rows.append((f"one event, {rate:,} a second, {durability}", text, target))
    return rows


def rank(load: Load, sizes: Sizes, scratch: Path) -> Rows:  # noqa: ARG001
    server, rate = Server(load.run, "--durability", "process"), 50
    known = np.unique(load.stream.dst)[:CANDIDATES].tolist()
    strangers = range(10_000_000, 10_000_000 + CANDIDATES - len(known))
    sources = load.stream.src[: int(rate * sizes.seconds)].tolist()
    bodies = [json.dumps({"source": one, "candidates": [*known, *strangers]}).encode() for one in sources]
    posts = [request("/v1/rank", body) for body in bodies]
    drive(server.port, posts, 20, rate)
    before = server.computed()
    found = drive(server.port, posts, len(posts), rate)
    computed = (server.computed() - before) / len(posts)
    server.stop()
    text = f"{spoken(found.latency)}{own(found)}; computing {computed * 1e3:.2f} ms each{refused(found)}"
    return [(f"ranking {CANDIDATES:,}, {rate} a second", text, "p50 ≤ 2.5 ms, p99 ≤ 10 ms")]


def lines(load: Load, sizes: Sizes, scratch: Path) -> Rows:  # noqa: ARG001
    server = Server(load.run, "--durability", "disk", "--most-queued", MANY)
    number = sizes.lines // LINES
    posts = [*load.lines(load.events(sizes.lines), LINES)]
    before = server.computed()
    found = drive(server.port, posts, number, None, connections=4)
    computed, memory = server.computed() - before, server.memory()
    server.stop()
    text = f"{sizes.lines / found.seconds:,.0f} events/s, {sizes.lines / computed:,.0f} a second of computing"
    return [("NDJSON, scored, on the disk", f"{text}; {memory:,.0f} MB{refused(found)}", "≥ 20,000 events/s")]


def restart(load: Load, sizes: Sizes, scratch: Path) -> Rows:  # noqa: ARG001
    options = ("--durability", "process", "--snapshot-every", NEVER)
    server = Server(load.run, *options, "--most-queued", MANY)
    number = sizes.tail // LINES
    found = drive(server.port, load.lines(load.events(sizes.tail), LINES), number, None, connections=2)
    server.kill()
    again = Server(load.run, *options)
    seconds, memory = again.seconds, again.memory()
    again.stop()
    text = f"{seconds:.1f} s, {memory:,.0f} MB{refused(found)}"
    return [(f"ready again after kill -9 with a tail of {sizes.tail:,} events", text, "≤ 10 s")]
