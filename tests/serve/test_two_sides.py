"""Runs whose nodes are texts on two sides, with times in milliseconds: names, newcomers, files."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keat
from keat.errors import InputError
from keat.serve.engine import Engine
from keat.serve.events import Event
from keat.serve.sealing import seal

LAST = 1_717_200_000_000  # ms
LONG = "long" * 75  # the name of a node of the run, longer than those of newcomers may be


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(3)
    times = np.sort(rng.integers(LAST - 10**9, LAST, 300))
    table = pa.table(
        {
            "user": [LONG if number == 0 else f"{number} 'x' & co" for number in rng.integers(0, 12, 300)],
            "item": [str(number) for number in rng.integers(0, 9, 300)],
            "time": pa.array(times).cast(pa.timestamp("ms")),
        }
    )
    run = tmp_path_factory.mktemp("sides") / "run"
    keat.train("keat-rank", table, out=run, src="user", dst="item", bipartite=True, epochs=1, hidden=8)
    return run


def test_a_node_of_the_run_may_have_a_longer_name_than_newcomers(trained: Path, tmp_path: Path) -> None:
    engine = Engine(shutil.copytree(trained, tmp_path / "run"), "process")
    known = len(engine.ids)
    (answer,) = engine.take([engine.checker.event(Event(LONG, "5", LAST + 10**8))])
    assert answer.seq == 1
    assert len(engine.ids) == known
    with pytest.raises(InputError, match="A new node's name has at most 256 characters"):
        engine.checker.event(Event(LONG + "x", "5", LAST + 10**8))


def test_one_label_on_two_sides_is_two_nodes(trained: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    engine = Engine(run, "process")
    known = len(engine.ids)
    sent = [
        Event("5", "new", "2024-06-01T10:00:00.250Z"),
        Event("new", "5", LAST + 10**8),
        Event("new", "new", LAST + 10**8 + 1),
        Event("<script>", "5", LAST + 10**8 + 2),
    ]
    answers = engine.take([engine.checker.event(event) for event in sent])
    assert [answer.seq for answer in answers] == [1, 2, 3, 4]
    assert len(engine.ids) == known + 4  # "5" as a source, "new" on both sides, and one more
    assert engine.ids.find("new", 0) != engine.ids.find("new", 1)
    rows = [row for _, row in engine.log.rows()]
    assert [newcomer for row in rows for newcomer in row.newcomers] == [
        ("5", 0),
        ("new", 1),
        ("new", 0),
        ("<script>", 0),
    ]
    ranking = engine.judge.rank("new", ["5", "new", "nobody"], None, 3, 4)
    assert {one.destination for one in ranking.destinations} == {"5", "new", "nobody"}
    digest = engine.digest()
    engine.snapshot()
    engine.close()
    again = Engine(run, "process")
    assert again.digest() == digest
    assert again.ids.labels[known:] == ["5", "new", "new", "<script>"]
    again.close()
    assert seal(run, tmp_path / "log.parquet") == 4
    table = pq.read_table(tmp_path / "log.parquet")
    assert table["source"].to_pylist() == ["5", "new", "new", "<script>"]
    data = keat.load(str(tmp_path / "log.parquet"), bipartite=True)
    assert data.stream.unit == "ms"
    assert data.stream.t.tolist() == [1_717_236_000_250, LAST + 10**8, LAST + 10**8 + 1, LAST + 10**8 + 2]


def test_names_that_cannot_be(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "run")
    engine = Engine(tmp_path / "run", "process")
    for name, said in (("", "empty"), ("  ", "empty"), ("x" * 257, "at most 256 characters")):
        with pytest.raises(InputError, match=said):
            engine.checker.event(Event(name, "5", LAST))
    assert engine.checker.event(Event(7, "5", LAST)).source == "7"
