"""Small logs in files of every kind."""

from __future__ import annotations

import datetime
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq

RNG = np.random.default_rng(7)
ROWS = 200
WORDS = np.array([f"n{k}" for k in range(30)])
START = datetime.datetime(2024, 1, 1)


def log(**columns: Any) -> pa.Table:
    """Events with ties in a random order of times; ``columns`` in place of some."""
    usual = {
        "src": WORDS[RNG.integers(0, 20, ROWS)],
        "dst": WORDS[RNG.integers(10, 30, ROWS)],
        "t": RNG.integers(0, 60, ROWS),
        "amount": RNG.normal(5, 2, ROWS),
        "count": RNG.integers(0, 9, ROWS),
        "kind": WORDS[RNG.integers(0, 5, ROWS)],
        "fraud": RNG.random(ROWS) < 0.2,
    }
    return pa.table(usual | columns)


def text(path: Path, table: pa.Table) -> None:
    pacsv.write_csv(table, path)


def packed(path: Path, table: pa.Table) -> None:
    text(path.with_suffix(".plain"), table)
    path.write_bytes(gzip.compress(path.with_suffix(".plain").read_bytes()))


def parquet(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path, row_group_size=50)


def arrow(path: Path, table: pa.Table) -> None:
    feather.write_feather(table, path, compression="uncompressed", chunksize=60)


def arrow_stream(path: Path, table: pa.Table) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=60)


WRITERS: dict[str, Callable[[Path, pa.Table], None]] = {
    "log.csv": text,
    "log.csv.gz": packed,
    "log.parquet": parquet,
    "log.feather": arrow,
    "log.arrow": arrow_stream,
}
ALL: dict[str, Any] = {
    "features": ["amount", "count"],
    "categorical": "kind",
    "scale": True,
    "label": "fraud",
}


def whole_numbers(low: int, high: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return RNG.integers(low, high, ROWS)


def datetimes() -> pa.Array:
    return pa.array([START + datetime.timedelta(minutes=int(m)) for m in whole_numbers(0, 60)])
