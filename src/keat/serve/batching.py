"""Requests become micro-batches: what has come while the last one was committed is the next.

A batch is begun as soon as the one before it is finished, so it never waits for company: alone, an event is
committed at once, and under load batches fill by themselves, up to 256 events.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from keat.disk import reason_of
from keat.errors import KeatError
from keat.serve.engine import Engine
from keat.serve.events import Checked
from keat.serve.live_answers import Answer
from keat.serve.log import LogWriteError
from keat.serve.micro_batch import BATCH, ConflictError, Prepared, Wanted

MOST_QUEUED = 4_096  # events that may wait; a request that finds none waiting may be longer
CROWDED = 16  # one over the part of them that may wait where more comes than can be taken
CALM = 1.0  # seconds without a refusal until that is over

Place = tuple[str, int]  # a partition, and the offset after the event


class BusyError(KeatError):
    """More is coming in than can be taken."""


@dataclass(slots=True, eq=False)
class _Request:
    events: Sequence[Checked]
    wanted: Wanted
    done: asyncio.Future[list[Answer]]
    answers: list[Answer] = field(default_factory=list)
    begun: int = 0  # events of it that are in a batch
    alone: bool = False  # whether each is a batch of its own
    places: Sequence[Place] = ()  # of each event, where it was read from a topic
    problem: str | None = None

    def refuse(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class Batcher:
    """Takes events to the engine, one batch after the other."""

    def __init__(self, engine: Engine, most_queued: int = MOST_QUEUED) -> None:
        self.engine, self.most_queued = engine, most_queued
        self.queued = 0  # events
        self.most_waiting = 0  # since somebody looked, who sets it back
        self.trouble: str | None = None  # why the log cannot be written
        self._crowded_until = 0.0
        self.lost = False  # whether the state is not that of the log, so that nothing may be scored
        self.between = asyncio.Lock()  # held while a batch is on its way
        self._requests: deque[_Request] = deque()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._run())

    async def stop(self) -> None:
        """End between two batches; what waits is refused."""
        if self._task is not None:
            async with self.between:
                self._task.cancel()
        for request in self._requests:
            request.refuse(BusyError("The service is stopping; send the events again."))
        self._requests.clear()

    def submit(
        self,
        events: Sequence[Checked],
        wanted: Wanted,
        places: Sequence[Place] = (),
        *,
        alone: bool = False,
    ) -> asyncio.Future[list[Answer]]:
        """The answers of events, once all of them are committed. Those that were read from a topic have the
        ``places`` up to which it is read then. ``alone`` puts each in a batch of its own."""
        self.require_state()
        self.require_place(len(events))
        done: asyncio.Future[list[Answer]] = self._loop.create_future()
        self.queued += len(events)
        self.most_waiting = max(self.most_waiting, self.queued)
        self._requests.append(_Request(events, wanted, done, alone=alone or wanted.alone, places=places))
        self._wake.set()
        return done

    def require_place(self, events: int = 1) -> None:
        """Whether so many may still wait. A burst may fill the queue, for it is over soon. Once somebody had
        to be refused, a long queue would only have everybody wait: then it is kept short."""
        now, most = time.monotonic(), self.most_queued
        if now < self._crowded_until:
            most = min(most, max(BATCH, most // CROWDED))
        if self.queued and self.queued + events > most:
            self._crowded_until = now + CALM
            raise BusyError(f"{self.queued:,} events are waiting already; send them again in a second.")

    def require_state(self) -> None:
        """Never a score from a state that is not the log's."""
        if self.lost:
            raise LogWriteError(self.trouble or "")

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._requests:
                async with self.between:
                    await self._take_batch()
                await asyncio.sleep(0)  # answers go out, and questions get their turn

    async def _take_batch(self) -> None:
        parts, events = self._gather()
        try:
            self.require_state()
            if self.trouble is not None:  # before the state advances: whether there is room again
                self.engine.log.require_room()
                self.trouble = None
            offsets: dict[str, int] = {}
            for request, number in parts:
                offsets.update(request.places[request.begun - number : request.begun])
            prepared = self.engine.begin(events, parts[0][0].wanted, offsets)
        except LogWriteError as error:
            self._refuse(parts, error)
            return
        except Exception as error:
            await self._take_back(parts, error, None)
            return
        try:
            if self.engine.log.durability == "disk":
                await asyncio.get_running_loop().run_in_executor(None, self.engine.commit, prepared)
            else:
                self.engine.commit(prepared)
        except Exception as error:
            await self._take_back(parts, error, prepared)
            return
        try:
            self._answer(parts, prepared)
        except Exception as error:  # it is committed; what could not be read is an answer of before
            self._refuse(parts, error)

    def _gather(self) -> tuple[list[tuple[_Request, int]], list[Checked]]:
        """The next batch: requests with how many of their events are in it."""
        parts: list[tuple[_Request, int]] = []
        events: list[Checked] = []
        while self._requests:
            request = self._requests[0]
            alone = request.alone
            if parts and (alone or len(events) == BATCH):
                break
            room = 1 if alone else BATCH - len(events)
            some = request.events[request.begun : request.begun + room]
            request.begun += len(some)
            parts.append((request, len(some)))
            events += some
            self._requests.popleft()
            if request.begun < len(request.events):
                self._requests.append(request)  # a long one lets the others in between
                break
            if alone:
                break
        self.queued -= len(events)
        return parts, events

    def _answer(self, parts: list[tuple[_Request, int]], prepared: Prepared) -> None:
        answers = self.engine.finish(prepared)
        start = 0
        for request, number in parts:
            stop = start + number
            request.answers += answers[start:stop]
            problems = [text for place, text in prepared.conflicts.items() if start <= place < stop]
            if problems and request.problem is None:
                request.problem = problems[0]
            if len(request.answers) == len(request.events) and not request.done.done():
                if request.problem is not None:
                    request.refuse(ConflictError(request.problem))
                else:
                    request.done.set_result(request.answers)
            start = stop

    async def _take_back(
        self, parts: list[tuple[_Request, int]], error: Exception, prepared: Prepared | None
    ) -> None:
        """Nothing of a batch happened; whoever sent a part of it is told."""
        if isinstance(error, LogWriteError):
            self.trouble = str(error)
        try:
            await asyncio.get_running_loop().run_in_executor(None, self.engine.take_back, prepared)
        except Exception as another:
            self.trouble = (
                f"The state could not be made again ({reason_of(another)}); start the service anew."
            )
            self.lost = True
        self._refuse(parts, error)

    def _refuse(self, parts: list[tuple[_Request, int]], error: Exception) -> None:
        for request, _ in parts:
            request.refuse(error)
            if request.begun < len(request.events):  # the rest of it is not taken either
                self._requests.remove(request)
                self.queued -= len(request.events) - request.begun
