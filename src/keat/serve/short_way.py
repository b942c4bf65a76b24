"""The short way of a plain request to take events: from the connection to the batch and back.

Routing, tasks and objects for each request take longer than scoring an event. A request that arrives whole,
asks for nothing special and has no header that would need a closer look goes straight into the next batch;
every other goes the usual way, through uvicorn and Starlette, and so does one that turns out to be wrong. The
answers are the same.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from keat.errors import KeatError
from keat.serve.batching import BusyError
from keat.serve.door import HEADERS, Door
from keat.serve.gateway import Gateway, encoded
from keat.serve.live_answers import Answer
from keat.serve.micro_batch import Wanted
from keat.serve.reading import FORMS, Form, checked_events
from keat.serve.refusals import refusal_of
from keat.serve.requests import JSON

PATH = "/v1/events"
FIRST_LINE = f"POST {PATH} HTTP/1.1\r\n".encode()
PLAIN_HEADERS = frozenset(
    b"host content-type content-length accept accept-encoding user-agent authorization".split()
)
NOTHING_MORE = Wanted()
_ALWAYS = b"".join(name + b": " + value + b"\r\n" for name, value in HEADERS)
_encode = msgspec.json.Encoder().encode


class ShortWay(HttpToolsProtocol):
    """A connection. While a request of it is in a batch, what comes after waits."""

    def __init__(self, gateway: Gateway, door: Door, **usual: Any) -> None:
        super().__init__(**usual)
        self._gateway, self._door = gateway, door
        self._within = False  # whether the usual way has a part of a request
        self._in_batch = False
        self._held = b""
        self._close_after = False

    def data_received(self, data: bytes) -> None:
        if self._in_batch:
            self._held += data
            self.transport.pause_reading()
            return
        if self._within or (self.cycle is not None and not self.cycle.response_complete):
            super().data_received(data)
            return
        body = self._body_of(data)
        if body is None or not self._take(*body):
            super().data_received(data)

    def on_message_begin(self) -> None:
        self._within = True
        super().on_message_begin()

    def on_message_complete(self) -> None:
        self._within = False
        super().on_message_complete()

    def shutdown(self) -> None:
        if self._in_batch:
            self._close_after = True
        else:
            super().shutdown()

    def _body_of(self, data: bytes) -> tuple[bytes, Form] | None:
        """The body of a plain request that may come in; None of any other."""
        if not data.startswith(FIRST_LINE):
            return None
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return None
        headers = {}
        for line in data[len(FIRST_LINE) : end].split(b"\r\n"):
            name, colon, value = line.partition(b":")
            name = name.lower()
            if not colon or name not in PLAIN_HEADERS or name in headers:
                return None
            headers[name] = value.strip(b" \t")
        length = headers.get(b"content-length", b"")
        form = FORMS.get(headers.get(b"content-type", b"").decode("latin-1"))
        if not length.isdigit() or int(length) != len(data) - end - 4 or form is None:
            return None
        if self._door.refused(headers, PATH) is not None:
            return None
        return data[end + 4 :], form

    def _take(self, body: bytes, form: Form) -> bool:
        """Whether the events are on their way, or refused because too many wait."""
        gateway, started = self._gateway, time.perf_counter()
        batcher = gateway.batcher
        try:
            batcher.require_place()
            checked, single = checked_events(gateway.engine.checker, body, form, gateway.service.limits)
            recent = gateway.engine.recent
            if any(event.id and recent.get(event.id) is not None for event in checked):
                return False  # the log has to be read
            gateway.welcome(checked)
            done = batcher.submit(checked, NOTHING_MORE)
        except BusyError as error:
            self._refuse(error, started)
            return True
        except KeatError:
            return False
        self._unset_keepalive_if_required()
        self._in_batch = True

        def answered(found: asyncio.Future[list[Answer]]) -> None:
            self._in_batch = False
            error = found.exception()
            if error is not None:
                assert isinstance(error, Exception)
                self._refuse(error, started)
            else:
                answer, kind = encoded(found.result(), single, form)
                self._write(200, kind, answer, started)
            held, self._held = self._held, b""
            if held and not self.transport.is_closing():
                self.transport.resume_reading()
                self.data_received(held)

        done.add_done_callback(answered)
        return True

    def _refuse(self, error: Exception, started: float) -> None:
        refusal = refusal_of(error)
        more = "".join(f"{name}: {value}\r\n" for name, value in refusal.headers.items())
        self._write(refusal.status, JSON, _encode({"error": str(refusal)}), started, more)

    def _write(self, status: int, kind: str, body: bytes, started: float, more: str = "") -> None:
        self._gateway.metrics.add(PATH, status, time.perf_counter() - started)
        if self.transport.is_closing():
            return
        usual = b"".join(name + b": " + value + b"\r\n" for name, value in self.server_state.default_headers)
        length = f"content-length: {len(body)}\r\ncontent-type: {kind}\r\n{more}\r\n".encode()
        self.transport.write(STATUS_LINE[status] + usual + _ALWAYS + length + body)
        self.server_state.total_requests += 1
        if self._close_after:
            self.transport.close()
        else:
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
