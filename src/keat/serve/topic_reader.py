"""Messages of a topic, from where the log ends.

Partitions are assigned here and not by the group, because the log alone knows how far each was read. All of
it is used by one thread at a time.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from keat.errors import InputError
from keat.serve.kafka_source import Message, Topic, TopicError, entry, next_offsets, place_to_begin

ANSWER = 10.0  # seconds that a broker has to answer
WAIT = 0.1  # seconds for a message
AT_ONCE = 250  # messages
NEW_PARTITIONS = 10.0  # seconds between two looks for some
TOLD = 1.0  # seconds between two times that the broker is told how far the log is
PATIENCE = 5.0  # seconds that others wait for a partition of which nothing is heard
END = KafkaError._PARTITION_EOF
GONE = KafkaError._AUTO_OFFSET_RESET
SETTINGS = {
    "client.id": "keat",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",  # what is not there is not passed over in silence
    "log_level": 2,  # errors come here, and are told from here
    "socket.timeout.ms": 10_000,
    "queued.min.messages": 10_000,
    "queued.max.messages.kbytes": 16_384,
}


class TopicReader:
    """All partitions of a topic, those that are added later included."""

    def __init__(self, topic: Topic, offsets: dict[str, int]) -> None:
        """``offsets`` are those of the log. Raises where the topic cannot be read, or not from there."""
        self.topic, self.missed = topic, 0  # messages that the broker did not keep
        self.news: list[str] = []  # what went wrong with the brokers, for whoever tells it
        self.highs: dict[int, int] = {}  # by partition, the offset that comes next at the broker
        self._next: dict[int, int] = {}  # by partition, the offset that is read next
        self._ended: set[int] = set()
        self._heard: dict[int, float] = {}
        self._paused: set[int] = set()
        self._gone: set[int] = set()  # of which the broker does not have what comes next
        self._looked = self._told = self._read = time.monotonic()
        try:
            self._consumer = Consumer(
                {
                    **SETTINGS,
                    "bootstrap.servers": topic.brokers,
                    "group.id": topic.group,
                    "error_cb": self._hear,
                }
            )
            self.cluster, partitions = self._found()
            self._offsets = next_offsets(offsets, topic.name, self.cluster)
            self._assign(partitions)
        except KafkaException as error:
            raise InputError(
                f"Kafka at {topic.brokers} does not answer ({_said(error)}); check --kafka and the brokers."
            ) from error

    def entry(self, partition: int) -> str:
        """How the log calls a partition."""
        return entry(self.topic.name, partition, self.cluster)

    def read(self, full: Collection[int] = ()) -> list[Message]:
        """The next messages, after a moment at most; none of partitions of which there are enough."""
        started = time.monotonic()
        if started > self._read + PATIENCE / 2:  # nobody listened
            self._heard = dict.fromkeys(self._heard, started)
        self._pause(set(full))
        found = self._consumer.consume(1, WAIT)
        if found:
            found += self._consumer.consume(AT_ONCE, 0)
        self._read = now = time.monotonic()
        messages = []
        for one in found:
            error, partition, offset = one.error(), one.partition(), one.offset()
            if error is None:
                assert partition is not None
                assert offset is not None
                messages.append(Message(partition, offset, one.value()))
                self._next[partition], self._heard[partition] = offset + 1, now
                self._ended.discard(partition)
            elif error.code() == END and partition is not None:
                self._ended.add(partition)
                self._heard[partition] = now
            elif error.code() == GONE and partition is not None:
                self._gone.add(partition)
            else:
                self._hear(error)
        for partition in [*self._gone]:
            with suppress(KafkaException):  # the broker is away; it is asked again
                self._begin(partition)
        self._look_at_ends()
        if now > self._looked + NEW_PARTITIONS:
            self._looked = now
            with suppress(KafkaException):
                self._assign(self._found()[1])
        return messages

    @property
    def partitions(self) -> Collection[int]:
        return self._next.keys()

    def next_of(self, partition: int) -> int:
        """The offset that is read next."""
        return self._next[partition]

    def at_end(self) -> set[int]:
        """Partitions that have nothing more now, or of which nothing is heard: nobody waits for them."""
        long_ago = time.monotonic() - PATIENCE
        return self._ended | {partition for partition, when in self._heard.items() if when < long_ago}

    def tell(self, offsets: dict[str, int], *, at_last: bool = False) -> None:
        """Tell the broker how far the log is, for those who look at the lag there; nothing depends on it."""
        now = time.monotonic()
        if not at_last and now < self._told + TOLD:
            return
        self._told = now
        known = next_offsets(offsets, self.topic.name, self.cluster)
        places = [TopicPartition(self.topic.name, *place) for place in known.items()]
        if places:
            with suppress(KafkaException):
                if at_last:
                    self._consumer.commit(offsets=places, asynchronous=False)
                else:
                    self._consumer.commit(offsets=places, asynchronous=True)

    def close(self) -> None:
        self._consumer.close()

    def _hear(self, error: KafkaError) -> None:
        self.news.append(error.str())

    # -- partitions ------------------------------------------------------------------------------------

    def _found(self) -> tuple[str, list[int]]:
        """The cluster, and the partitions that the topic has."""
        about: Any = self._consumer.list_topics(self.topic.name, timeout=ANSWER)
        found = about.topics[self.topic.name]
        if found.error is not None or not found.partitions:
            raise InputError(
                f"There is no topic '{self.topic.name}' at {self.topic.brokers}; make it, or check --topic."
            )
        return about.cluster_id or "", sorted(found.partitions)

    def _assign(self, partitions: list[int]) -> None:
        """Read these, too."""
        new = {
            partition: self._place(partition, self._offsets.get(partition))
            for partition in partitions
            if partition not in self._next
        }
        if new:
            self._consumer.incremental_assign(
                [TopicPartition(self.topic.name, *place) for place in new.items()]
            )
        self._next |= new
        self._heard |= dict.fromkeys(new, time.monotonic())

    def _place(self, partition: int, offset: int | None) -> int:
        there = self._consumer.get_watermark_offsets(
            TopicPartition(self.topic.name, partition), timeout=ANSWER
        )
        place = place_to_begin(self.topic.name, partition, offset, there)
        self.missed += 0 if offset is None else place - offset
        return place

    def _begin(self, partition: int) -> None:
        """The broker does not have what comes next; go on with what it has."""
        self._next[partition] = place = self._place(partition, self._next[partition])
        self._consumer.seek(TopicPartition(self.topic.name, partition, place))
        self._gone.discard(partition)

    def _pause(self, full: set[int]) -> None:
        name = self.topic.name
        if more := full - self._paused:
            self._consumer.pause([TopicPartition(name, each) for each in more])
        if fewer := self._paused - full:
            self._consumer.resume([TopicPartition(name, each) for each in fewer])
            self._heard |= dict.fromkeys(fewer, time.monotonic())
        self._paused = full

    def _look_at_ends(self) -> None:
        """What the broker has, as it said with the last messages."""
        for partition, place in self._next.items():
            with suppress(KafkaException):
                where = TopicPartition(self.topic.name, partition)
                _, high = self._consumer.get_watermark_offsets(where, cached=True)
                if high >= 0:
                    self.highs[partition] = high
                if 0 <= high <= place:
                    self._ended.add(partition)


def opened(topic: Topic, offsets: dict[str, int]) -> TopicReader:
    """A reader; what is wrong with the topic is a sentence for whoever starts the service."""
    try:
        return TopicReader(topic, offsets)
    except TopicError as error:
        raise InputError(str(error)) from error


def _said(error: KafkaException) -> str:
    about = error.args[0]
    return about.str() if isinstance(about, KafkaError) else str(about)
