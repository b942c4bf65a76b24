"""Events that are none: files of every kind, odd ids, times and columns, by every verb that reads events."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
from command import ORDERS
from workplace import TGN, Bad, Damage

HEADER = "src,dst,t\n"
ROWS = "".join(f"a{k % 5},b{k % 3},{k}\n" for k in range(60))
LONG = "x" * 300

# -- files -------------------------------------------------------------------------------------------


def text(content: str | bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content.encode() if isinstance(content, str) else content)


def times(*t: str) -> Callable[[Path], object]:
    """Events at good times, and then at these."""
    return text(HEADER + ROWS + "".join(f"a,b,{time}\n" for time in t))


def parquet(**columns: Any) -> Callable[[Path], object]:
    good = {"src": list(range(60)), "dst": list(range(60)), "t": list(range(60))}
    return lambda path: pq.write_table(pa.table(good | columns), path)


def cut_parquet(path: Path) -> None:
    parquet()(path)
    path.write_bytes(path.read_bytes()[:200])


def astray(path: Path) -> None:
    """An Arrow file with an offset that leads out of it."""
    labels = pa.array(["ab", "cde", "f", "g"])
    feather.write_feather(
        pa.table({"src": labels, "dst": labels, "t": np.arange(4)}), path, compression="uncompressed"
    )
    good, wrong = (np.array([0, 2, 5, 6, end], dtype=np.int32).tobytes() for end in (7, 1 << 30))
    path.write_bytes(path.read_bytes().replace(good, wrong))


def jsonl(path: Path) -> None:
    path.write_text("".join(json.dumps({"src": k, "dst": k, "t": k}) + "\n" for k in range(60)))


FILES: dict[str, Callable[[Path], object]] = {
    "nothing.csv": text(""),
    "blank.csv": text("\n\n\n"),
    "header.csv": text(HEADER),
    "one.csv": text(HEADER + "a,b,1\n"),
    "two.csv": text(HEADER + "a,b,1\nb,c,2\n"),
    "no-header.csv": text(ROWS),
    "columns.csv": text("a,b,c\n1,2,3\n"),
    "one-column.csv": text("src\n1\n2\n"),
    "twice.csv": text("src,dst,t,t\n1,2,3,4\n"),
    "unnamed.csv": text("src,dst,t,,\n1,2,3,4,5\n"),
    "ragged.csv": text(HEADER + ROWS + "a,b\n"),
    "wide.csv": text(HEADER + ROWS + "a,b,1,2,3\n"),
    "semicolons.csv": text(HEADER.replace(",", ";") + ROWS.replace(",", ";")),
    "tabs.csv": text(HEADER.replace(",", "\t") + ROWS.replace(",", "\t")),
    "commas.tsv": text(HEADER + ROWS),
    "utf16.csv": text((HEADER + ROWS).encode("utf-16")),
    "latin1.csv": text((HEADER + "ä,b,1\n" + ROWS).encode("latin-1")),
    "zeros.csv": text(bytes(300)),
    "noise.csv": text(bytes(range(256)) * 9),
    "quote.csv": text(HEADER + '"a,b,1\n' + ROWS),
    "no-source.csv": text(HEADER + ",b,1\n" + ROWS),
    "no-destination.csv": text(HEADER + "a,,1\n" + ROWS),
    "fraction.csv": text(HEADER + "1,2,1\n1.5,2,2\n"),
    "time-missing.csv": times(""),
    "time-text.csv": times("soon"),
    "time-nan.csv": times("NaN"),
    "time-inf.csv": times("inf"),
    "time-negative.csv": times("-3"),
    "time-fraction-negative.csv": times("-0.25"),
    "time-huge.csv": times("9223372036854775808"),
    "time-huger.csv": times("1e300"),
    "time-month.csv": times("2024-13-01 10:00"),
    "time-clock.csv": text(HEADER + "a,b,10:00:00\n"),
    "time-1969.csv": text(HEADER + "a,b,1969-12-31 23:00:00\n"),
    "one-time.csv": text(HEADER + "".join(f"a{k},b{k},7\n" for k in range(60))),
    "two-times.csv": text(HEADER + "".join(f"a{k},b{k},{k // 30}\n" for k in range(60))),
    "cut.csv.gz": text(gzip.compress((HEADER + ROWS * 99).encode())[:200]),
    "text.csv.gz": text(HEADER + ROWS),
    "nothing.csv.gz": text(gzip.compress(b"")),
    "text.parquet": text(HEADER + ROWS),
    "nothing.parquet": text(""),
    "magic.parquet": text(b"PAR1PAR1"),
    "cut.parquet": cut_parquet,
    "columns.parquet": lambda path: pq.write_table(pa.table({"a": [1], "b": [2]}), path),
    "no-rows.parquet": lambda path: pq.write_table(pa.table({"src": [], "dst": [], "t": []}), path),
    "lists.parquet": parquet(src=[[1]] * 60),
    "dates.parquet": parquet(dst=pa.array(range(60), pa.date32())),
    "whole-floats.parquet": parquet(src=[float(k) for k in range(60)]),
    "huge-ids.parquet": parquet(src=pa.array([2**63 + k for k in range(60)], pa.uint64())),
    "null.parquet": parquet(src=pa.nulls(60)),
    "truths.parquet": parquet(t=[True, False] * 30),
    "text.arrow": text(HEADER + ROWS),
    "astray.arrow": astray,
    "magic.feather": text(b"ARROW1\0\0"),
    "events.jsonl": jsonl,
    "events.json": text("[]"),
    "events.xls": text(HEADER + ROWS),
    "events": text(HEADER + ROWS),
    "pipe.csv": os.mkfifo,
    "pipe.parquet": os.mkfifo,
    "pipe.arrow": os.mkfifo,
    "loop.csv": lambda path: path.symlink_to(path.name),
    "gone.csv": lambda path: path.symlink_to("nowhere.csv"),
    "folder.csv": Path.mkdir,
    "two\nlines.csv": text("a\n1\n"),
}
TOLD = {
    "pipe.csv": "is neither a file nor a folder but a pipe or a device; give a plain file",
    "gone.csv": "does not exist; it is a link to something that is gone",
    "loop.csv": "Cannot use loop.csv (Too many levels of symbolic links)",
    "folder.csv": "is a folder, but not one written by EventStream.save",
    "two\nlines.csv": "two\\nlines.csv has no column with a usual name",
    "one-time.csv": "distinct times",
}


def readers(data: str, *options: str) -> list[tuple[str, ...]]:
    """Every way to have events read; `data info` is tried with each file, the others in turn."""
    columns = tuple(f"{word}-column" if word in ("--src", "--dst", "--time") else word for word in options)
    return [
        ("evaluate", "edgebank", data, *options),
        ("train", "keat-tgn", data, *TGN, "--out", "new", *options),
        ("analyze", "moments", data, *options),
        ("analyze", "attention", "run", "--data", data, *options),
        ("explain", "run", data, "--event", "3", *columns),
        ("evaluate", "run", data, *options),
        ("evaluate", "heuristics", data, "--json", *options),
        ("update", "run", data),
    ]


def made(name: str, make: Callable[[Path], object]) -> Damage:
    return lambda folder: make(folder / name)


def _files() -> Iterator[Bad]:
    turn = cycle(range(8))
    for name, make in FILES.items():
        yield Bad(("data", "info", name), made(name, make), TOLD.get(name, ""))
        yield Bad(readers(name)[next(turn)], made(name, make))


# -- columns of a file that is good ------------------------------------------------------------------

COLUMNS: list[tuple[tuple[str, ...], str]] = [
    (("--src", "customer", "--dst", "shop"), "no column with a usual name"),
    (("--src", "custmer", "--dst", "shop", "--time", "when"), "did you mean 'customer'"),
    (("--src", "customer", "--dst", "customer", "--time", "when"), "given twice"),
    (("--src", "", "--dst", "shop", "--time", "when"), ""),
    (("--src", "amount", "--dst", "shop", "--time", "when"), "ids"),
    (("--src", "customer", "--dst", "shop", "--time", "shop"), "given twice"),
    (("--src", "customer", "--dst", "amount", "--time", "shop"), ""),
    ((*ORDERS, "--features", "nope"), "no column 'nope'"),
    ((*ORDERS, "--features", "amount,amount"), "given twice"),
    ((*ORDERS, "--features", "amount,"), ""),
    ((*ORDERS, "--features", "shop"), ""),
    ((*ORDERS, "--features", ""), ""),
    ((*ORDERS, "--features", "nowhere.npy"), "does not exist"),
    ((*ORDERS, "--features", "saved/t.npy"), ""),
    ((*ORDERS, "--features", f"{LONG}.npy"), "File name too long"),
    ((*ORDERS, "--unit", "fortnight"), "Unknown time unit"),
    ((*ORDERS, "--unit", "year"), "not 'year'"),
    ((*ORDERS, "--unit", ""), "Unknown time unit"),
]
MATRICES: dict[str, Any] = {
    "of-text": np.array([["a"]] * 400),
    "too-short": np.ones((3, 1)),
    "flat": np.ones(3),
    "three": np.ones((400, 1, 1)),
    "nan": np.full((400, 1), np.nan),
    "inf": np.full((400, 1), np.inf),
    "objects": np.array([[None]] * 400),
    "complex": np.ones((400, 1), dtype=complex),
    "huge": np.full((400, 1), 1e300),
}


def matrix(array: Any) -> Callable[[Path], object]:
    return lambda path: np.save(path, array, allow_pickle=True)


def _columns() -> Iterator[Bad]:
    turn = cycle(range(3))
    for options, told in COLUMNS:
        yield Bad(("data", "info", "orders.csv", *options), told=told)
        yield Bad(readers("orders.csv", *options)[next(turn)], told=told)
    for name, array in MATRICES.items():
        damage = made(f"{name}.npy", matrix(array))
        yield Bad(("data", "info", "orders.csv", *ORDERS, "--features", f"{name}.npy"), damage)
    for name in ("text", "pipe"):
        damage = made(f"{name}.npy", text("junk") if name == "text" else os.mkfifo)
        yield Bad(("data", "info", "orders.csv", *ORDERS, "--features", f"{name}.npy"), damage)
    for column in ("shop", "when", "nope", "customer", ""):
        yield Bad(("train", "tgn", "orders.csv", *ORDERS, "--label", column, "--out", "new"))


# -- odd events that can be used ---------------------------------------------------------------------

ODD: dict[str, Callable[[Path], object]] = {
    "zero.csv": text(HEADER + "a\0,b,1\n" + ROWS),
    "unsorted.csv": text(HEADER + "".join(f"a{k % 5},b{k % 3},{60 - k}\n" for k in range(60))),
    "self.csv": text(HEADER + "".join(f"a{k % 5},a{k % 5},{k}\n" for k in range(60))),
    "mark.csv": text("\ufeff" + HEADER + ROWS),
    "windows.csv": text((HEADER + ROWS).replace("\n", "\r\n")),
    "blanks.csv": text((HEADER + ROWS).replace(",", " , ")),
    "numbers.csv": text(HEADER + "".join(f"00{k % 5},{k % 5},{k}\n" for k in range(60))),
    "nulls.csv": text(HEADER + "".join(f"NULL,{k % 5},{k}\n" for k in range(60))),
    "markup.csv": text(HEADER + "".join(f"[/b]{k % 5},$x_{k % 5}$:x:,{k}\n" for k in range(60))),
    "days.csv": text(HEADER + "".join(f"a{k % 5},b{k % 4},202401{k % 28 + 1:02}\n" for k in range(60))),
    "strangers.csv": text(HEADER + "".join(f"a{k},b{k},{k}\n" for k in range(60))),
    "huge.csv": text(HEADER + "".join(f"a{k % 5},b{k % 4},{2**62 + k}\n" for k in range(60))),
    "apart.csv": text(HEADER + "".join(f"a{k % 5},b{k % 4},{k * 10**17}\n" for k in range(60))),
    "letters.csv": text(HEADER + "".join(f"{'é日🙂'[k % 3] * 200},b{k % 4},{k}\n" for k in range(60))),
}


def _odd() -> Iterator[Bad]:
    for name, make in ODD.items():
        for words in (("data", "info", name), readers(name)[0], readers(name)[2]):
            if (name, words[1]) != ("strangers.csv", "moments"):
                yield Bad(words, made(name, make))
    yield Bad(("data", "info", "orders.csv", "--src", "when", "--dst", "shop", "--time", "amount"))


STRANGERS = Bad(
    ("analyze", "moments", "strangers.csv"), made("strangers.csv", ODD["strangers.csv"]), "no gaps"
)
EVENTS: list[Bad] = [*_files(), *_columns(), STRANGERS]
ODD_EVENTS: list[Bad] = list(_odd())
