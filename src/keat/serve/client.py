"""A small client of `keat serve`, with nothing but the standard library.

    from keat.serve.client import Client

    with Client("http://127.0.0.1:8000") as service:
        answer = service.event("u17", "shop 4", time=1717171717, id="payment 9")

Where the service is busy or a connection breaks, it waits and sends again; an event that is sent with an id
is taken once however often that is.
"""

from __future__ import annotations

import http.client
import json
import time as clock
from collections.abc import Generator, Iterable, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

Object = dict[str, Any]
TRIES = 5


class ServiceError(Exception):
    """What the service said, with its status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Client:
    """One connection, which is opened when it is needed."""

    def __init__(self, address: str, token: str | None = None, seconds: float = 60.0) -> None:
        self._address, self._seconds = urlsplit(address), seconds
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def event(
        self,
        source: str | int,
        destination: str | int,
        time: int | str,
        *,
        id: str | None = None,  # noqa: A002  (as in JSON)
        features: Mapping[str, Any] | None = None,
        rank: bool = False,
        reasons: bool = False,
    ) -> Object:
        """Have an event scored and taken; its answer."""
        sent = {"source": source, "destination": destination, "time": time, "id": id, "features": features}
        answer: Object = self._ask("POST", _address("/v1/events", rank, reasons), sent, again=id is not None)
        return answer

    def events(
        self, events: Iterable[Mapping[str, Any]], *, rank: bool = False, reasons: bool = False
    ) -> list[Object]:
        """Many events, as NDJSON; their answers, in order."""
        every = list(events)
        lines = "".join(json.dumps(event) + "\n" for event in every).encode()
        again = all(event.get("id") is not None for event in every)
        said = self._exchange(
            "POST", _address("/v1/events", rank, reasons), lines, "application/x-ndjson", again
        )
        return [json.loads(line) for line in said.splitlines()]

    def score(self, source: str | int, destination: str | int, time: int | str | None = None) -> Object:
        sent = {"source": source, "destination": destination, "time": time}
        answer: Object = self._ask("POST", "/v1/score", sent)
        return answer

    def rank(
        self,
        source: str | int,
        candidates: list[str | int] | None = None,
        *,
        top: int = 10,
        time: int | str | None = None,
    ) -> Object:
        sent = {"source": source, "candidates": candidates, "top": top, "time": time}
        answer: Object = self._ask("POST", "/v1/rank", sent)
        return answer

    def label(self, label: float, *, seq: int | None = None, id: str | None = None) -> None:  # noqa: A002
        """Tell the truth about an event."""
        self._ask("POST", "/v1/labels", {"label": label, "seq": seq, "id": id})

    def explain(self, seq: int) -> Object:
        answer: Object = self._ask("GET", f"/v1/explain/{seq}")
        return answer

    def state(self) -> Object:
        """How the service is: counts, alerts, what labels say of them, drift."""
        answer: Object = self._ask("GET", "/v1/state")
        return answer

    def alerts(self, after: int | None = None) -> Generator[Object, None, None]:
        """Alerts as they come, on a connection of their own, until it ends; those after an event first.
        (Go on after the last ``seq``.) A notice has ``lost`` in it."""
        connection = self._connect()
        path = "/v1/alerts" if after is None else f"/v1/alerts?after={after}"
        connection.request("GET", path, headers=self._headers)
        response = connection.getresponse()
        if response.status != 200:
            raise ServiceError(response.status, json.loads(response.read())["error"])
        try:
            for line in response:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])
        finally:
            connection.close()

    def models(self) -> Object:
        """Which model answers, and how the one beside it compares."""
        answer: Object = self._ask("GET", "/v1/models")
        return answer

    def load(self, run: str) -> Object:
        """Have a run loaded beside the one that answers."""
        answer: Object = self._ask("POST", "/v1/models", {"do": "load", "run": run}, again=False)
        return answer

    def switch(self) -> Object:
        """Exchange the model beside for the one that answers; once more, and it is taken back."""
        answer: Object = self._ask("POST", "/v1/models", {"do": "switch"}, again=False)
        return answer

    def ready(self) -> Object:
        answer: Object = self._ask("GET", "/readyz")
        return answer

    def _ask(self, method: str, path: str, sent: Object | None = None, again: bool = True) -> Any:
        body = None if sent is None else json.dumps(sent).encode()
        return json.loads(self._exchange(method, path, body, "application/json", again))

    def _exchange(self, method: str, path: str, body: bytes | None, kind: str, again: bool) -> bytes:
        """``again`` is whether it does no harm to send this twice."""
        for attempt in range(1, TRIES + 1):
            try:
                status, wait, said = self._once(method, path, body, kind)
            except (OSError, http.client.HTTPException):
                self.close()
                if not again or attempt == TRIES:
                    raise
                clock.sleep(0.1 * attempt)
                continue
            if status in (429, 503) and attempt < TRIES:
                clock.sleep(wait)
                continue
            break
        if status != 200:
            raise ServiceError(status, json.loads(said)["error"])
        return said

    def _connect(self) -> http.client.HTTPConnection:
        secure = self._address.scheme == "https"
        connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        return connect(self._address.netloc, timeout=self._seconds)

    def _once(self, method: str, path: str, body: bytes | None, kind: str) -> tuple[int, float, bytes]:
        if self._connection is None:
            self._connection = self._connect()
        self._connection.request(method, path, body, self._headers | {"Content-Type": kind})
        response = self._connection.getresponse()
        return response.status, float(response.headers.get("Retry-After", "1")), response.read()


def _address(path: str, rank: bool, reasons: bool) -> str:
    wanted = [name for name, asked in (("rank", rank), ("reasons", reasons)) if asked]
    return path + ("?" + "&".join(f"{name}=true" for name in wanted) if wanted else "")
