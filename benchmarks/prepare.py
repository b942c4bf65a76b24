"""How quick is `keat data prepare`, and does it stay within its memory?

    python -m benchmarks.prepare --json                      # 10⁵, 10⁶ and 10⁷ payments
    python -m benchmarks.prepare --events 100000000 --memory 4GB --limit 8GB --files payments --keep prepared

Simulated payments are dealt out over ten Parquet files, so that each of them covers all of the time and
everything has to be sorted. `keat data prepare` then runs in a process of its own, whose private memory is
limited by the system (``--limit``): a process that asks for more fails. Peak memory is what was resident at
most, mapped files included. ``--then`` does the same with `keat data info` and with the heuristics on a
sample of what was prepared.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.benchmark_command import benchmark_parser, say
from keat.datasets.payments import FEATURES, simulate_payments
from keat.disk import bytes_of

FILES = 10
GROUP = 1 << 20  # rows of a group, which is all that is held while a file is written


def write_payments(events: int, folder: Path) -> list[Path]:
    """Simulated payments in files, each with every tenth of them."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"part-{number}.parquet" for number in range(FILES)]
    if all(path.exists() for path in paths):
        return paths
    payments = simulate_payments(events)
    assert payments.labels is not None
    for number, path in enumerate(paths):
        schema = pa.schema(
            [("src", pa.int32()), ("dst", pa.int32()), ("t", pa.int64()), ("fraud", pa.int8())]
            + [(name, pa.float32()) for name in FEATURES]
        )
        with pq.ParquetWriter(path, schema) as writer:
            for start in range(number, events, FILES * GROUP):
                rows = slice(start, min(start + FILES * GROUP, events), FILES)
                columns = [payments.src[rows], payments.dst[rows], payments.t[rows], payments.labels[rows]]
                columns += [payments.features[rows, place] for place in range(len(FEATURES))]
                arrays = [np.ascontiguousarray(column) for column in columns]
                writer.write_table(pa.table(dict(zip(schema.names, arrays, strict=True)), schema))
    return paths


def run(words: list[str], limit: int | None) -> dict[str, float]:
    """A command in a process of its own: seconds, and the most that was resident."""
    command = [
        sys.executable,
        "-c",
        "from benchmarks.prepare import limited; limited()",
        str(limit or 0),
        *words,
    ]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"keat {' '.join(words)}: {done.stderr}")
    *_, told = done.stderr.splitlines()
    return {"seconds": round(seconds, 1), "peak_mb": round(int(told) * 1024 / 1e6)}


def limited() -> None:
    """In the process: the limit, the command, and its peak to standard error."""
    limit = int(sys.argv[1])
    if limit:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    sys.argv = ["keat", *sys.argv[2:]]
    from keat.cli import main

    try:
        main()
    finally:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)


def measure(
    events: int, files: Path, out: Path, memory: str, limit: int | None, then: bool
) -> dict[str, object]:
    say(f"writing {events:,} payments to {files}")
    paths = [str(path) for path in write_payments(events, files)]
    say("preparing")
    words = ["data", "prepare", *paths, "--out", str(out), "--features", ",".join(FEATURES)]
    result: dict[str, object] = {"events": events, "memory": memory, "limit": limit}
    prepared = run([*words, "--label", "fraud", "--memory", memory, "--json"], limit)
    result["prepare"] = prepared | {"events_per_second": round(events / prepared["seconds"])}
    if then:
        say("informing")
        result["info"] = run(["data", "info", str(out), "--json"], limit)
        say("evaluating heuristics on a sample")
        sampled = ["evaluate", "heuristics", str(out), "--eval-sample", "10000", "--json"]
        result["heuristics"] = run(sampled, limit)
    return result


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--quick", action="store_true", help="10⁵ and 10⁶ events only")
    parser.add_argument("--memory", default="1GB", help="as keat data prepare is told")
    parser.add_argument("--limit", help="of the system, for private memory")
    parser.add_argument("--files", type=Path, help="folder of the payments, which stays")
    parser.add_argument("--keep", type=Path, help="folder of what is prepared, which stays")
    parser.add_argument("--then", action="store_true", help="also info and heuristics")
    options = parser.parse_args()
    limit = None if options.limit is None else bytes_of(options.limit)
    results = []
    for events in [10**5, 10**6] if options.quick else options.events:
        with tempfile.TemporaryDirectory() as folder:
            files = options.files or Path(folder) / "files"
            out = options.keep or Path(folder) / "out"
            results.append(measure(events, files, out, options.memory, limit, options.then))
    if options.json:
        print(json.dumps({"benchmark": "prepare", "runs": results}))
        return
    for result in results:
        for what in ("prepare", "info", "heuristics"):
            if isinstance(part := result.get(what), dict):
                print(
                    f"{result['events']:>11,} events  {what:10} {part['seconds']:>8.1f} s  "
                    f"peak {part['peak_mb']:>6,} MB"
                )


if __name__ == "__main__":
    main()
