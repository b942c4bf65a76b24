"""A broker of Kafka for tests, in a process of its own: the mock cluster of librdkafka, which speaks the real
protocol on a port of this machine.

    python tests/serve/kafka_broker.py

Prints its address, and ends with its standard input.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

PARTITIONS = 4  # that a topic of the mock cluster has


@contextmanager
def broker() -> Iterator[str]:
    """The address of one that runs while the block lasts."""
    words = [sys.executable, str(Path(__file__))]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait()


def produce(address: str, topic: str, messages: Iterable[tuple[int, bytes | None]]) -> None:
    """Messages with the partitions they are for; the topic is made if there is none."""
    producer = Producer({"bootstrap.servers": address, "log_level": 0})
    for partition, value in messages:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(30) == 0


def main() -> None:
    cluster = Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
    about = cluster.list_topics(timeout=30)
    print(",".join(f"{one.host}:{one.port}" for one in about.brokers.values()), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
