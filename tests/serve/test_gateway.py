"""Over HTTP: answers, refusals in one sentence, who may come in, and what happens when there is too much."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest
from bad_requests import BAD, EVENT, LINES, Bad
from live_runs import later_events, live_run
from running import Running, running

from keat.errors import InputError, KeatError
from keat.serve.batching import Batcher, BusyError
from keat.serve.client import Client, ServiceError
from keat.serve.door import require_closed
from keat.serve.engine import Engine
from keat.serve.limits import Limits
from keat.serve.live_state import LiveState
from keat.serve.log import Durability, LogDamagedError
from keat.serve.state_snapshots import last_event_of_newest

TOKEN = "a token that nobody guesses"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    limits = Limits(body=65_536, events=1_000, pairs=500, new_ids=500)
    with running(live_run("keat-rank", tmp_path_factory.mktemp("service")), limits=limits) as service:
        assert service.post("/v1/events", EVENT | {"id": "taken"}).json["seq"] == 1
        yield service


@pytest.mark.parametrize("name", BAD)
def test_a_bad_request_is_told_what_is_wrong(name: str, service: Running) -> None:
    bad: Bad = BAD[name]
    before = service.engine.log.tail
    reply = service.ask(bad.method, bad.path, bad.body, bad.headers)
    assert reply.status == bad.status, reply.body
    assert list(reply.json) == ["error"]
    sentence = reply.json["error"]
    assert bad.says in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert ("retry-after" in reply.headers) == (bad.status in (429, 503))
    assert "access-control-allow-origin" not in reply.headers
    assert reply.headers["content-security-policy"].startswith("default-src 'none'")
    assert service.engine.log.tail == before


def test_there_are_many_bad_requests() -> None:
    assert len(BAD) >= 60


def test_events_in_every_form(service: Running) -> None:
    one = service.post("/v1/events", EVENT | {"time": 1_711_000_010, "id": "one"})
    assert one.status == 200
    assert one.json["model"] == service.engine.served.fingerprint
    several = service.post("/v1/events", [EVENT | {"time": 1_711_000_011}, EVENT | {"time": 1_711_000_012}])
    assert [answer["seq"] for answer in several.json] == [one.json["seq"] + 1, one.json["seq"] + 2]
    lines = "".join(json.dumps(EVENT | {"time": 1_711_000_013 + place}) + "\n" for place in range(700))
    reply = service.ask("POST", "/v1/events", lines, LINES)
    assert reply.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(line)["seq"] for line in reply.body.splitlines()] == [
        several.json[-1]["seq"] + place for place in range(1, 701)
    ]
    again = service.post("/v1/events", EVENT | {"time": 1_711_000_010, "id": "one"})
    assert again.json == one.json | {"again": True}


def test_a_date_is_a_time(service: Running) -> None:
    reply = service.post("/v1/events", EVENT | {"time": "2024-03-25T12:00:00Z"})
    assert reply.status == 200
    assert service.engine.state.last_time == 1_711_368_000


def test_questions_over_http(service: Running) -> None:
    pair = service.post("/v1/score?reasons=true", {"source": 3, "destination": 44}).json
    assert pair["time"] == service.engine.state.last_time + 1
    assert len(pair["reasons"]) <= 3
    several = service.post("/v1/score", [{"source": 3, "destination": 44}, {"source": 3, "destination": 45}])
    assert several.json["pairs"][0]["logit"] == pytest.approx(pair["logit"], abs=1e-6)
    ranking = service.post("/v1/rank", {"source": 3, "candidates": [44, 45, 123_456], "top": 2}).json
    assert ranking["candidates"] == 3
    assert [one["rank"] for one in ranking["destinations"]] == [1, 2]
    assert 0 < ranking["destinations"][0]["share"] <= 1
    assert service.post("/v1/labels", [{"seq": 1, "label": True}, {"id": "taken", "label": 0}]).json == {
        "told": 2
    }
    assert service.engine.log.labels() == {1: 0.0}


def test_why_an_event_was_scored_so(service: Running) -> None:
    asked = EVENT | {"time": service.engine.state.last_time + 5}
    answer = service.post("/v1/events?rank=true&reasons=true", asked).json
    service.post("/v1/events", asked | {"time": asked["time"] + 5})
    found = service.ask("GET", f"/v1/explain/{answer['seq']}").json
    assert found["logit"] == answer["logit"]
    assert found["explanation"]["score"] == pytest.approx(answer["logit"], abs=1e-6)
    assert found["explanation"]["rank"] == answer["rank"]
    assert found["reasons"] == answer["reasons"]
    assert found["why"].startswith("3 → 44 ")


def test_how_it_is(service: Running) -> None:
    assert service.ask("GET", "/healthz").json == {"alive": True}
    ready = service.ask("GET", "/readyz").json
    assert ready["seq"] == service.engine.log.tail.event
    text = service.ask("GET", "/metrics").body.decode()
    assert f"keat_log_last_event {ready['seq']}\n" in text
    assert 'keat_requests_total{path="/readyz",status="200"}' in text
    described = service.ask("GET", "/openapi.json").json
    assert described["openapi"].startswith("3.")
    schemas = described["components"]["schemas"]
    assert {"Event", "Pair", "RankQuestion", "Answer"} <= set(schemas)
    for name in schemas["Event"]["required"]:
        assert name in EVENT


def test_a_client(service: Running) -> None:
    last = service.engine.state.last_time
    with Client(service.address) as client:
        answer = client.event(3, 44, last + 1, id="from the client", reasons=True)
        assert client.event(3, 44, last + 1, id="from the client")["again"]
        assert client.events([{"source": 3, "destination": 44, "time": last + 2, "id": "c"}])[0]["seq"] > 1
        assert client.score(3, 44)["logit"]
        assert client.rank(3, [44, 45])["candidates"] == 2
        client.label(1, id="from the client")
        assert client.explain(answer["seq"])["seq"] == answer["seq"]
        assert client.ready()["ready"]
        with pytest.raises(ServiceError, match="whole numbers") as refused:
            client.score("a", 44)
        assert refused.value.status == 422


def test_another_address_needs_a_token() -> None:
    for host in ("0.0.0.0", "192.168.0.1", "::", "example.org", ""):
        with pytest.raises(InputError, match="give a token"):
            require_closed(host, None)
        require_closed(host, TOKEN)
    with pytest.raises(InputError, match="at least 16"):
        require_closed("127.0.0.1", "short")
    for host in ("127.0.0.1", "::1", "localhost"):
        require_closed(host, None)


def test_with_a_token(tmp_path: Path) -> None:
    with running(live_run("keat-rank", tmp_path), token=TOKEN) as service:
        plain = {"Content-Type": "application/json"}
        refused = service.ask("POST", "/v1/events", EVENT, plain)
        assert refused.status == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        for wrong in ("Bearer nothing", f"Basic {TOKEN}", f"Bearer {TOKEN} ", TOKEN):
            assert service.ask("GET", "/metrics", None, {"Authorization": wrong}).status in (401, 403)
        assert service.ask("GET", "/healthz", None, {}).status == 200
        assert (
            service.ask("POST", "/v1/events", EVENT, plain | {"Authorization": f"Bearer {TOKEN}"}).status
            == 200
        )
        with Client(service.address, token=TOKEN) as client:
            assert client.ready()["seq"] == 1


def test_a_full_queue_says_come_later(tmp_path: Path) -> None:
    """The engine is held up, so that requests wait; what was refused was not taken."""
    with running(live_run("keat-rank", tmp_path), most_queued=10) as service:
        held, first, commit = threading.Event(), threading.Event(), service.engine.commit
        service.engine.log.durability = "disk"  # commits in another thread, while requests come

        def slow_commit(prepared: object) -> None:
            first.set()
            held.wait(30)
            commit(prepared)  # type: ignore[arg-type]

        service.engine.commit = slow_commit  # type: ignore[method-assign]
        statuses: list[int] = []
        senders = [
            threading.Thread(target=lambda: statuses.append(service.post("/v1/events", [EVENT] * 6).status))
            for _ in range(6)
        ]
        senders[0].start()
        assert first.wait(30)
        for sender in senders[1:]:
            sender.start()
        for sender in senders[1:5]:
            sender.join(0.5)
        held.set()
        for sender in senders:
            sender.join()
        assert sorted(set(statuses)) == [200, 429]
        assert service.engine.log.tail.event == 6 * statuses.count(200)


def test_a_queue_that_overflowed_is_kept_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until nobody had to be refused for a second."""
    now = 100.0
    monkeypatch.setattr("keat.serve.batching.time", SimpleNamespace(monotonic=lambda: now))
    engine = Engine(live_run("keat-rank", tmp_path), "process")
    batcher = Batcher(engine, 4_096)

    def has_place(queued: int, events: int) -> bool:
        batcher.queued = queued
        try:
            batcher.require_place(events)
        except BusyError:
            return False
        return True

    assert has_place(4_000, 96)
    assert not has_place(4_000, 97)
    assert has_place(0, 20_000)  # none wait
    assert has_place(200, 56)
    assert not has_place(200, 57)
    now += 0.9
    assert not has_place(300, 1)
    now += 0.9
    assert not has_place(300, 1)
    now += 1.1
    assert has_place(4_000, 96)
    engine.close()


def test_a_full_disk_acknowledges_nothing(tmp_path: Path) -> None:
    run = live_run("keat-rank", tmp_path)
    with running(run) as service:
        assert service.post("/v1/events", EVENT | {"id": "before"}).status == 200
        digest = service.engine.digest()
        base = service.engine.log._base
        pages = base.pragma("page_count")
        base.pragma("max_page_count", pages)
        body = [EVENT | {"time": EVENT["time"] + place, "id": f"{'x' * 150} {place}"} for place in range(200)]
        refused = service.post("/v1/events", body)
        assert refused.status == 503
        assert "free some space" in refused.json["error"]
        assert service.ask("GET", "/readyz").status == 503
        assert service.engine.log.tail.event == 1
        assert service.engine.digest() == digest
        assert service.post("/v1/events", body).status == 503
        base.pragma("max_page_count", 1 << 30)
        taken = service.post("/v1/events", body)
        assert [answer["seq"] for answer in taken.json] == [*range(2, 202)]
        assert service.ask("GET", "/readyz").status == 200
        digest = service.engine.digest()
    assert Engine(run).digest() == digest


def test_a_client_that_goes_away_harms_nobody(service: Running) -> None:
    for sent in (
        b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
        b"\x00\xff",
        b"",
    ):
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(sent)
    assert service.ask("GET", "/readyz").status == 200


@pytest.mark.parametrize("durability", ["process", "disk"])
def test_many_clients_at_once(durability: Durability, tmp_path: Path) -> None:
    """Each event is taken once, whoever sends it and how often."""
    with running(live_run("keat-rank", tmp_path), durability) as service:
        events = later_events(service.engine, 40)
        sent: list[dict[str, Any]] = [
            {"source": one.source, "destination": one.destination, "time": one.time, "id": one.id}
            for one in events
        ]
        found: list[dict[str, float]] = []

        def send() -> None:
            with Client(service.address) as client:
                found.append({one["id"]: client.events([one])[0]["logit"] for one in sent})

        senders = [threading.Thread(target=send) for _ in range(4)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        assert all(answers == found[0] for answers in found)
        assert service.engine.log.tail.event == 40


def test_the_log_is_sqlite_that_others_can_read(service: Running) -> None:
    base = apsw.Connection(str(service.engine.log.path), flags=apsw.SQLITE_OPEN_READONLY)
    assert base.pragma("journal_mode") == "wal"
    assert base.pragma("integrity_check") == "ok"


def test_a_batch_that_cannot_be_scored_did_not_happen(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest, before = service.engine.digest(), service.engine.log.tail
    asked = EVENT | {"time": service.engine.state.last_time + 10, "source": 333_333}

    def no_number(*_: object) -> None:
        raise KeatError("A score is no number.")

    with monkeypatch.context() as patch:
        patch.setattr(LiveState, "score", no_number)
        refused = service.post("/v1/events", asked)
    assert refused.status == 422
    assert service.engine.log.tail == before
    assert service.engine.digest() == digest
    assert service.post("/v1/events", asked).json["seq"] == before.event + 1


def test_a_long_request_lets_others_in_between(tmp_path: Path) -> None:
    """Batches of the two take turns, and each has its answers in order."""
    with running(live_run("keat-rank", tmp_path)) as service:
        found: dict[str, Any] = {}

        def send(name: str, number: int) -> None:
            found[name] = service.post("/v1/events", [EVENT] * number).json

        senders = [threading.Thread(target=send, args=("long", 3_000))]
        senders += [threading.Thread(target=send, args=(f"short {place}", 2)) for place in range(3)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        numbers = [[answer["seq"] for answer in answers] for answers in found.values()]
        assert all(own == sorted(own) for own in numbers)
        assert sorted(number for own in numbers for number in own) == [*range(1, 3_007)]


def test_snapshots_are_taken_beside_the_service(tmp_path: Path) -> None:
    run = live_run("keat-rank", tmp_path)
    with running(run, snapshot_every=50) as service:
        service.post("/v1/events", [EVENT | {"time": EVENT["time"] + place} for place in range(60)])
        for _ in range(600):
            if last_event_of_newest(service.engine.folder) == 60:
                break
            time.sleep(0.1)
        assert last_event_of_newest(service.engine.folder) == 60
        digest = service.engine.digest()
    assert Engine(run).digest() == digest


def test_a_failure_after_the_commit_stops_nobody_else(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer of an event that was taken before cannot be read; it is said, and others are answered."""
    asked = EVENT | {"time": service.engine.state.last_time + 10, "id": "read again"}
    assert service.post("/v1/events", asked).status == 200

    def unreadable(*_: object) -> None:
        raise LogDamagedError("The row cannot be read.")

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "answer", unreadable)
        assert service.post("/v1/events", asked).status == 500
    assert service.post("/v1/events", asked).json["again"]


def test_a_state_that_is_lost_scores_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = live_run("keat-rank", tmp_path)

    def fails(*_: object) -> None:
        raise KeatError("It cannot be.")

    with running(run) as service:
        assert service.post("/v1/events", EVENT).status == 200
        with monkeypatch.context() as patch:
            patch.setattr(LiveState, "score", fails)
            patch.setattr(Engine, "take_back", fails)
            assert service.post("/v1/events", EVENT).status == 422
        pair = {"source": 3, "destination": 44}
        for path, body in (("/v1/events", EVENT), ("/v1/score", pair), ("/v1/rank", {"source": 3})):
            refused = service.post(path, body)
            assert refused.status == 503
            assert "start the service anew" in refused.json["error"]
        assert service.ask("GET", "/readyz").status == 503
    assert not [*(run / "live").glob("snapshot-*")]  # of a state that is not the log's
    assert Engine(run).log.tail.event == 1
