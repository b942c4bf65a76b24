"""Events from a topic of Kafka on their way into the log, each once.

What is read is checked like what comes over HTTP, brought into the order of times, and put into micro-batches
with the offsets after it. A message that is wrong is counted and told, and the stream goes on. Where the
queue is full or the log cannot be written, nothing more is read until that is over.
"""

from __future__ import annotations

import asyncio
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from keat.disk import reason_of
from keat.errors import InputError, KeatError
from keat.serve.batching import BusyError
from keat.serve.events import Event
from keat.serve.kafka_merge import Entry, Merge
from keat.serve.kafka_source import Message
from keat.serve.limits import TooManyError
from keat.serve.log import LogDamagedError, LogWriteError
from keat.serve.micro_batch import ConflictError, Wanted
from keat.serve.reading import line_read

if TYPE_CHECKING:
    from keat.serve.gateway import Gateway
    from keat.serve.topic_reader import TopicReader

AT_ONCE = 512  # events that are put into batches together
SOON, LATER = 0.02, 1.0  # seconds until it is tried again: the queue was full, the log could not be written
SENTENCES = 10  # that are told in a second; all refused messages are counted
NOTHING_MORE = Wanted()


class KafkaIntake:
    """Reads as long as the service runs."""

    def __init__(self, gateway: Gateway, reader: TopicReader) -> None:
        self._gateway, self._reader, self._merge = gateway, reader, Merge()
        self._thread = ThreadPoolExecutor(1, "kafka")  # the reader's own
        self._singly = 0  # events that are each to be taken by itself, because one of them cannot be scored
        self._at_once = min(AT_ONCE, max(1, gateway.service.most_queued // 4))  # there is HTTP, too
        self._second, self._told = 0, 0
        self.read = self.refused = 0  # messages, since this process began
        self.trouble: str | None = None  # why nothing is read any more

    async def run(self) -> None:
        loop, reader = asyncio.get_running_loop(), self._reader
        try:
            while True:
                for message in await loop.run_in_executor(self._thread, reader.read, self._merge.full()):
                    self._look_at(message)
                while reader.news:
                    self._tell(f"Kafka says: {reader.news.pop(0)}")
                while some := self._merge.take(AT_ONCE, reader.partitions, reader.at_end()):
                    while some := await self._take(some):
                        pass
                    offsets = dict(self._gateway.engine.watch.offsets)
                    await loop.run_in_executor(self._thread, reader.tell, offsets)
        except Exception as error:  # HTTP goes on
            self.trouble = str(error) if isinstance(error, KeatError) else reason_of(error)
            _say(f"topic '{reader.topic.name}' is not read any more: {self.trouble}")

    async def end(self) -> None:
        """After `run` was cancelled: what is in a batch may still come to the log, and is not read again."""

        def last() -> None:
            self._reader.tell(dict(self._gateway.engine.watch.offsets), at_last=True)
            self._reader.close()

        await asyncio.get_running_loop().run_in_executor(self._thread, last)
        self._thread.shutdown()

    # -- messages and events ---------------------------------------------------------------------------

    def _look_at(self, message: Message) -> None:
        self.read += 1
        try:
            if message.value is None:
                raise InputError("The message has no value; send an event as JSON.")
            event = self._gateway.engine.checker.event(line_read(Event, message.value))
        except KeatError as error:
            self._refuse(message.partition, message.offset, error)
        else:
            self._merge.add(Entry(message.partition, message.offset, event))

    async def _take(self, entries: list[Entry]) -> list[Entry]:
        """Bring the first of these to the log; those that are left."""
        some = _different(entries[: 1 if self._singly else self._at_once])
        rest = entries[len(some) :]
        some = await self._sound(some)
        if not some:
            return rest
        try:
            number = self._admitted(some)
            some, rest = some[:number], some[number:] + rest
            places = [(self._reader.entry(one.partition), one.offset + 1) for one in some]
            events = [one.event for one in some]
            await self._gateway.batcher.submit(events, NOTHING_MORE, places, alone=self._singly > 0)
        except (BusyError, TooManyError):
            await asyncio.sleep(SOON)
            return some + rest
        except LogDamagedError:
            raise
        except LogWriteError:
            await asyncio.sleep(LATER)
            return self._not_in_log(some) + rest
        except ConflictError as error:  # with one that came over HTTP at that moment; the others are taken
            self._refuse(some[-1].partition, some[-1].offset, error)
        except Exception as error:
            if self._singly == 0:  # which of them is it?
                left = self._not_in_log(some)
                self._singly = len(left)
                return left + rest
            self._refuse(some[0].partition, some[0].offset, error)
        self._singly = max(0, self._singly - len(some))
        return rest

    async def _sound(self, entries: list[Entry]) -> list[Entry]:
        """Without those whose id was given to another event before."""
        engine, found = self._gateway.engine, []
        for one in entries:
            if one.event.id is not None and engine.recent.get(one.event.id) is not None:
                try:
                    async with self._gateway.batcher.between:  # the log is read
                        engine.require_same(one.event)
                except ConflictError as error:
                    self._refuse(one.partition, one.offset, error)
                    continue
            found.append(one)
        return found

    def _admitted(self, entries: list[Entry]) -> int:
        """How many may come in now without too many new nodes; raises where not even one may."""
        number = len(entries)
        while True:
            try:
                self._gateway.welcome([one.event for one in entries[:number]])
                return number
            except TooManyError:
                if number == 1:
                    raise
                number //= 2

    def _not_in_log(self, entries: list[Entry]) -> list[Entry]:
        offsets = self._gateway.engine.watch.offsets
        return [one for one in entries if one.offset >= offsets.get(self._reader.entry(one.partition), 0)]

    def _refuse(self, partition: int, offset: int, error: Exception) -> None:
        """A message that is no event that can be taken: it is told, and passed over."""
        self.refused += 1
        said = str(error) if isinstance(error, KeatError) else reason_of(error)
        self._tell(f"{self._reader.topic.name}[{partition}] at offset {offset} is passed over: {said}")

    def _tell(self, sentence: str) -> None:
        """Not more than a few a second: what is wrong may be wrong very often."""
        second = int(time.monotonic())
        self._told = self._told + 1 if second == self._second else 1
        self._second = second
        if self._told <= SENTENCES:
            _say(sentence)

    # -- how it is -------------------------------------------------------------------------------------

    def metric(self) -> str:
        """For Prometheus."""
        reader = self._reader
        name, offsets = reader.topic.name, self._gateway.engine.watch.offsets
        values: list[tuple[str, str, str, float]] = [
            ("messages_total", "counter", "Messages read.", self.read),
            ("refused_messages_total", "counter", "Messages that were no events.", self.refused),
            ("missed_messages_total", "counter", "Messages the broker had let go.", reader.missed),
            ("waiting_messages", "gauge", "Events read and not yet taken.", len(self._merge)),
            ("reading", "gauge", "Whether the topic is read.", int(self.trouble is None)),
        ]
        lines = []
        for what, kind, about, value in values:
            lines += [f"# HELP keat_kafka_{what} {about}", f"# TYPE keat_kafka_{what} {kind}"]
            lines.append(f"keat_kafka_{what} {value}")
        ends = dict(sorted(dict(reader.highs).items()))
        nexts = {each: offsets.get(reader.entry(each), 0) for each in ends}
        lags = {each: high - reader.next_of(each) + self._merge.waiting(each) for each, high in ends.items()}
        for what, about, found in (
            ("next_offset", "The offset after the last event in the log.", nexts),
            ("lag", "Messages that were not taken yet.", lags),
        ):
            lines += [f"# HELP keat_kafka_{what} {about}", f"# TYPE keat_kafka_{what} gauge"]
            lines += [
                f'keat_kafka_{what}{{topic="{name}",partition="{partition}"}} {number}'
                for partition, number in found.items()
            ]
        return "\n".join(lines) + "\n"


def _different(entries: list[Entry]) -> list[Entry]:
    """The first of them, up to where an id comes again: what is in the log then can be compared with it."""
    names: set[str] = set()
    for place, one in enumerate(entries):
        if one.event.id is not None:
            if one.event.id in names:
                return entries[:place]
            names.add(one.event.id)
    return entries


def _say(sentence: str) -> None:
    print(f"keat serve: {sentence}", file=sys.stderr, flush=True)
