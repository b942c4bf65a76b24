"""What those who watch a service are told: once a second, the same for all, and never more than they take."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_requests import EVENT
from live_runs import checked, later_events, live_run
from running import Running, running

from keat.serve.batching import Batcher
from keat.serve.engine import Engine
from keat.serve.latest_events import KEPT, SHOWN, Naming
from keat.serve.live_feed import LiveFeed
from keat.serve.log_records import Settings
from keat.serve.pulse import KEPT as SECONDS_KEPT
from keat.serve.pulse import STEPS, Pulse, quantile
from keat.serve.service_metrics import Metrics

HOSTILE = '<img src=x onerror="alert(1)">\n\ndata: {}'


@contextmanager
def watching(service: Running) -> Iterator[Iterator[tuple[str, Any]]]:
    """What the service tells, by kind."""
    with (
        socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection,
        connection.makefile("rb") as lines,
    ):
        connection.sendall(b"GET /v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n")

        def told() -> Iterator[tuple[str, Any]]:
            kind = ""
            for line in lines:
                if line.startswith(b"event: "):
                    kind = line[7:].decode().strip()
                elif line.startswith(b"data: "):
                    yield kind, json.loads(line[6:])

        yield told()


def test_it_tells_how_the_service_is(tmp_path: Path) -> None:
    with running(live_run("keat-rank", tmp_path)) as service:
        body = [EVENT | {"time": EVENT["time"] + place} for place in range(30)]
        answers = service.post("/v1/events", body).json
        with watching(service) as told:
            kind, begin = next(told)
            assert kind == "begin"
            assert begin["kind"] == "keat-rank"
            kind, now = next(told)
            assert kind == "now"
            assert now["seq"] == 30
            assert now["model"] == service.engine.served.fingerprint
            assert [one["seq"] for one in now["latest"]] == [*range(30, 30 - SHOWN, -1)]
            assert now["latest"][0]["logit"] == pytest.approx(answers[-1]["logit"])
            assert now["latest"][0]["source"] == str(EVENT["source"])
            assert sum(now["scores"]["counts"]) == 30
            assert [one["name"] for one in now["drift"]] == ["gaps", "scores", "loss"]
            assert now["alerts"]["in_all"] == len(service.engine.watch.latest)
            service.post("/v1/events", EVENT | {"time": EVENT["time"] + 40})
            rates = []
            for _ in range(3):
                kind, now = next(told)
                assert kind == "now"
                rates.append(now["second"][1])
            assert now["seq"] == 31
            assert now["watchers"] == 1
            assert now["second"][2] > 0  # the median of what requests took
            assert sum(rate > 0 for rate in rates) <= 2


def test_watchers_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keat.serve.watchers.MOST", 2)
    with running(live_run("keat-rank", tmp_path)) as service:
        with watching(service) as one, watching(service) as two:
            assert next(one)[0] == next(two)[0] == "begin"
            refused = service.ask("GET", "/v1/live")
            assert refused.status == 503
            assert "watching already" in refused.json["error"]
        for _ in range(100):  # those who left make room
            text = service.ask("GET", "/metrics").body.decode()
            if "keat_pages_open 0\n" in text:
                break
            time.sleep(0.1)
        assert "keat_pages_open 0\n" in text


def test_those_who_watch_do_not_keep_the_service_from_stopping(tmp_path: Path) -> None:
    with ExitStack() as still_open:
        with running(live_run("keat-rank", tmp_path)) as service:
            told = still_open.enter_context(watching(service))
            assert next(told)[0] == "begin"
            stopping = time.monotonic()
        assert time.monotonic() - stopping < 25  # less than answers on their way would be waited for
        assert all(kind == "now" for kind, _ in told)  # and then they end


def test_a_slow_watcher_loses_the_oldest_and_is_told(engine: Engine) -> None:
    async def slow() -> list[bytes]:
        feed = LiveFeed(engine, Batcher(engine), Metrics())
        response: Any = await feed.live(None)  # type: ignore[arg-type]
        for _ in range(400):
            feed.tick()
        feed.watchers.close()
        return [part async for part in response.body_iterator]

    parts = asyncio.run(slow())
    kinds = [part.split(b"\n")[0] for part in parts if part.startswith(b"event")]
    assert kinds[:3] == [b"event: begin", b"event: now", b"event: lost"]
    lost = json.loads(parts[3].split(b"data: ")[1])["lost"]
    assert lost + len(kinds) - 3 == 400


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = Engine(live_run("keat-rank", tmp_path_factory.mktemp("feed")), "process", settings=Settings(50))
    engine.take(checked(engine, later_events(engine, 50)))
    yield engine
    engine.close()


def test_the_latest_events_are_those_of_the_log_after_a_restart(engine: Engine) -> None:
    naming = Naming(engine.ids, engine.served.run.unit, engine.models)
    before = engine.latest.shown(naming)
    again = Engine(engine.served.run.folder, write=False)
    feed = LiveFeed(again, Batcher(again), Metrics())
    assert [one.seq for one in before] == [*range(50, 50 - SHOWN, -1)]
    assert feed.moment().latest == before
    assert feed.moment().scores == engine.latest.scores()
    again.close()


def test_the_latest_alerts_are_those_of_the_log(engine: Engine) -> None:
    naming = Naming(engine.ids, engine.served.run.unit, engine.models)
    written = [first + place for first, row in engine.log.rows() for place in row.alerts]
    assert written
    assert [one.seq for one in engine.latest.alerts(naming)] == written[::-1][:SHOWN]


def test_only_so_many_events_are_kept(engine: Engine) -> None:
    for _ in range(5):
        events = later_events(engine, KEPT // 4, seed=1)
        for event in events:
            event.id = None
        engine.take(checked(engine, events))
    scores = engine.latest.scores()
    assert scores is not None
    assert KEPT <= sum(scores.counts) < KEPT + 256


def test_the_histogram_for_prometheus_counts_every_score(engine: Engine) -> None:
    lines = dict(line.rsplit(" ", 1) for line in engine.latest.metric().splitlines() if line[0] != "#")
    logits = np.concatenate([np.frombuffer(row.logits, "<f4") for _, row in engine.log.rows()])
    for bound in (-5, 0, 2):
        assert int(lines[f'keat_score_bucket{{le="{bound}"}}']) == np.count_nonzero(logits <= bound)
    assert int(lines["keat_score_count"]) == len(logits)
    assert float(lines["keat_score_sum"]) == pytest.approx(float(logits.sum(dtype=np.float64)), abs=1e-3)


def test_quantiles_are_right_to_five_percent() -> None:
    rng = np.random.default_rng(3)
    pulse, took = Pulse(), np.exp(rng.normal(-6, 1.2, 5_000))
    for seconds in took:
        pulse.took(float(seconds))
    second = pulse.tick(1.0, 100.0, 5_000, 7)
    assert second.p50 == pytest.approx(float(np.quantile(took, 0.5)), rel=0.05)
    assert second.p99 == pytest.approx(float(np.quantile(took, 0.99)), rel=0.05)
    assert quantile([0] * STEPS, 0.5) is None
    pulse.took(0.0)
    pulse.took(1e9)  # beyond the scale at either end


def test_a_pulse_forgets() -> None:
    pulse = Pulse()
    for number in range(2 * SECONDS_KEPT):
        pulse.tick(float(number), float(number), 10 * number, 0)
    assert len(pulse.past) == SECONDS_KEPT
    assert {round(second.events) for second in pulse.past} == {10}
    assert pulse.past[-1].p99 is None
