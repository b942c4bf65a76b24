"""Events from a pipe, and the log as a table that is trained on."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from live_runs import checked, later_events, live_run

import keat
from keat.errors import InputError
from keat.serve.engine import Engine
from keat.serve.events import Event
from keat.serve.micro_batch import Wanted
from keat.serve.pipe import pipe
from keat.serve.sealing import seal


def lines_of(events: list[Event]) -> bytes:
    every: list[dict[str, Any]] = [
        {"source": one.source, "destination": one.destination, "time": one.time, "id": one.id}
        for one in events
    ]
    return "".join(json.dumps(one) + "\n" for one in every).encode()


def through_pipe(engine: Engine, content: bytes, tmp_path: Path) -> tuple[int, list[Any]]:
    (tmp_path / "lines").write_bytes(content)
    answers = io.BytesIO()
    with (tmp_path / "lines").open("rb") as source:
        wrong = pipe(engine, source, answers, Wanted(), snapshot_every=100)
    return wrong, [json.loads(line) for line in answers.getvalue().splitlines()]


def test_every_line_has_an_answer(tmp_path: Path) -> None:
    engine = Engine(live_run("keat-rank", tmp_path / "a"))
    other = Engine(live_run("keat-rank", tmp_path / "b"))
    events = later_events(engine, 300)
    for event in events:
        event.features = None
    content = lines_of(events)
    wrong, answers = through_pipe(engine, content[:-1], tmp_path)  # the last line need not end
    assert wrong == 0
    expected = other.take(checked(other, events))
    assert [answer["seq"] for answer in answers] == [*range(1, 301)]
    for answer, one in zip(answers, expected, strict=True):
        assert answer["logit"] == pytest.approx(one.logit, abs=1e-6)
    assert engine.digest() == other.digest()
    assert len([*engine.folder.glob("snapshot-*")]) == 1
    wrong, again = through_pipe(engine, content, tmp_path)
    assert wrong == 0
    assert all(answer.pop("again") for answer in again)
    assert again == answers


def test_a_wrong_line_is_answered_with_what_is_wrong(tmp_path: Path) -> None:
    engine = Engine(live_run("keat-rank", tmp_path))
    good = later_events(engine, 2)
    for event in good:
        event.features = None
    lines = lines_of(good).splitlines(keepends=True)
    bad = [b"hello\n", b'{"source": 3}\n', b"\n", b'{"source": "a", "destination": 44, "time": 1711000000}\n']
    wrong, answers = through_pipe(engine, b"".join([lines[0], *bad, lines[1]]), tmp_path)
    assert wrong == 3
    assert [answer.get("seq") for answer in answers] == [1, None, None, None, 2]
    assert [answer["line"] for answer in answers[1:4]] == [2, 3, 4]
    assert all(answer["error"].endswith(".") for answer in answers[1:4])


@pytest.mark.parametrize("name", ["keat-rank", "keat-tgn"])
def test_a_sealed_log_is_trained_on(name: str, tmp_path: Path) -> None:
    run = live_run(name, tmp_path)
    engine = Engine(run)
    answers = engine.take(checked(engine, later_events(engine, 150)))
    engine.log.tell([(3, 1.0, 0), (5, 0.0, 0)])
    file = tmp_path / "log.parquet"
    assert seal(run, file) == 150  # while it is served
    table = pq.read_table(file)
    assert table["seq"].to_pylist() == [*range(1, 151)]
    assert table["logit"].to_pylist() == [answer.logit for answer in answers]
    assert [place for place, label in enumerate(table["label"].to_pylist(), 1) if label is not None] == [3, 5]
    data = keat.load(str(file))
    assert data.stream.unit == "s"
    assert len(data.stream) == 150
    assert data.stream.t[-1] == engine.state.last_time
    features = [] if name == "keat-rank" else engine.served.features.names
    trained = keat.train("keat-rank", str(file), out=tmp_path / "next", epochs=1, hidden=8, features=features)
    assert trained.events_seen == 150


def test_what_cannot_be_sealed_is_said(tmp_path: Path) -> None:
    run = live_run("keat-rank", tmp_path)
    with pytest.raises(InputError, match=r"end in \.parquet"):
        seal(run, tmp_path / "log.csv")
    with pytest.raises(InputError, match="has no log yet"):
        seal(run, tmp_path / "log.parquet")
    Engine(run).close()
    with pytest.raises(InputError, match="has no events yet"):
        seal(run, tmp_path / "log.parquet")


def test_the_command(tmp_path: Path) -> None:
    """`keat serve RUN < events.ndjson`, twice, and `keat serve RUN --seal FILE`, as one types them."""
    run = live_run("keat-rank", tmp_path)
    engine = Engine(run)
    events = later_events(engine, 40)
    engine.close()
    for event in events:
        event.features = None
    (tmp_path / "events.ndjson").write_bytes(lines_of(events))
    words = [sys.executable, "-m", "keat", "serve", str(run)]
    found = []
    for _ in range(2):
        with (tmp_path / "events.ndjson").open("rb") as source:
            done = subprocess.run(words, stdin=source, capture_output=True, check=True, env=os.environ)
        found.append([json.loads(line) for line in done.stdout.splitlines()])
    assert [answer["seq"] for answer in found[0]] == [*range(1, 41)]
    assert found[1] == [answer | {"again": True} for answer in found[0]]
    sealed = subprocess.run(
        [*words, "--seal", str(tmp_path / "log.parquet"), "--json"], capture_output=True, check=True
    )
    assert json.loads(sealed.stdout) == {"events": 40, "file": str(tmp_path / "log.parquet")}
