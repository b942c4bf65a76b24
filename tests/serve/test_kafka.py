"""Events from a topic of Kafka: each is in the log once, whatever happens to the service. The broker is
another process that speaks the real protocol."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_runs import later_events, live_run
from running import Running, running

pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")

from confluent_kafka import Consumer, TopicPartition
from kafka_broker import PARTITIONS, broker, produce

from keat.errors import InputError
from keat.serve import kafka_intake, kafka_merge, topic_reader
from keat.serve.client import Client
from keat.serve.engine import Engine
from keat.serve.events import Checked
from keat.serve.kafka_merge import Entry, Merge
from keat.serve.kafka_source import Topic, entry, next_offsets, place_to_begin
from keat.serve.log import Log, LogWriteError
from keat.serve.topic_reader import opened


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with broker() as found:
        yield found


@pytest.fixture
def topic(address: str, tmp_path: Path) -> Topic:
    return Topic(address, f"orders-{tmp_path.name}", "keat")


def written(run: Path, number: int, seed: int = 0) -> list[dict[str, Any]]:
    engine = Engine(run)
    events = later_events(engine, number, seed)
    engine.close()
    for event in events:
        assert isinstance(event.time, int)
        event.time = max(event.time, engine.state.last_time)
    return [
        {"source": one.source, "destination": one.destination, "time": one.time, "id": one.id}
        for one in events
    ]


def spread(events: list[dict[str, Any]]) -> list[tuple[int, bytes | None]]:
    """Over the partitions, as a producer does that sends what belongs together to one place."""
    return [(event["source"] % PARTITIONS, json.dumps(event).encode()) for event in events]


def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)


def names_in_log(run: Path) -> list[str]:
    reader = Engine(run, write=False)
    names = [name for _, row in reader.log.rows() for name in row.ids.values()]
    reader.log.close()
    return names


def metrics(service: Running) -> dict[str, float]:
    lines = service.ask("GET", "/metrics").body.decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


def started(run: Path, topic: Topic, *more: str) -> tuple[subprocess.Popen[str], str]:
    words = [sys.executable, "-m", "keat", "serve", str(run), "--port", "0", "--json", *more]
    words += ["--durability", "process", "--kafka", topic.brokers, "--topic", topic.name]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())["address"]


def test_every_message_is_in_the_log_once_however_often_the_service_is_killed(
    topic: Topic, tmp_path: Path, moments: np.random.Generator
) -> None:
    """`keat serve` itself, killed with -9 while it reads, and HTTP beside it."""
    run = live_run("keat-rank", tmp_path)
    events = written(run, 3_000)
    messages = spread(events)
    produce(topic.brokers, topic.name, messages[:300])
    for kill in range(3):
        part = messages[300 + 900 * kill : 1_200 + 900 * kill]
        producer = threading.Thread(target=produce, args=(topic.brokers, topic.name, part))
        process, address = started(run, topic, "--window", "5000", "--snapshot-every", "400")
        with Client(address) as client:
            client.event(1, 50, time=events[0]["time"], id=f"http {kill}")
            before = client.ready()["seq"]
            producer.start()
            until(lambda: client.ready()["seq"] > before)  # noqa: B023
        time.sleep(float(moments.uniform(0.0, 0.3)))
        process.kill()
        process.wait()
        producer.join()
    process, address = started(run, topic, "--window", "5000")
    with Client(address) as client:
        until(lambda: client.ready()["seq"] == 3_003)
        time.sleep(0.3)
        assert client.ready()["seq"] == 3_003
    process.terminate()
    assert process.wait() == 0
    names = names_in_log(run)
    assert sorted(names) == sorted([f"http {kill}" for kill in range(3)] + [one["id"] for one in events])
    engine = Engine(run)
    digest, offsets = engine.digest(), engine.watch.offsets
    engine.close()
    sizes = [sum(partition == each for partition, _ in messages) for each in range(PARTITIONS)]
    assert sorted(offsets.values()) == sorted(sizes)
    for snapshot in (run / "live").glob("snapshot-*"):
        snapshot.unlink()
    engine = Engine(run)
    assert (engine.digest(), engine.watch.offsets) == (digest, offsets)
    engine.close()
    told = Consumer({"bootstrap.servers": topic.brokers, "group.id": "keat", "log_level": 0})
    places = told.committed([TopicPartition(topic.name, each) for each in range(PARTITIONS)], timeout=30)
    assert sorted(place.offset for place in places) == sorted(sizes)
    told.close()


def test_partitions_are_read_in_the_order_of_times(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backlog of hours, of which each partition has a part, and few of which are read at a time: nothing is
    late. The state is that of events that came in order."""
    monkeypatch.setattr(kafka_merge, "MOST", 80)
    monkeypatch.setattr(kafka_merge, "LEAST", 20)
    monkeypatch.setattr(topic_reader, "AT_ONCE", 50)
    run = live_run("keat-rank", tmp_path / "a")
    events = sorted(written(run, 800), key=lambda one: one["time"])
    for place, event in enumerate(events):
        event["time"] += place  # each its own, and so one order
    produce(topic.brokers, topic.name, spread(events))
    engine = Engine(run)
    reader = opened(topic, {})
    engine.close()
    with running(run, reader=reader) as service:
        until(lambda: metrics(service)["keat_events_total"] == 800)
        found = metrics(service)
        assert found["keat_late_events_total"] == 0
        assert found["keat_kafka_messages_total"] == 800
        assert sum(value for name, value in found.items() if name.startswith("keat_kafka_lag")) == 0
        digest = service.engine.digest()
    assert names_in_log(run) == [event["id"] for event in events]
    other = Engine(live_run("keat-rank", tmp_path / "b"))
    other.take([Checked(one["source"], one["destination"], one["time"], one["id"], ()) for one in events])
    assert other.digest() == digest


def test_a_wrong_message_is_counted_told_and_passed_over(
    topic: Topic, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = live_run("keat-rank", tmp_path)
    events = written(run, 6)
    good = [json.dumps(event).encode() for event in events]
    other = json.dumps(events[0] | {"destination": 77}).encode()
    bad: list[bytes | None] = [b"hello", b"[]", b'{"source": 3}', b"\xff", None, b"", other]
    messages = [good[0], *bad, *good[1:3], good[0], *good[3:], b"the last"]
    produce(topic.brokers, topic.name, [(0, one) for one in messages])
    reader = opened(topic, {})
    with running(run, reader=reader) as service:
        until(lambda: metrics(service)["keat_kafka_messages_total"] == len(messages))
        until(lambda: metrics(service)["keat_events_total"] == 6)
        found = metrics(service)
        assert found["keat_kafka_refused_messages_total"] == len(bad) + 1
        assert found["keat_repeated_events_total"] == 1
        assert found["keat_kafka_reading"] == 1
    assert sorted(names_in_log(run)) == [event["id"] for event in events]
    said = [line for line in capfd.readouterr().err.splitlines() if "is passed over" in line]
    assert len(said) == len(bad) + 1
    assert f"keat serve: {topic.name}[0] at offset 1 is passed over: The body is not JSON" in said[0]
    assert all(line.endswith(".") for line in said)


def test_one_that_cannot_be_scored_is_found_among_the_others(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = live_run("keat-rank", tmp_path)
    events = written(run, 40)
    produce(topic.brokers, topic.name, [(0, json.dumps(event).encode()) for event in events])
    usual = Engine.begin

    def begin(engine: Engine, taken: Any, *more: Any) -> Any:
        if any(event.id == "event 17" for event in taken):
            raise InputError("A score is no number.")
        return usual(engine, taken, *more)

    monkeypatch.setattr(Engine, "begin", begin)
    with running(run, reader=opened(topic, {})) as service:
        until(lambda: metrics(service)["keat_events_total"] == 39)
        assert metrics(service)["keat_kafka_refused_messages_total"] == 1
    assert names_in_log(run) == [f"event {number}" for number in range(40) if number != 17]


def test_it_waits_where_the_log_cannot_be_written_or_the_queue_is_full(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_intake, "LATER", 0.05)
    run = live_run("keat-rank", tmp_path)
    events = written(run, 600)
    produce(topic.brokers, topic.name, [(0, json.dumps(event).encode()) for event in events])
    usual, failing = Log.append, [2, 3, 5]  # which of the commits fail
    count = iter(range(1_000))

    def append(log: Log, row: Any) -> None:
        if next(count) in failing:
            raise LogWriteError("The disk is full.")
        usual(log, row)

    monkeypatch.setattr(Log, "append", append)
    with running(run, reader=opened(topic, {}), most_queued=100) as service:
        until(lambda: metrics(service)["keat_kafka_next_offset" + label(topic, 0)] == 600)
    assert names_in_log(run) == [event["id"] for event in events]


def label(topic: Topic, partition: int) -> str:
    return f'{{topic="{topic.name}",partition="{partition}"}}'


def test_new_partitions_are_read_from_their_beginning(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(The mock cluster cannot add some; so the first look sees two of the four.)"""
    monkeypatch.setattr(topic_reader, "NEW_PARTITIONS", 0.2)
    run = live_run("keat-rank", tmp_path)
    events = written(run, 80)
    produce(topic.brokers, topic.name, spread(events))
    usual, looks = topic_reader.TopicReader._found, iter(range(1_000))

    def found(reader: topic_reader.TopicReader) -> tuple[str, list[int]]:
        cluster, partitions = usual(reader)
        return cluster, partitions[:2] if next(looks) == 0 else partitions

    monkeypatch.setattr(topic_reader.TopicReader, "_found", found)
    with running(run, reader=opened(topic, {})) as service:
        until(lambda: metrics(service)["keat_events_total"] == 80)
    assert sorted(names_in_log(run)) == sorted(event["id"] for event in events)


def test_what_cannot_be_read_is_one_sentence(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_reader, "ANSWER", 1.0)
    with pytest.raises(InputError, match="There is no topic") as refused:
        opened(topic, {})
    assert str(refused.value).endswith(".")
    with pytest.raises(InputError, match="does not answer"):
        opened(Topic("127.0.0.1:9", "orders", "keat"), {})
    produce(topic.brokers, topic.name, [(0, b"{}")])
    cluster = opened(topic, {}).cluster
    with pytest.raises(InputError, match="from another cluster"):
        opened(topic, {entry(topic.name, 0, "another"): 1})
    with pytest.raises(InputError, match="made anew or cut"):
        opened(topic, {entry(topic.name, 0, cluster): 7})


def test_a_topic_that_ends_before_the_log_stops_the_reading_alone(topic: Topic, tmp_path: Path) -> None:
    run = live_run("keat-rank", tmp_path)
    produce(topic.brokers, topic.name, spread(written(run, 4)))
    reader = opened(topic, {})
    reader._consumer.seek(TopicPartition(topic.name, 0, 99))  # as after the topic was cut
    reader._next[0] = 99
    with running(run, reader=reader) as service:
        until(lambda: metrics(service)["keat_kafka_reading"] == 0)
        assert service.ask("GET", "/readyz").status == 200


def test_offsets_are_those_of_a_topic_and_a_cluster() -> None:
    offsets = {entry("a/b", 3, "x"): 7, entry("b", 0, "x"): 9}
    assert next_offsets(offsets, "a/b", "x") == {3: 7}
    assert place_to_begin("a", 0, None, (5, 9)) == 5
    assert place_to_begin("a", 0, 3, (5, 9)) == 5
    assert place_to_begin("a", 0, 9, (5, 9)) == 9


def test_the_earliest_is_taken_once_no_other_can_be_earlier() -> None:
    merge = Merge()

    def add(partition: int, *times: int) -> None:
        for t in times:
            merge.add(Entry(partition, t, Checked(1, 2, t, None, ())))

    def taken(at_end: set[int]) -> list[tuple[int, int]]:
        return [(one.partition, one.event.t) for one in merge.take(10, {0, 1}, at_end)]

    add(0, 1, 4, 6)
    assert taken(set()) == []
    add(1, 2, 5)
    assert taken(set()) == [(0, 1), (1, 2), (0, 4), (1, 5)]
    assert taken(set()) == []
    assert taken({1}) == [(0, 6)]
