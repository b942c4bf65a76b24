"""A service that runs in a thread of the test, and requests to it as they go over the wire."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from keat.serve.engine import Engine
from keat.serve.gateway import Service
from keat.serve.log import Durability
from keat.serve.server import listen, server_of, warm_up

if TYPE_CHECKING:
    from keat.serve.topic_reader import TopicReader

JSON = "application/json"


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Running(NamedTuple):
    engine: Engine
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, method: str, path: str, body: bytes | str | object = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """Bytes and text are sent as they are, everything else as JSON."""
        sent = body if isinstance(body, bytes | str | None) else json.dumps(body)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=180)
        try:
            connection.request(method, path, sent, {"Content-Type": JSON} if headers is None else headers)
            response = connection.getresponse()
            named = {name.lower(): value for name, value in response.headers.items()}
            return Reply(response.status, named, response.read())
        finally:
            connection.close()

    def post(self, path: str, body: object) -> Reply:
        return self.ask("POST", path, body)


@contextmanager
def running(
    run: Path, durability: Durability = "process", reader: TopicReader | None = None, **changes: Any
) -> Iterator[Running]:
    """A run that is served while the block lasts."""
    service = replace(Service(port=0), **changes)
    engine = Engine(run, durability, window=service.window)
    warm_up(engine)
    listening = listen(service.host, service.port)
    server = server_of(engine, service, reader)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        yield Running(engine, listening.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
