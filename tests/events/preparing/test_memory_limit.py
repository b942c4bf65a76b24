"""A log that cannot be read in memory is prepared within it: the system refuses a process that takes more."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keat.events import EventStream

ROWS = 4_000_000
FEATURES = tuple(f"f{k}" for k in range(12))  # 200 MB as records, 300 MB in memory
ROOM = 150_000_000  # beside what the libraries take

IN_A_PROCESS = """
import resource, sys, warnings
from pathlib import Path
from keat.events import Reading
from keat.events.preparing import prepare_events
from keat.events.preparing.sizes import Sizes

warnings.simplefilter("ignore")
verb, log, out, features, room = sys.argv[1:]
reading = Reading(features=tuple(features.split(",")))
reading.read(Path(log).with_name("small.parquet"))  # starts Arrow's threads, which count as well
(data,) = (line.split()[1] for line in open("/proc/self/status") if line.startswith("VmData"))
limit = int(data) * 1024 + int(room)
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
if verb == "read":
    reading.read(Path(log))
else:
    prepare_events([log], out, reading, sizes=Sizes(10**9, piece=4 << 20, bucket=12 << 20, table=1 << 22))
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_DATA") or sys.platform != "linux", reason="needs Linux")
def test_a_log_larger_than_memory_is_prepared(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = {name: rng.random(ROWS, dtype=np.float32) for name in FEATURES}
    ids = {side: rng.integers(0, 1000, ROWS, dtype=np.int32) for side in ("src", "dst")}
    t = rng.integers(0, 10**6, ROWS)
    table = pa.table(ids | {"t": t} | columns)
    pq.write_table(table, tmp_path / "log.parquet", compression="none")
    pq.write_table(table.slice(0, 100), tmp_path / "small.parquet")

    def run(verb: str) -> subprocess.CompletedProcess[str]:
        words = [verb, tmp_path / "log.parquet", tmp_path / "out", ",".join(FEATURES), str(ROOM)]
        command = [sys.executable, "-c", IN_A_PROCESS, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    in_memory = run("read")
    assert in_memory.returncode != 0, "the limit is no limit"
    assert "Memory" in in_memory.stderr or "malloc" in in_memory.stderr, in_memory.stderr
    prepared = run("prepare")
    assert prepared.returncode == 0, prepared.stderr
    stream = EventStream.open(tmp_path / "out")
    order = np.argsort(t, kind="stable")
    np.testing.assert_array_equal(stream.t, t[order])
    np.testing.assert_array_equal(stream.features[:, 3], columns["f3"][order])
    np.testing.assert_array_equal(stream.dst, ids["dst"][order])
