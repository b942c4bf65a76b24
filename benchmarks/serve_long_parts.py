"""What `benchmarks.serve` measures in minutes: growth, an exchange of models under load, overload."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.benchmark_command import say
from benchmarks.open_loop import Driven, Floats, drive
from benchmarks.serve_parts import MANY, Rows, Sizes, own, refused, spoken
from benchmarks.served import Load, Server, ids_in_log

SMALL_LINES = 256  # of a request
UNREFUSED = 12  # connections whose requests all find room in the queue
MANY_CONNECTIONS = 64


def growth(load: Load, sizes: Sizes, scratch: Path) -> Rows:  # noqa: ARG001
    """In requests of 256 events by the clock, so that one which waits is seen, and so are those behind it."""
    server = Server(load.run, "--durability", "process", "--new-ids", MANY)
    rows, parts, begun = [], 10, server.memory()
    each = sizes.growth // parts // SMALL_LINES * SMALL_LINES
    events = load.ever_new(each * parts)
    for part in range(1, parts + 1):
        number = each // SMALL_LINES
        posts = [post for _, post in zip(range(number), load.lines(events, SMALL_LINES), strict=False)]
        found = drive(server.port, posts, number, sizes.growth_rate / SMALL_LINES)
        text = f"{spoken(found.latency)} (driver late, longest {found.late.max():.1f} ms)"
        text += f"; {server.memory():,.0f} MB{refused(found)}"
        what = f"after {part * each:,} events with ever-new nodes, {sizes.growth_rate:,} a second"
        rows.append((what, text, "longest ≤ 50 ms"))
        say(f"{what}: {text}")
    grown = server.memory() - begun
    server.stop()  # it keeps a snapshot
    state = max((load.run / "live").glob("snapshot-*")).stat().st_size / (1 << 20)
    text = f"{grown:,.0f} MB more than at the beginning; the state in a file {state:,.0f} MB"
    return [*rows, ("memory after growth", text, "flat beyond what the state needs")]


def swap(load: Load, sizes: Sizes, scratch: Path) -> Rows:
    """Another model is loaded, catches up, is switched to and taken back while events come."""
    models, rate = scratch / "models", 1_000
    load.train(models / "next", seed=2)
    server = Server(load.run, "--durability", "process", "--models", str(models))
    number = int(2 * sizes.seconds * rate)
    drive(server.port, load.singly(200), 200, 200)
    posts, told = [*load.singly(number)], list[str]()
    orders = threading.Thread(target=_exchange, args=(server, number / rate, told))
    orders.start()
    found = drive(server.port, posts, number, rate)
    orders.join()
    server.stop()
    failed = np.count_nonzero(found.status != 200)
    text = f"{failed:,} of {number:,} failed{refused(found)}; {', '.join(told)}; {spoken(found.latency)}"
    what = f"{rate:,} events a second while models are exchanged"
    return [(what, text + own(found), "no request fails")]


def _exchange(server: Server, seconds: float, told: list[str]) -> None:
    """Orders while events come; ``told`` has those that were followed."""
    first = server.asked("/v1/models", {"do": "load", "run": "next"})["model"]
    while server.asked("/v1/models")["shadow"] is None:
        time.sleep(0.2)
    told.append("loaded")
    for word in ("switched", "back", "switched"):
        time.sleep(seconds / 10)
        model = server.asked("/v1/models", {"do": "switch"})["model"]
        told.append(word if (model == first) == (word == "back") else f"not {word}")


def overload(load: Load, sizes: Sizes, scratch: Path) -> Rows:  # noqa: ARG001
    """In requests of 256 events, a full batch each, so that events are more than the service can take and
    requests are few enough for the driver."""
    server, first, short = Server(load.run, "--durability", "process"), load.sent, min(sizes.seconds, 10.0)
    drive(server.port, _blocks(load, 50), 50, None, 4)
    number = int(60 * short)
    most = drive(server.port, _blocks(load, number), number, None, UNREFUSED)
    able = np.count_nonzero(most.status == 200) / most.seconds
    number = int(able / 4 * short)
    calm = drive(server.port, _blocks(load, number), number, able / 4, MANY_CONNECTIONS)
    before, begun = server.memory(), load.sent
    number = int(2 * able * sizes.overload)
    found = drive(server.port, _blocks(load, number), number, 2 * able, MANY_CONNECTIONS)
    memory = server.memory()
    server.kill()
    there = [name for name in ids_in_log(load.run) if int(name.split()[1]) >= first]
    counted, taken = set(there), np.flatnonzero(found.status == 200).tolist()
    begins = (begun + place * SMALL_LINES for place in taken)
    lost = sum(f"event {one}" not in counted for start in begins for one in range(start, start + SMALL_LINES))
    p99, others = np.percentile(calm.of(200), 99), set(found.status.tolist()) - {200, 429}
    halves = [spoken(half[1][half[0] == 200]) for half in _halves(found)]
    rate, accepted = able * SMALL_LINES, len(taken) * SMALL_LINES
    return [
        (f"requests of {SMALL_LINES} events, as many as it can", f"{rate:,.0f} events/s{refused(most)}", ""),
        ("of a quarter of that", spoken(calm.of(200)) + own(calm) + refused(calm), ""),
        (
            f"of twice that for {sizes.overload:.0f} s, accepted",
            f"{accepted / found.seconds:,.0f} events/s; {spoken(found.of(200))}{own(found)}",
            f"p99 ≤ {3 * p99:.1f} ms",
        ),
        (
            "of these, refused with 429",
            f"{np.count_nonzero(found.status == 429):,} of {number:,}; {spoken(found.of(429))}; "
            f"other statuses {', '.join(map(str, sorted(others))) or 'none'}",
            "no other status",
        ),
        ("accepted in either half", "; ".join(halves), "as one"),
        ("memory before and after overload", f"{before:,.0f} and {memory:,.0f} MB", "bounded"),
        (
            "acknowledged, and not in the log after kill -9",
            f"{lost:,} of {accepted:,}; twice: {len(there) - len(counted):,}",
            "0",
        ),
    ]


def _blocks(load: Load, number: int) -> list[bytes]:
    """Requests, made before any of them leaves."""
    return [*load.lines(load.events(number * SMALL_LINES), SMALL_LINES)]


def _halves(found: Driven) -> list[tuple[npt.NDArray[np.int64], Floats]]:
    """Statuses and latencies of each."""
    middle = len(found.status) // 2
    cuts = slice(0, middle), slice(middle, None)
    return [(found.status[cut], found.latency[cut]) for cut in cuts]
