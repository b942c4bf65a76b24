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
    swap      events come while another model is loaded, switched to and taken back
    overload  a minute of twice what it can take

The driver is open-loop (`benchmarks.open_loop`). Client and server share the cores of the machine. KEAT-TGN
is measured in the first three parts, without bounds. Lines are printed as they are measured, and at the end
as a table.
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
from dataclasses import replace
from pathlib import Path

from benchmarks.benchmark_command import benchmark_parser, say
from benchmarks.serve_long_parts import growth, overload, swap
from benchmarks.serve_parts import QUICK, Rows, Sizes, lines, one, rank, restart
from benchmarks.served import Load

Line = dict[str, str]  # of the ledger


PARTS: dict[str, Callable[[Load, Sizes, Path], Rows]] = {
    "one": one,
    "rank": rank,
    "lines": lines,
    "restart": restart,
    "growth": growth,
    "swap": swap,
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


def measured(part: str, model: str, sizes: Sizes, runs: Path) -> tuple[Rows, float]:
    """The rows of a part, and how many cores others took meanwhile."""
    scratch = Path(tempfile.mkdtemp(prefix="keat-serve-"))
    load = Load(model, scratch, sizes.payments, runs / model)
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
    runs = Path(tempfile.mkdtemp(prefix="keat-runs-"))
    for model in ("keat-rank", "keat-tgn") if given.model is None else (given.model,):
        for part in given.parts or PARTS:
            if model != "keat-rank" and part not in OF_TGN:
                continue
            rows, others = measured(part, model, sizes, runs)
            for row in rows:
                line = dict(zip(("what", "measured", "wanted"), row, strict=True))
                line |= {} if model == "keat-rank" else {"wanted": ""}  # it is measured and printed
                line |= {"model": model, "part": part, "others": f"{others:.2f} cores", "machine": about}
                lines.append(line)
                say(" | ".join((model, *row, f"others {others:.2f} cores")))
                if given.ledger is not None:
                    with given.ledger.open("a") as file:
                        file.write(json.dumps(line, ensure_ascii=False) + "\n")
    shutil.rmtree(runs)
    print(json.dumps(lines) if given.json else f"{about}\n\n{table_of(lines)}")


if __name__ == "__main__":
    main()
