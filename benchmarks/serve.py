"""How quickly a served run answers, over HTTP on this machine, beside what the disk itself does.

    python -m benchmarks.serve                     # all parts: half an hour or so
    python -m benchmarks.serve one rank            # some
    python -m benchmarks.serve --quick             # a glance at all
    python -m benchmarks.serve --ledger FILE       # and keep it; the table is of all that is kept

    one       one event a request, 1,000 a second, kept for the process and on the disk
    rank      which of 1,000 candidates
    lines     NDJSON, scored and kept on the disk
    restart   killed with -9, a million events after the last snapshot: seconds until it is ready again
    growth    5 million events with ever-new nodes: the longest waits, which growth and snapshots lengthen
    overload  a minute of twice what it can take

The driver is open-loop (`benchmarks.open_loop`). Client and server share the cores of the machine. KEAT-TGN
is measured in the first three parts. Lines are printed as they are measured, and at the end as a table.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.benchmark_command import benchmark_parser, say
from benchmarks.open_loop import Driven, Floats, by_time, drive, request
from benchmarks.served import Load, Server, disk_syncs, ids_in_log

CANDIDATES, LINES, SMALL_LINES = 1_000, 5_000, 256
MANY = "1000000"  # events that may wait, where all are sent at once
NEVER = "1000000000"  # events between snapshots


@dataclass(frozen=True)
class Sizes:
    seconds: float = 20.0
    lines: int = 200_000
    tail: int = 1_000_000
    growth: int = 5_000_000
    growth_rate: int = 12_000  # events a second
    overload: float = 60.0
    payments: int = 50_000


QUICK = Sizes(2.0, 10_000, 20_000, 50_000, 5_000, 5.0, 5_000)
Rows = list[tuple[str, str, str]]  # what, measured, to be reached
Line = dict[str, str]  # of the ledger


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


def growth(load: Load, sizes: Sizes, scratch: Path) -> Rows:  # noqa: ARG001
    """In requests of 256 events by the clock, so that one which waits is seen, and so are those behind it."""
    server = Server(load.run, "--durability", "process", "--new-ids", MANY)
    rows, parts = [], 10
    each = sizes.growth // parts // SMALL_LINES * SMALL_LINES
    events = load.ever_new(each * parts)
    for part in range(1, parts + 1):
        number = each // SMALL_LINES
        posts = load.lines(events, SMALL_LINES)
        found = drive(server.port, posts, number, sizes.growth_rate / SMALL_LINES)
        text = f"{spoken(found.latency)} (driver late, longest {found.late.max():.1f} ms)"
        text += f"; {server.memory():,.0f} MB{refused(found)}"
        rows.append((f"after {part * each:,} events with ever-new nodes", text, "longest ≤ 50 ms"))
        say(f"{rows[-1][0]}: {text}")
    server.stop()
    return rows


def overload(load: Load, sizes: Sizes, scratch: Path) -> Rows:  # noqa: ARG001
    server = Server(load.run, "--durability", "process")
    first = load.sent
    drive(server.port, load.singly(500), 500, None)
    number = int(2_000 * min(sizes.seconds, 5.0))
    most = drive(server.port, load.singly(number), number, None)
    able = np.count_nonzero(most.status == 200) / most.seconds
    number = int(able / 4 * min(sizes.seconds, 10.0))
    calm = drive(server.port, load.singly(number), number, able / 4)
    before, begun = server.memory(), load.sent
    number = int(2 * able * sizes.overload)
    found = drive(server.port, load.singly(number), number, 2 * able, connections=256)
    memory = server.memory()
    server.kill()
    there = ids_in_log(load.run)
    counted = set(there)
    promised = {f"event {begun + place}" for place in np.flatnonzero(found.status == 200).tolist()}
    own_ids = [name for name in there if int(name.split()[1]) >= first]
    p99 = np.percentile(calm.of(200), 99)
    others = set(found.status.tolist()) - {200, 429}
    halves = [f"{np.percentile(part, 99):.0f}" for part in by_time(found, 2)]
    return [
        ("one event a request, as many as it can", f"{able:,.0f} events/s{refused(most)}", ""),
        ("of a quarter of that", spoken(calm.of(200)) + refused(calm), ""),
        (
            f"of twice that for {sizes.overload:.0f} s, accepted",
            spoken(found.of(200)) + own(found),
            f"p99 ≤ {3 * p99:.1f} ms",
        ),
        ("of these, refused with 429", spoken(found.of(429)) + refused(found), "no other status"),
        (
            "p99 of all answers in both halves",
            f"{' and '.join(halves)} ms; other statuses {others}",
            "as one",
        ),
        ("memory before and after", f"{before:,.0f} and {memory:,.0f} MB", "bounded"),
        (
            "acknowledged, and not in the log after kill -9",
            f"{len(promised - counted):,} of {len(promised):,}; twice: {len(own_ids) - len(set(own_ids)):,}",
            "0",
        ),
    ]


PARTS: dict[str, Callable[[Load, Sizes, Path], Rows]] = {
    "one": one,
    "rank": rank,
    "lines": lines,
    "restart": restart,
    "growth": growth,
    "overload": overload,
}
OF_TGN = ("one", "rank", "lines")


def machine() -> str:
    words = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    commit = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
    with Path("/proc/cpuinfo").open() as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "")
    return (
        f"{os.cpu_count()} cores of {model or platform.machine()}; Python {platform.python_version()}; "
        f"commit {commit}"
    )


def computing() -> tuple[float, float]:
    """Seconds that all processes of the machine have computed for, and that this one and those it waited for
    have."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = fields[3] + fields[4]
    own = os.times()
    return (sum(fields) - idle) / os.sysconf("SC_CLK_TCK"), sum(own[:4])


def measured(part: str, model: str, sizes: Sizes) -> tuple[Rows, float]:
    """The rows of a part, and how many cores others took meanwhile."""
    scratch = Path(tempfile.mkdtemp(prefix="keat-serve-"))
    load = Load(model, scratch, sizes.payments)
    started, (all_before, own_before) = time.perf_counter(), computing()
    rows = PARTS[part](load, sizes, scratch)
    seconds, (every, own) = time.perf_counter() - started, computing()
    shutil.rmtree(scratch)
    return rows, max(0.0, (every - all_before - own + own_before) / seconds)


def table_of(lines: list[Line]) -> str:
    """The newest line of each measurement, in the order in which they were first made."""
    newest = {(line["model"], line["what"]): line for line in lines}
    rows = [
        f"| {one['model']}: {one['what']} | {one['measured']} | {one['wanted']} |" for one in newest.values()
    ]
    return "\n".join(["| | measured | wanted |", "| --- | --- | --- |", *rows])


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all if none is given")
    parser.add_argument("--quick", action="store_true", help="few of everything")
    parser.add_argument("--model", default=None, help="keat-rank or keat-tgn; both if none is given")
    parser.add_argument("--growth", type=int, help="events of growth, instead of 5 million")
    parser.add_argument("--ledger", type=Path, help="a file of JSON lines to add to")
    given = parser.parse_args()
    for name in given.parts:
        if name not in PARTS:
            parser.error(f"there is no part '{name}'; choose of {', '.join(PARTS)}")
    sizes, about = QUICK if given.quick else Sizes(), machine()
    if given.growth is not None:
        sizes = replace(sizes, growth=given.growth)
    say(about)
    lines: list[Line] = []
    if given.ledger is not None and given.ledger.exists():
        lines = [json.loads(line) for line in given.ledger.read_text().splitlines()]
    for model in ("keat-rank", "keat-tgn") if given.model is None else (given.model,):
        for part in given.parts or PARTS:
            if model != "keat-rank" and part not in OF_TGN:
                continue
            rows, others = measured(part, model, sizes)
            for row in rows:
                line = dict(zip(("what", "measured", "wanted"), row, strict=True))
                line |= {"model": model, "part": part, "others": f"{others:.2f} cores", "machine": about}
                lines.append(line)
                say(" | ".join((model, *row, f"others {others:.2f} cores")))
                if given.ledger is not None:
                    with given.ledger.open("a") as file:
                        file.write(json.dumps(line, ensure_ascii=False) + "\n")
    print(json.dumps(lines) if given.json else f"{about}\n\n{table_of(lines)}")


if __name__ == "__main__":
    main()
