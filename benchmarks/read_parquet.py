"""Is reading Parquet bound by Arrow? `read_events` beside Arrow's own read of the same columns.

    python -m benchmarks.read_parquet --rows 10000000 --json

Arrow only decodes; `read_events` decodes, checks every value, makes ids dense and lays features out as
one matrix. The two alternate, so that both see the same load of the machine; ``ratio`` is the median of
the pairwise ratios. Integer ids: expect a ratio between 1 and 2. String ids: every id has to be hashed,
which Arrow's plain read does not do; ``arrow_hashed`` adds Arrow's own hashing to the comparison.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.benchmark_command import benchmark_parser
from keat.events import read_events

COLUMNS = ["src", "dst", "t", "amount", "channel"]


def make_table(rows: int, *, string_ids: bool) -> pa.Table:
    """Events between ``rows / 50`` sources and a tenth as many destinations, some far busier than others."""
    rng = np.random.default_rng(0)
    num_src, num_dst = max(1, rows // 50), max(1, rows // 500)
    src = (num_src * rng.random(rows) ** 2).astype(np.int64)
    dst = num_src + (num_dst * rng.random(rows) ** 3).astype(np.int64)
    columns = {"src": pa.array(src), "dst": pa.array(dst)}
    if string_ids:
        names = pc.binary_join_element_wise(
            "account", pa.array(np.arange(num_src + num_dst)).cast("string"), "-"
        )
        columns = {column: names.take(ids) for column, ids in columns.items()}
    columns["t"] = pa.array(np.sort(rng.integers(0, 10**9, rows)))
    columns["amount"] = pa.array(rng.lognormal(3, 1, rows).astype(np.float32))
    columns["channel"] = pa.array(rng.integers(0, 4, rows).astype(np.float32))
    return pa.table(columns)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def arrow_hashed(path: Path) -> object:
    """What Arrow alone needs to read the columns and give the ids of both sides one dictionary."""
    table = pq.read_table(path, columns=COLUMNS)
    return pa.chunked_array(table["src"].chunks + table["dst"].chunks).dictionary_encode()


def compare(path: Path, repeats: int) -> dict[str, float]:
    readers: dict[str, Callable[[], object]] = {
        "arrow": lambda: pq.read_table(path, columns=COLUMNS),
        "arrow_hashed": lambda: arrow_hashed(path),
        "keat": lambda: read_events(path, features=["amount", "channel"]),
    }
    for reader in readers.values():  # the file is in the page cache and all code is loaded
        reader()
    rounds = [{name: seconds(reader) for name, reader in readers.items()} for _ in range(repeats)]
    result = {f"{name}_seconds": statistics.median(r[name] for r in rounds) for name in readers}
    result["ratio"] = statistics.median(r["keat"] / r["arrow"] for r in rounds)
    result["ratio_hashed"] = statistics.median(r["keat"] / r["arrow_hashed"] for r in rounds)
    return {key: round(value, 4) for key, value in result.items()}


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--quick", action="store_true", help="1 million rows")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    rows = 1_000_000 if options.quick else options.rows
    result: dict[str, object] = {"rows": rows, "threads": pa.cpu_count(), "pyarrow": pa.__version__}
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("int", "string"):
            path = Path(folder) / f"{kind}.parquet"
            print(f"writing {rows:,} events with {kind} ids", file=sys.stderr)
            pq.write_table(make_table(rows, string_ids=kind == "string"), path)
            result[f"{kind}_ids"] = compare(path, options.repeats)
    if options.json:
        print(json.dumps(result))
        return
    print(f"{rows:,} rows, {pa.cpu_count()} threads, pyarrow {pa.__version__}")
    print(f"{'ids':8}{'arrow':>10}{'+ hashing':>12}{'keat':>10}{'keat/arrow':>13}")
    for kind in ("int", "string"):
        row = result[f"{kind}_ids"]
        assert isinstance(row, dict)
        times = "".join(
            f"{row[f'{name}_seconds']:>{w}.2f}s"
            for name, w in (("arrow", 9), ("arrow_hashed", 11), ("keat", 9))
        )
        print(f"{kind:8}{times}{row['ratio']:>12.2f}×")


if __name__ == "__main__":
    main()
