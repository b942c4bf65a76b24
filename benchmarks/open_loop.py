"""An open-loop driver of HTTP requests: each leaves at a moment that was fixed beforehand, whether or not
earlier ones are answered, and its latency counts from that moment.

A driver that waits for answers sends less while a service is slow, and so hides what it should measure. It
is one loop over plain sockets, to take little itself. How late it was where a connection was free is its own
fault or the machine's, and told beside.
"""

from __future__ import annotations

import gc
import select
import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
HEAD = "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
SOON = 0.05  # seconds until the first request leaves
PATIENCE = 120.0  # seconds without any answer


def request(path: str, body: bytes, kind: str = "application/json") -> bytes:
    return HEAD.format(path=path, kind=kind, length=len(body)).encode() + body


class Driven(NamedTuple):
    """What became of requests, in their order."""

    latency: Floats  # ms since it should have left
    status: npt.NDArray[np.int64]
    late: Floats  # ms that the driver let a request wait for though a connection was free
    seconds: float

    def of(self, status: int) -> Floats:
        found: Floats = self.latency[self.status == status]
        return found


class _Connection:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.number, self._content, self._length = -1, b"", -1
        self._unsent = b""

    def send(self, number: int, content: bytes) -> None:
        self.number, self._content, self._length, self._unsent = number, b"", -1, content
        self.go_on()

    def go_on(self) -> bool:
        """Send what the socket takes; whether there is more."""
        if self._unsent:
            with suppress(BlockingIOError):
                self._unsent = self._unsent[self.socket.send(self._unsent) :]
        return bool(self._unsent)

    def status(self) -> int | None:
        """Of an answer that is whole."""
        self._content += self.socket.recv(1 << 18)
        if self._length < 0:
            end = self._content.find(b"\r\n\r\n")
            if end < 0:
                if not self._content:
                    raise ConnectionError("The service closed the connection.")
                return None
            head = self._content[:end].lower()
            place = head.index(b"content-length:") + 15
            self._length = end + 4 + int(head[place:].split(b"\r\n", 1)[0])
        return int(self._content[9:12]) if len(self._content) >= self._length else None


def drive(
    port: int, requests: Iterable[bytes], number: int, rate: float | None, connections: int = 64
) -> Driven:
    """Send ``number`` requests at a rate a second, or without one as fast as they are answered. A connection
    carries one request at a time; where all are taken, those that are due wait, and their latency grows."""
    free = [_Connection(port) for _ in range(connections)]
    by_file = {one.socket.fileno(): one for one in free}
    poll = select.epoll()
    for file in by_file:
        poll.register(file, select.EPOLLIN)
    gc_was = gc.isenabled()
    gc.disable()
    try:
        return _driven(poll, by_file, free, iter(requests), number, rate)
    finally:
        if gc_was:
            gc.enable()
        for one in by_file.values():
            one.socket.close()
        poll.close()


def _driven(
    poll: select.epoll,
    by_file: dict[int, _Connection],
    free: list[_Connection],
    requests: Iterable[bytes],
    number: int,
    rate: float | None,
) -> Driven:
    clock = time.perf_counter
    latency, late = np.zeros(number), np.zeros(number)
    status = np.zeros(number, np.int64)
    begin = clock() + SOON
    due = begin + (np.zeros(number) if rate is None else np.arange(number) / rate)
    planned: list[float] = due.tolist()
    source = iter(requests)
    content, sent, answered, waited = next(source), 0, 0, False
    last = clock()
    while answered < number:
        now = clock()
        while sent < number and free and planned[sent] <= now:
            if not waited:
                late[sent] = now - planned[sent]
            connection = free.pop()
            connection.send(sent, content)
            if connection.go_on():
                poll.modify(connection.socket.fileno(), select.EPOLLIN | select.EPOLLOUT)
            if rate is None:
                planned[sent] = now
            sent += 1
            content = next(source) if sent < number else b""
            waited, now = False, clock()
        waited = sent < number and not free
        pause = min(1.0, planned[sent] - now) if sent < number and free else 1.0
        if pause > 0:  # `select` counts in microseconds, `epoll` in whole milliseconds
            select.select([poll], [], [], pause)
        for file, event in poll.poll(0):
            connection = by_file[file]
            if event & select.EPOLLOUT and not connection.go_on():
                poll.modify(file, select.EPOLLIN)
            if event & ~select.EPOLLOUT:
                found = connection.status()
                if found is not None:
                    last = clock()
                    latency[connection.number] = last - planned[connection.number]
                    status[connection.number] = found
                    free.append(connection)
                    answered += 1
        if clock() - last > PATIENCE and sent > answered:
            raise TimeoutError(f"{sent - answered} requests had no answer for {PATIENCE:.0f} s.")
    return Driven(latency * 1e3, status, late * 1e3, clock() - begin)
