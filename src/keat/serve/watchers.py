"""Those who watch what happens, by server-sent events. Nobody waits for them: one who reads too slowly loses
the oldest, and is told how many."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import NamedTuple

import msgspec

from keat.serve.refusals import RefusedError

MOST_WAITING = 256  # of one watcher
MOST = 64  # watchers
BREATH = 15.0  # seconds between signs of life


class Lost(msgspec.Struct):
    """A notice that something was not sent."""

    lost: int | None  # how many; None where it is not known
    sentence: str


class Sent(NamedTuple):
    """A server-sent event."""

    kind: str
    id: int | None
    data: bytes

    def text(self) -> bytes:
        number = b"" if self.id is None else b"id: %d\n" % self.id
        return b"%sevent: %s\ndata: %s\n\n" % (number, self.kind.encode(), self.data)


class Watcher:
    """One connection, with what is still to be sent to it."""

    def __init__(self, past: list[Sent]) -> None:
        """``past`` is sent first, however much it is."""
        self._past, self._waiting = past, deque[Sent]()
        self._lost = 0
        self._wake = asyncio.Event()
        self.closed = False

    def tell(self, sent: Sent) -> None:
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.popleft()
            self._lost += 1
        self._waiting.append(sent)
        self._wake.set()

    def close(self) -> None:
        self.closed = True
        self._wake.set()

    async def parts(self) -> AsyncIterator[bytes]:
        """What is sent, until either side closes."""
        yield b": watching\n\n"
        for sent in self._past:
            yield sent.text()
        self._past = []
        while True:
            if self._lost:
                notice = Lost(self._lost, f"{self._lost:,} were lost, for they were read too slowly.")
                self._lost = 0
                yield Sent("lost", None, msgspec.json.encode(notice)).text()
            while self._waiting and not self._lost:
                yield self._waiting.popleft().text()
            if self.closed:
                return
            if self._waiting or self._lost:
                continue
            self._wake.clear()
            try:
                await asyncio.wait_for(self._wake.wait(), BREATH)
            except TimeoutError:
                yield b": alive\n\n"


class Watchers:
    """All who watch one thing."""

    def __init__(self) -> None:
        self._watchers: set[Watcher] = set()

    def __len__(self) -> int:
        return len(self._watchers)

    def join(self, past: list[Sent]) -> Watcher:
        if len(self._watchers) >= MOST:
            raise RefusedError(503, f"{MOST} are watching already; come later.", {"retry-after": "5"})
        watcher = Watcher(past)
        self._watchers.add(watcher)
        return watcher

    async def parts(self, watcher: Watcher) -> AsyncIterator[bytes]:
        try:
            async for part in watcher.parts():
                yield part
        finally:
            self._watchers.discard(watcher)

    def tell(self, sent: Sent) -> None:
        for watcher in self._watchers:
            watcher.tell(sent)

    def close(self) -> None:
        """The service stops."""
        for watcher in self._watchers:
            watcher.close()
