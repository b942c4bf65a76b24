"""Alerts of a service: in the log, the same after a restart, streamed, resumed, and judged by late labels."""

from __future__ import annotations

import asyncio
import http.client
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_runs import checked, live_run
from running import running

from keat.serve.alerts import alerts_after
from keat.serve.client import Client
from keat.serve.engine import Engine
from keat.serve.events import Event
from keat.serve.label_taking import look_at_labels, tell
from keat.serve.late_truth import wilson
from keat.serve.log_records import Settings
from keat.serve.log_rows import columns_of, logits_of
from keat.serve.watchers import MOST_WAITING, Sent, Watcher

HOUR = 3_600
FEW = Settings(alerts=4)


def hours_of(engine: Engine, number: int, seed: int = 0) -> list[Event]:
    """Events over some hours; some pairs are unheard of."""
    rng = np.random.default_rng(seed)
    t = engine.state.last_time + np.sort(rng.integers(1, 6 * HOUR, number))
    names = engine.served.features.names
    return [
        Event(
            int(rng.integers(0, 40)),
            int(rng.integers(40, 80)),
            int(time),
            id=f"event {place}" if seed == 0 else None,
            features={name: float(rng.normal()) for name in names} or None,
        )
        for place, time in enumerate(t)
    ]


def alerts_of(engine: Engine) -> list[int]:
    return [first + place for first, row in engine.log.rows() for place in row.alerts]


@pytest.mark.parametrize("name", ["keat-rank", "fraud"])
def test_alerts_are_in_the_log_and_a_replay_gives_the_same(name: str, tmp_path: Path) -> None:
    run = live_run(name, tmp_path)
    engine = Engine(run, "process", settings=FEW)
    events = checked(engine, hours_of(engine, 200))
    engine.take(events[:90])
    engine.snapshot()
    engine.take(events[90:150])
    engine.close()
    engine = Engine(run, "process", settings=FEW)  # a snapshot, and rows after it
    assert len(engine.log.records()) == 1
    for start in range(150, 200, 7):
        engine.take(events[start : start + 7])
    found = alerts_of(engine)
    rows = [*engine.log.rows()]
    t, logits = columns_of([row for _, row in rows]).t, np.concatenate([logits_of(row) for _, row in rows])
    watch = engine.served.watch()
    watch.told(FEW)
    assert found == [1 + place for place in watch.decide(t, logits)]
    assert len(found) >= 10
    assert list(engine.watch.latest) == found
    assert [alert.seq for alert in alerts_after(engine, 0)] == found
    chosen = np.isin(np.arange(1, 201), found)
    unusual = logits if name == "fraud" else -logits
    assert unusual[chosen].mean() > unusual[~chosen].mean()
    kept = engine.watch.kept()
    digest = engine.digest()
    engine.close()
    for snapshot in (run / "live").glob("snapshot-*"):
        snapshot.unlink()
    again = Engine(run, "process", settings=FEW)
    assert again.watch.kept() == kept
    assert again.digest() == digest


def test_another_budget_is_a_record_of_the_log(tmp_path: Path) -> None:
    run = live_run("keat-rank", tmp_path)
    for number, settings in enumerate([Settings(3), Settings(3), Settings(0), Settings(9)]):
        engine = Engine(run, "process", settings=settings)
        engine.take(checked(engine, hours_of(engine, 10, 1 + number)))
        engine.close()
    engine = Engine(run, "process")
    found = [(one.after, one.record) for one in engine.log.records()]
    assert found == [(0, Settings(3)), (20, Settings(0)), (30, Settings(9))]
    assert engine.watch.settings == Settings(9)
    for number in range(1, engine.log.tail.event + 1):
        first, row = engine.log.row_of(number)
        assert first <= number < first + len(row)
    with_records = [*engine.log.entries()]
    assert len(with_records) == 3 + len([*engine.log.rows()])


def test_labels_that_come_late_judge_the_alerts(tmp_path: Path) -> None:
    run = live_run("fraud", tmp_path)
    engine = Engine(run, "process", settings=FEW)
    engine.take(checked(engine, hours_of(engine, 200)))
    found = alerts_of(engine)
    columns = columns_of([row for _, row in engine.log.rows()])
    missed = next(seq for seq in range(1, 200) if seq not in found)
    labels = {seq: float(place % 2) for place, seq in enumerate(found)} | {missed: 1.0}
    tell(engine, [(seq, 0.0, 1) for seq in labels])
    while look_at_labels(engine):
        pass
    assert engine.truth.report().precision == 0
    tell(engine, [(seq, label, 1) for seq, label in labels.items()])
    while look_at_labels(engine):
        pass
    report = engine.truth.report()
    right = len(found) // 2
    assert (report.labels, report.positive) == (len(found) + 1, right + 1)
    assert (report.alerts_labelled, report.alerts_right) == (len(found), right)
    assert report.precision == right / len(found)
    assert report.found == right / (right + 1)
    begun: dict[int, int] = {}
    caught: dict[int, int] = {}
    for seq in sorted(seq for seq, label in labels.items() if label):
        source, t = int(columns.src[seq - 1]), int(columns.t[seq - 1])
        begun.setdefault(source, t)
        if seq in found:
            caught.setdefault(source, t)
    assert report.seconds_to_detection == np.median([t - begun[source] for source, t in caught.items()])
    assert (report.sources_positive, report.sources_found) == (len(begun), len(caught))
    loss = engine.watch.drift.report(0).measures[2]
    assert (loss.name, loss.usual_events) == ("loss", 2 * len(labels))
    engine.close()
    again = Engine(run, "process")
    while look_at_labels(again):
        pass
    assert again.truth.report() == report


def test_an_interval_of_a_share() -> None:
    assert wilson(0, 0) == (None, None)
    low, high = wilson(8, 10)
    assert low == pytest.approx(0.4902, abs=1e-4)
    assert high == pytest.approx(0.9433, abs=1e-4)


def read_alerts(address: str, after: int, number: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    with Client(address) as client:
        for alert in client.alerts(after):
            found.append(alert)
            if len(found) == number:
                break
    return found


def test_alerts_are_streamed_and_resumed(tmp_path: Path) -> None:
    with running(live_run("keat-rank", tmp_path)) as service:
        events = [
            {"source": one.source, "destination": one.destination, "time": one.time, "id": one.id}
            for one in hours_of(service.engine, 120)
        ]
        with Client(service.address) as client:
            assert client.state()["alerts"]["a_hour"] == 50
            client.events(events[:100])
            numbers = client.state()["alerts"]["latest"]
            assert len(numbers) >= 5
            watching = Client(service.address).alerts(after=numbers[-3])
            assert [next(watching)["seq"] for _ in range(2)] == numbers[-2:]
            answers = {one["seq"]: one for one in client.events(events[100:])}
            later = client.state()["alerts"]["latest"]
            new = [seq for seq in later if seq > 100]
            live = [next(watching) for _ in new]
            assert [one["seq"] for one in live] == new
            for one in live:
                assert one["logit"] == answers[one["seq"]]["logit"]
                assert one["id"] == f"event {one['seq'] - 1}"
                assert events[one["seq"] - 1]["source"] == one["source"]
            watching.close()
        every = [alert.seq for alert in alerts_after(service.engine, 0)]
        assert [one["seq"] for one in read_alerts(service.address, 0, len(every))] == every
        state = service.ask("GET", "/v1/state").json
        assert state["seq"] == 120
        assert state["alerts"]["in_all"] == len(every)
        assert [one["name"] for one in state["drift"]["measures"]] == ["gaps", "scores", "loss"]
        assert service.ask("GET", "/v1/drift").json == state["drift"]
        text = service.ask("GET", "/metrics").body.decode()
        assert f"keat_alerts_total {len(every)}\n" in text
        told = service.post("/v1/labels", [{"seq": every[0], "label": 1}, {"seq": every[1], "label": 0}])
        assert told.json == {"told": 2}
        assert service.ask("GET", "/v1/state").json["alerts"]["truth"]["precision"] == 0.5
        assert "keat_alert_precision 0.5\n" in service.ask("GET", "/metrics").body.decode()


def test_those_who_watch_do_not_hold_up_the_end(tmp_path: Path) -> None:
    with running(live_run("keat-rank", tmp_path)) as service:
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
        connection.request("GET", "/v1/alerts")
        watching = connection.getresponse()
        assert watching.readline() == b": watching\n"
    assert watching.read() == b"\n"  # leaving the block stopped the service, which ended the answer
    connection.close()


def test_a_slow_watcher_loses_the_oldest_and_is_told() -> None:
    async def watched() -> list[bytes]:
        watcher = Watcher([Sent("alert", 0, b"0")])
        for number in range(1, MOST_WAITING + 11):
            watcher.tell(Sent("alert", number, b"%d" % number))
        watcher.close()
        return [part async for part in watcher.parts()]

    parts = asyncio.run(watched())
    assert parts[1] == b"id: 0\nevent: alert\ndata: 0\n\n"
    assert parts[2].startswith(b"event: lost\n")
    assert json.loads(parts[2].split(b"data: ")[1]) == {
        "lost": 10,
        "sentence": "10 were lost, for they were read too slowly.",
    }
    assert parts[3] == b"id: 11\nevent: alert\ndata: 11\n\n"
    assert len(parts) == 3 + MOST_WAITING
