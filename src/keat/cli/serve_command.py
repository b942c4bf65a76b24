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
from keat.cli.options import Json, RunArgument, takes
from keat.cli.serve_options import KafkaOptions, KeepingOptions, ListenOptions, PipeOptions
from keat.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from keat.serve.engine import Engine
    from keat.serve.gateway import Service

NEEDED = ("apsw", "starlette", "uvicorn")


@takes(ListenOptions, "listen")
@takes(KeepingOptions, "keeping")
@takes(KafkaOptions, "kafka")
@takes(PipeOptions, "piped")
def serve_command(
    folder: RunArgument,
    *,
    listen: ListenOptions,
    keeping: KeepingOptions,
    kafka: KafkaOptions,
    piped: PipeOptions,
    seal: Annotated[
        Path | None,
        typer.Option(help="Serve nothing: write the log to this Parquet file, for keat train to read."),
    ] = None,
    json: Json = False,
) -> None:
    """Serve a trained run: events are scored as they come, kept in a log, and observed.

    On a port by HTTP, or, where events are piped in, as JSON lines from standard input to standard output.
    """
    keeping.check()
    for name in NEEDED:
        if find_spec(name) is None:
            raise MissingExtraError(f"{name} is not installed; pip install 'keat[serve]'.")
    if seal is not None:
        _seal(folder, seal, json)
        return
    topic = kafka.source()
    if topic is None and _is_piped():
        _serve_pipe(folder, keeping, piped)
        return
    if piped.rank or piped.reasons:
        raise InputError("Over HTTP each request asks for rank and reasons by itself; leave them out.")
    _serve_port(folder, keeping, listen.service(keeping.snapshot_every, keeping.window, topic), json)


def _seal(folder: Path, file: Path, json: bool) -> None:
    from keat.serve.sealing import seal

    events = seal(folder, file)
    if json:
        print_json({"events": events, "file": str(file)})
    else:
        print_line(f"{events:,} events in {file}")


def _is_piped() -> bool:
    """Whether events come from a pipe or a file."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):  # there is no standard input
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _serve_pipe(folder: Path, keeping: KeepingOptions, piped: PipeOptions) -> None:
    from keat.serve.engine import Engine
    from keat.serve.log_records import Settings
    from keat.serve.micro_batch import Wanted
    from keat.serve.pipe import pipe
    from keat.serve.server import one_thread

    one_thread()
    print_line(f"{folder} reads events from standard input.", err)
    settings, wanted = Settings(keeping.alerts), Wanted(piped.rank, piped.reasons)
    engine = Engine(folder, keeping.durability, settings=settings, window=keeping.window)  # type: ignore[arg-type]
    try:
        wrong = pipe(engine, sys.stdin.buffer, sys.stdout.buffer, wanted, keeping.snapshot_every)
        if engine.log.tail.event:
            engine.snapshot()
    finally:
        engine.close()
    if wrong:
        are = "line is no event" if wrong == 1 else "lines are no events"
        raise InputError(f"{wrong:,} {are} that can be taken; the answers say why.")


def _serve_port(folder: Path, keeping: KeepingOptions, service: Service, json: bool) -> None:
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

    one_thread()
    serve(folder, service, keeping.durability, Settings(keeping.alerts), ready)  # type: ignore[arg-type]
