"""Options of `keat serve`: how events are kept, who may ask, and where events come from beside HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keat.cli.options import at_least
from keat.disk import look_at
from keat.errors import InputError, MissingExtraError, unknown_name

if TYPE_CHECKING:
    from keat.serve.gateway import Service
    from keat.serve.kafka_source import Topic

DURABILITY = ("disk", "process")


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """Where requests come in, and how much of them."""

    host: Annotated[
        str, typer.Option(help="Address to listen on; any but this machine's own needs a token.")
    ] = "127.0.0.1"
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any that is free.")] = 8_000
    token: Annotated[
        str | None,
        typer.Option(envvar="KEAT_TOKEN", help="What clients have to send; better in the environment."),
    ] = None
    new_ids: Annotated[
        int, typer.Option(callback=at_least(2), help="New nodes that may join in a second.")
    ] = 10_000
    most_queued: Annotated[
        int,
        typer.Option(callback=at_least(1), help="Events that may wait; others are told to come later."),
    ] = 4_096
    models: Annotated[
        Path | None,
        typer.Option(
            help="Folder of runs that may be loaded beside this one and exchanged for it (POST /v1/models).",
        ),
    ] = None

    def service(self, snapshot_every: int, window: int, topic: Topic | None) -> Service:
        from keat.serve.gateway import Service
        from keat.serve.limits import Limits

        if self.models is not None and look_at(self.models) != "folder":
            raise InputError(
                f"There is no folder {self.models}; --models is the folder of the runs that may be loaded."
            )
        return Service(
            host=self.host,
            port=self.port,
            token=self.token or None,
            limits=Limits(new_ids=self.new_ids),
            most_queued=self.most_queued,
            snapshot_every=snapshot_every,
            models=self.models,
            window=window,
            topic=topic,
        )


@dataclass(frozen=True, slots=True)
class KeepingOptions:
    """How events are kept and observed, wherever they come from."""

    durability: Annotated[
        str,
        typer.Option(
            help="When an event is answered: once the disk has it, which survives a power cut ('disk'), or "
            "once the system has it, which survives the end of this process ('process')."
        ),
    ] = "disk"
    snapshot_every: Annotated[
        int, typer.Option(callback=at_least(1), help="Events between two snapshots of the state.")
    ] = 250_000
    window: Annotated[
        int,
        typer.Option(
            callback=at_least(0),
            help="Seconds that events may come out of order: they are observed in the order of their times, "
            "and scores do not know the last of them.",
        ),
    ] = 0
    alerts: Annotated[
        int,
        typer.Option(
            callback=at_least(0, 1_000), help="How many of the most suspicious events of an hour are alerts."
        ),
    ] = 50

    def check(self) -> None:
        if self.durability not in DURABILITY:
            raise unknown_name("durability", self.durability, DURABILITY)


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """A topic of Kafka that brings events."""

    kafka: Annotated[
        str | None, typer.Option(help="Brokers of Kafka (host:port, …) that bring events, beside HTTP.")
    ] = None
    topic: Annotated[str | None, typer.Option(help="The topic that is read there.")] = None
    group: Annotated[
        str | None, typer.Option(help="As which the brokers are told how far it was read; 'keat'.")
    ] = None

    def source(self) -> Topic | None:
        """Where events come from beside HTTP."""
        if self.kafka is None and self.topic is None and self.group is None:
            return None
        if not self.kafka or not self.topic or self.group == "":
            raise InputError(
                "Events from Kafka need --kafka with its brokers, --topic, and, if any, a --group."
            )
        if find_spec("confluent_kafka") is None:
            raise MissingExtraError("confluent-kafka is not installed; pip install 'keat[kafka]'.")
        from keat.serve.kafka_source import Topic

        return Topic(self.kafka, self.topic, self.group or "keat")


@dataclass(frozen=True, slots=True)
class PipeOptions:
    """What events of a pipe are answered with. Over HTTP each request says it by itself."""

    rank: Annotated[bool, typer.Option("--rank", help="From a pipe: with ranks and shares.")] = False
    reasons: Annotated[bool, typer.Option("--reasons", help="From a pipe: with reasons in words.")] = False
