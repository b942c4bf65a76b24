"""Saved streams and whole graphs that are damaged: each file of them, and what is in it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from bad_events import LONG, made, readers
from bad_runs import file_damages, hurt, within
from workplace import Bad, Damage

from damaged_streams import array, meta, value

# -- saved streams -----------------------------------------------------------------------------------

NPY = 0x0C  # a byte of its header
STREAM_FILES = {
    "src.npy": NPY,
    "dst.npy": NPY,
    "t.npy": NPY,
    "features.npy": NPY,
    "ids.parquet": -6,
    "stream.json": 0,
}


STREAMS: dict[str, Damage] = {
    "a node too large": value("src", 7, 10**6),
    "a node below zero": value("dst", 7, -1),
    "times backwards": array("t", lambda t: t[::-1].copy()),
    "a time below zero": array("t", lambda t: t - t[-1]),
    "NaN": value("features", 7, np.nan),
    "infinite": value("features", 7, np.inf),
    "int64 nodes": array("src", lambda a: a.astype("i8")),
    "float nodes": array("dst", lambda a: a.astype("f4")),
    "big-endian nodes": array("src", lambda a: a.astype(">i4")),
    "objects": array("src", lambda a: a.astype(object)),
    "float times": array("t", lambda a: a.astype("f8")),
    "a time": array("t", lambda a: a[0]),
    "a row less": array("dst", lambda a: a[:-1]),
    "flat features": array("features", lambda a: a[:, 0].copy()),
    "more nodes": meta(num_nodes=10**9),
    "fewer nodes": meta(num_nodes=3),
    "nodes as text": meta(num_nodes="43"),
    "an unknown unit": meta(unit="fortnight"),
    "a name that is a number": meta(name=7),
    "another format": meta(format=99),
    "a format that is text": meta(format="1"),
    "no columns": meta(columns=[]),
    "columns elsewhere": meta(columns=["src", "dst", "t", "../../../etc/passwd"]),
    "columns as text": meta(columns="src"),
    "ids unsaid": meta(ids="yes"),
}


def _streams() -> Iterator[Bad]:
    asked = [("data", "info", "saved"), readers("saved")[1], readers("saved")[0]]
    for file, flipped in STREAM_FILES.items():
        for what, damage in file_damages(flipped).items():
            for words in asked:
                yield Bad(words, hurt("saved", file, damage), name=f"{file}: {what}")
    for what, change in STREAMS.items():
        yield Bad(("data", "info", "saved"), within("saved", change), name=what)
    yield Bad(("data", "info", "saved", "--src", "u"), told="whose columns are settled")


# -- graphs ------------------------------------------------------------------------------------------


def graph(**changes: Any) -> Damage:
    """Another array in place of one; None for none."""

    def damage(folder: Path) -> None:
        with np.load(folder / "graph.npz") as file:
            arrays = dict(file) | changes
        np.savez(folder / "graph.npz", **{name: a for name, a in arrays.items() if a is not None})

    return damage


GRAPHS: dict[str, Damage] = {
    **{
        what: made("graph.npz", damage)
        for what, damage in file_damages(-20).items()  # within the directory at its end
    },
    **{f"no {name}": graph(**{name: None}) for name in ("x", "y", "edge_index", "edge_timestamp")},
    "no mask": graph(train_mask=None),
    "a mask of nobody": graph(train_mask=np.array([10**6])),
    "a mask of fractions": graph(valid_mask=np.array([0.5])),
    "an empty mask": graph(test_mask=np.array([], dtype=np.int64)),
    "nodes beyond": graph(edge_index=np.array([[0, 10**6]])),
    "labels of text": graph(y=np.array(["a"] * 600)),
    "labels of one class": graph(y=np.zeros(600, dtype=np.int64)),
    "features of text": graph(x=np.array([["a"]] * 600)),
    "features that are NaN": graph(x=np.full((600, 17), np.nan)),
    "other features": graph(x=np.ones((600, 3))),
    "times of another length": graph(edge_timestamp=np.arange(3)),
    "times below zero": graph(edge_timestamp=np.full(600, -5)),
    "objects": graph(y=np.array([None] * 600)),
}


def _graphs() -> Iterator[Bad]:
    turn = cycle(
        [
            ("train", "gearsage", "graph.npz", "--out", "new", "--epochs", "1"),
            ("evaluate", "graphs", "graph.npz"),
            ("predict", "graphs", "--graph", "graph.npz"),
        ]
    )
    for what, damage in GRAPHS.items():
        yield Bad(next(turn), damage, name=what)
    for source in ("orders.csv", "nowhere.npz", "saved", "", f"{LONG}.npz", "tgbl-wiki"):
        yield Bad(("train", "gearsage", source, "--out", "new"))
        yield Bad(("evaluate", "graphs", source))


STREAMS_AND_GRAPHS: list[Bad] = [*_streams(), *_graphs()]
