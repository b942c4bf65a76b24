"""`keat serve`: a run that scores live events, on a port or from a pipe."""

from __future__ import annotations

import os
import stat
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keat.cli.console import err, print_json, print_line
from keat.cli.options import Json, RunArgument, at_least
from keat.disk import look_at
from keat.errors import InputError, MissingExtraError, unknown_name

if TYPE_CHECKING:
    from keat.serve.engine import Engine
    from keat.serve.kafka_source import Topic

DURABILITY = ("disk", "process")
NEEDED = ("apsw", "starlette", "uvicorn")


def serve_command(
    folder: RunArgument,
    *,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but this machine's own needs a token.")
    ] = ("127.0.0.1"),
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any that is free.")] = 8_000,
    durability: Annotated[
        str,
        typer.Option(
            help="When an event is answered: once the disk has it, which survives a power cut ('disk'), or "
            "once the system has it, which survives the end of this process ('process')."
        ),
    ] = "disk",
    token: Annotated[
        str | None,
        typer.Option(envvar="KEAT_TOKEN", help="What clients have to send; better in the environment."),
    ] = None,
    alerts: Annotated[
        int,
        typer.Option(
            callback=at_least(0, 1_000), help="How many of the most suspicious events of an hour are alerts."
        ),
    ] = 50,
    new_ids: Annotated[
        int, typer.Option(callback=at_least(2), help="New nodes that may join in a second.")
    ] = 10_000,
    most_queued: Annotated[
        int,
        typer.Option(callback=at_least(1), help="Events that may wait; others are told to come later."),
    ] = 4_096,
    snapshot_every: Annotated[
        int, typer.Option(callback=at_least(1), help="Events between two snapshots of the state.")
    ] = 250_000,
    window: Annotated[
        int,
        typer.Option(
            callback=at_least(0),
            help="Seconds that events may come out of order: they are observed in the order of their times, "
            "and scores do not know the last of them.",
        ),
    ] = 0,
    kafka: Annotated[
        str | None, typer.Option(help="Brokers of Kafka (host:port, …) that bring events, beside HTTP.")
    ] = None,
    topic: Annotated[str | None, typer.Option(help="The topic that is read there.")] = None,
    group: Annotated[
        str | None, typer.Option(help="As which the brokers are told how far it was read; 'keat'.")
    ] = None,
    models: Annotated[
        Path | None,
        typer.Option(
            help="Folder of runs that may be loaded beside this one and exchanged for it (POST /v1/models).",
        ),
    ] = None,
    rank: Annotated[bool, typer.Option("--rank", help="From a pipe: with ranks and shares.")] = False,
    reasons: Annotated[bool, typer.Option("--reasons", help="From a pipe: with reasons in words.")] = False,
    seal: Annotated[
        Path | None,
        typer.Option(help="Serve nothing: write the log to this Parquet file, for keat train to read."),
    ] = None,
    json: Json = False,
) -> None:
    """Serve a trained run: events are scored as they come, kept in a log, and observed.

    On a port by HTTP, or, where events are piped in, as JSON lines from standard input to standard output.
    """
    if durability not in DURABILITY:
        raise unknown_name("durability", durability, DURABILITY)
    for name in NEEDED:
        if find_spec(name) is None:
            raise MissingExtraError(f"{name} is not installed; pip install 'keat[serve]'.")
    if seal is not None:
        from keat.serve.sealing import seal as write_sealed

        events = write_sealed(folder, seal)
        if json:
            print_json({"events": events, "file": str(seal)})
        else:
            print_line(f"{events:,} events in {seal}")
        return
    source = _topic(kafka, topic, group)
    if source is None and _is_piped():
        _serve_pipe(folder, durability, rank, reasons, snapshot_every, alerts, window)
        return
    if rank or reasons:
        raise InputError("Over HTTP each request asks for rank and reasons by itself; leave them out.")

    from keat.serve.gateway import Service
    from keat.serve.limits import Limits
    from keat.serve.log_records import Settings
    from keat.serve.server import one_thread, serve

    def ready(address: str, engine: Engine) -> None:
        known = engine.log.tail.event
        if json:
            print_json({"address": address, "events": known, "model": engine.served.fingerprint})
            sys.stdout.flush()
        else:
            print_line(
                f"{folder} is served at {address}, with {known:,} events in its log. Open {address}/ in a "
                "browser to watch it; stop with Ctrl-C.",
                err,
            )

    if models is not None and look_at(models) != "folder":
        raise InputError(
            f"There is no folder {models}; --models is the folder of the runs that may be loaded."
        )
    one_thread()
    limits = Limits(new_ids=new_ids)
    service = Service(host, port, token or None, limits, most_queued, snapshot_every, models, window, source)
    serve(folder, service, durability, Settings(alerts), ready)  # type: ignore[arg-type]


def _topic(brokers: str | None, name: str | None, group: str | None) -> Topic | None:
    """Where events come from beside HTTP."""
    if brokers is None and name is None and group is None:
        return None
    if not brokers or not name or group == "":
        raise InputError("Events from Kafka need --kafka with its brokers, --topic, and, if any, a --group.")
    if find_spec("confluent_kafka") is None:
        raise MissingExtraError("confluent-kafka is not installed; pip install 'keat[kafka]'.")
    from keat.serve.kafka_source import Topic

    return Topic(brokers, name, group or "keat")


def _is_piped() -> bool:
    """Whether events come from a pipe or a file."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):  # there is no standard input
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _serve_pipe(
    folder: Path, durability: str, rank: bool, reasons: bool, snapshot_every: int, alerts: int, window: int
) -> None:
    from keat.serve.engine import Engine
    from keat.serve.log_records import Settings
    from keat.serve.micro_batch import Wanted
    from keat.serve.pipe import pipe
    from keat.serve.server import one_thread

    one_thread()
    print_line(f"{folder} reads events from standard input.", err)
    engine = Engine(folder, durability, settings=Settings(alerts), window=window)  # type: ignore[arg-type]
    try:
        wrong = pipe(engine, sys.stdin.buffer, sys.stdout.buffer, Wanted(rank, reasons), snapshot_every)
        if engine.log.tail.event:
            engine.snapshot()
    finally:
        engine.close()
    if wrong:
        raise InputError(f"{wrong:,} lines were no events that could be taken; their answers say why.")
