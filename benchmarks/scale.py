"""From a simulation to a model that has seen it all, within a limit of memory: what does each step take?

    python -m benchmarks.scale --events 1e8 --folder scale               # the whole way, resumable
    python -m benchmarks.scale --curve 1e5 1e6 1e7 1e8 --folder scale    # observing alone, by model

The way: simulate payments (no limit: the simulator holds all of them); `keat data prepare`; `keat data info`;
all heuristics on a sample of the test split; `keat train keat-rank`, one epoch on the last tenth; keat-rank
observes everything. Each step is a process of its own, whose private memory the system limits (``--limit``,
RLIMIT_DATA: a process that asks for more fails); mapped files do not count, the system takes them back.

A line of JSON a step goes to ``scale.jsonl`` in the folder (or ``--ledger``): seconds, seconds of processor
time, and what was resident at most, mapped files included. A step that has its line is not done again; an
interrupted preparation goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.benchmark_command import benchmark_parser, say
from benchmarks.scale_steps import in_a_process
from keat.disk import bytes_of

SAMPLE = 10_000  # positives that are asked of a split
OBSERVERS = ("keat-rank", "tgn", "keat-tgn", "edgebank", "local-global", "base3")
Step = tuple[str, dict[str, Any]]  # its name, and what it is told


def whole_way(events: int, folder: Path) -> Iterator[Step]:
    """The steps from nothing to a model that has observed everything."""
    yield from data_steps(events, folder)
    out = str(folder / f"payments-{events}")
    yield "info", {"out": out}
    yield "heuristics", {"out": out, "sample": SAMPLE}
    run = str(folder / f"run-{events}")
    latest = max(events // 10, 1000)
    yield "train", {"out": out, "model": "keat-rank", "latest": latest, "sample": SAMPLE, "run": run}
    yield "observe", {"out": out, "model": "keat-rank"}


def curve(sizes: list[int], folder: Path) -> Iterator[tuple[int, Step]]:
    """Every model observes streams of these sizes."""
    for events in sizes:
        for step in data_steps(events, folder):
            yield events, step
        for model in OBSERVERS:
            yield events, ("observe", {"out": str(folder / f"payments-{events}"), "model": model})


def data_steps(events: int, folder: Path) -> Iterator[Step]:
    files = str(folder / f"files-{events}")
    yield "simulate", {"events": events, "files": files}
    yield "prepare", {"files": files, "out": str(folder / f"payments-{events}"), "memory": "2GB"}


def name_of(step: Step) -> str:
    name, given = step
    return " ".join([name, given["model"]] if "model" in given else [name])


def run(plan: list[tuple[int, Step]], ledger: Path, limit: int) -> list[dict[str, Any]]:
    """Every step that has no line yet; all lines of the plan, in its order."""
    lines = read_lines(ledger)
    done = {(line["events"], line["step"]): line for line in lines}
    for events, step in plan:
        key = events, name_of(step)
        if key in done:
            continue
        say(f"{events:,} events: {key[1]}")
        name, given = step
        limited = None if name == "simulate" else limit
        found = in_a_process(name, limited, **given)
        done[key] = {"events": events, "step": key[1], "limit": limited, **found}
        with ledger.open("a", encoding="utf-8") as file:
            file.write(json.dumps(done[key]) + "\n")
    return [done[events, name_of(step)] for events, step in plan]


def read_lines(ledger: Path) -> list[dict[str, Any]]:
    if not ledger.exists():
        return []
    return [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--events", type=float, nargs="*", default=[], help="the whole way for so many")
    parser.add_argument("--curve", type=float, nargs="*", default=[], help="observing alone, of so many")
    parser.add_argument("--quick", action="store_true", help="the whole way and the curve for 10⁵ events")
    parser.add_argument("--limit", default="8GB", help="of private memory of a step")
    parser.add_argument("--folder", type=Path, help="where data and lines stay")
    parser.add_argument("--ledger", type=Path, help="where lines go instead of the folder")
    options = parser.parse_args()
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) if options.folder is None else options.folder
        folder.mkdir(parents=True, exist_ok=True)
        sizes = [10**5] if options.quick else [int(events) for events in options.events]
        plan = [(events, step) for events in sizes for step in whole_way(events, folder)]
        of_curve = [10**5] if options.quick else [int(events) for events in options.curve]
        plan += [entry for entry in curve(of_curve, folder) if entry not in plan]
        lines = run(plan, options.ledger or folder / "scale.jsonl", bytes_of(options.limit))
    if options.json:
        print(json.dumps({"benchmark": "scale", "steps": lines}))
        return
    for line in lines:
        print(
            f"{line['events']:>12,} events  {line['step']:<22}{line['seconds']:>9.1f} s "
            f"{line['processor_seconds']:>9.1f} s of the processor  peak {line['peak_mb']:>6,} MB"
            + (f"  {line['events_per_second']:>10,} events/s" if "events_per_second" in line else "")
        )


if __name__ == "__main__":
    main()
