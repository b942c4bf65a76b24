"""A topic of Kafka that brings events, and how far the log has read it.

Offsets are in the rows of the log, each in that of the events it is about, so that both are committed or
neither is: a restart goes on where the log ends, whatever the broker remembers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from keat.errors import InputError, KeatError


class TopicError(KeatError):
    """A topic cannot be read any further."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What is read, and where it is."""

    brokers: str  # host:port, several with commas
    name: str
    group: str  # as which the broker is told how far it was read


class Message(NamedTuple):
    """What was read from a partition."""

    partition: int
    offset: int
    value: bytes | None


def entry(topic: str, partition: int, cluster: str) -> str:
    """How the log calls a partition. Offsets of another cluster are about other messages."""
    return f"{topic}/{partition}@{cluster}"


def next_offsets(offsets: dict[str, int], topic: str, cluster: str) -> dict[int, int]:
    """Where the log goes on in the partitions of a topic that it has read."""
    found = {}
    for name, offset in offsets.items():
        place, _, its_cluster = name.partition("@")
        its_topic, _, partition = place.rpartition("/")
        if its_topic != topic:
            continue
        if its_cluster != cluster:
            raise InputError(
                f"The log has read topic '{topic}' from another cluster ({its_cluster}; this is {cluster}), "
                "where offsets are about other messages; give its brokers, or a topic of another name."
            )
        found[int(partition)] = offset
    return found


def place_to_begin(topic: str, partition: int, offset: int | None, there: tuple[int, int]) -> int:
    """Where to read on, given where the log ends and which offsets the broker has: from the first to the one
    that comes next. What is not there any more cannot be read."""
    low, high = there
    if offset is None:
        return low
    if offset > high:
        raise TopicError(
            f"The log has read {topic}[{partition}] up to offset {offset:,}, but the broker ends at "
            f"{high:,}: the topic was made anew or cut; read a topic of another name."
        )
    return max(offset, low)
