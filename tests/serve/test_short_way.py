"""The short way of an event gives the answers of the usual one, however requests arrive."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from live_runs import live_run
from running import Running, running

from keat.serve.batching import Batcher, BusyError
from keat.serve.short_way import ShortWay

USUAL = "X-Other: 1\r\n"  # a header that needs a closer look


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Bodies that went the short way."""
    found: list[bytes] = []
    take = ShortWay._take

    def watched(self: ShortWay, body: bytes, form: Any) -> bool:
        went = take(self, body, form)
        if went:
            found.append(body)
        return went

    monkeypatch.setattr(ShortWay, "_take", watched)
    return found


@pytest.fixture
def service(tmp_path: Path, taken: list[bytes]) -> Iterator[Running]:  # noqa: ARG001
    with running(live_run("keat-rank", tmp_path)) as found:
        yield found


def event(service: Running, number: int, **more: object) -> bytes:
    # Every event as of one time: none sees the other, so its score is the same whenever it is sent.
    about = {"source": 3, "destination": 44, "time": service.engine.state.last_time, "id": f"e{number}"}
    return json.dumps(about | more).encode()


def request(body: bytes, more: str = "", kind: str = "application/json", path: str = "/v1/events") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def replies(connection: socket.socket, number: int) -> list[tuple[int, set[str], bytes]]:
    """Status, headers but the date, and body of each."""
    content, found = b"", list[tuple[int, set[str], bytes]]()
    while len(found) < number:
        while b"\r\n\r\n" not in content:
            content += connection.recv(1 << 16)
        head, _, content = content.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        headers = {line.lower() for line in lines if not line.lower().startswith("date")}
        length = next(int(line.split(":")[1]) for line in headers if line.startswith("content-length"))
        while len(content) < length:
            content += connection.recv(1 << 16)
        found.append((int(status.split()[1]), headers, content[:length]))
        content = content[length:]
    return found


def connected(service: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), timeout=20)


def test_both_ways_answer_alike(service: Running, taken: list[bytes]) -> None:
    lines = b"\n".join(event(service, number) for number in (10, 11))
    bodies = [
        (event(service, 1), "application/json"),
        (b"[" + event(service, 2) + b"]", "application/json"),
        (lines, "application/x-ndjson"),
    ]
    with connected(service) as connection:
        for place, (body, kind) in enumerate(bodies):
            other = body.replace(b'"e', b'"f')
            connection.sendall(request(body, kind=kind))
            (short,) = replies(connection, 1)
            assert taken == [one for one, _ in bodies[: place + 1]]
            connection.sendall(request(other, USUAL, kind))
            (usual,) = replies(connection, 1)
            assert (short[0], short[1]) == (200, usual[1])
            as_lines = [
                json.loads(f"[{one[2].decode().strip().replace(chr(10), ',')}]") for one in (short, usual)
            ]
            for ours, theirs in zip(*map(_flat, as_lines), strict=True):
                assert ours.keys() == theirs.keys()
                assert ours["logit"] == theirs["logit"]
            assert len(taken) == place + 1


def _flat(found: list[Any]) -> list[dict[str, Any]]:
    return found[0] if isinstance(found[0], list) else found


@pytest.mark.parametrize(
    "body",
    [b"hello", b'{"source": 3}', b"", b'{"source": 3, "destination": 44, "time": "yesterday"}'],
)
def test_what_is_wrong_is_told_the_usual_way(service: Running, taken: list[bytes], body: bytes) -> None:
    with connected(service) as connection:
        connection.sendall(request(body))
        connection.sendall(request(body, USUAL))
        short, usual = replies(connection, 2)
    assert short == usual
    assert short[0] in (400, 422)
    assert not taken


def test_an_event_that_is_known_goes_the_usual_way(service: Running, taken: list[bytes]) -> None:
    with connected(service) as connection:
        for _ in range(2):
            connection.sendall(request(event(service, 1)))
            ((status, _, body),) = replies(connection, 1)
            assert status == 200
        assert json.loads(body)["again"]
        connection.sendall(request(event(service, 1, destination=45)))
        assert replies(connection, 1)[0][0] == 409
    assert len(taken) == 1


def test_requests_in_one_packet_in_pieces_and_one_after_the_other(
    service: Running, taken: list[bytes]
) -> None:
    with connected(service) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        together = request(event(service, 1)) + request(event(service, 2))
        connection.sendall(together)  # the usual way, which takes one by one
        piece = request(event(service, 3))
        connection.sendall(piece[:40])
        connection.sendall(piece[40:])
        for number in range(4, 30):
            connection.sendall(request(event(service, number)))  # while others are in a batch
        found = replies(connection, 29)
    assert [json.loads(body)["id"] for _, _, body in found] == [f"e{number}" for number in range(1, 30)]
    assert service.engine.log.tail.event == 29
    # A body that reads like a request is a body.
    with connected(service) as connection:
        inner = request(event(service, 40))
        outer = request(inner, USUAL)
        connection.sendall(outer[: -len(inner)])
        connection.sendall(inner)
        assert replies(connection, 1)[0][0] == 400
    assert service.engine.log.tail.event == 29
    assert len(taken) <= 29


def test_a_token_is_asked_for_here_too(tmp_path: Path, taken: list[bytes]) -> None:
    with (
        running(live_run("keat-rank", tmp_path), token="a token of some length") as service,
        connected(service) as connection,
    ):
        connection.sendall(request(event(service, 1)))
        assert replies(connection, 1)[0][0] == 401
        assert not taken
        connection.sendall(request(event(service, 1), "Authorization: Bearer a token of some length\r\n"))
        assert replies(connection, 1)[0][0] == 200
        assert len(taken) == 1


def test_a_full_queue_is_told_alike(
    service: Running, taken: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Batcher, events: int = 1) -> None:  # noqa: ARG001
        raise BusyError("Many events are waiting already; send them again in a second.")

    monkeypatch.setattr(Batcher, "require_place", full)
    with connected(service) as connection:
        connection.sendall(request(event(service, 1)))
        (short,) = replies(connection, 1)
        connection.sendall(request(event(service, 1), USUAL))
        (usual,) = replies(connection, 1)
    assert short == usual
    assert short[0] == 429
    assert "retry-after: 1" in short[1]
    assert len(taken) == 1
    assert service.engine.log.tail.event == 0
