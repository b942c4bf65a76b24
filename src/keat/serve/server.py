"""A run on a port, until somebody stops it."""

from __future__ import annotations

import gc
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import numpy as np
import torch
import uvicorn

from keat.errors import InputError
from keat.serve.door import require_closed
from keat.serve.engine import Engine
from keat.serve.gateway import Gateway, Service
from keat.serve.happened import Happened
from keat.serve.kafka_source import Topic
from keat.serve.log import Durability
from keat.serve.log_records import Settings
from keat.serve.short_way import ShortWay

if TYPE_CHECKING:
    from keat.serve.topic_reader import TopicReader

GRACE = 30  # seconds for answers that are on their way when the service is stopped
BACKLOG = 2_048  # connections that may wait to be accepted


def serve(
    run: Path,
    service: Service,
    durability: Durability,
    settings: Settings,
    ready: Callable[[str, Engine], None],
) -> None:
    """Serve a run. ``ready`` is told the address once requests are answered."""
    require_closed(service.host, service.token)
    listening = listen(service.host, service.port)
    try:
        engine = Engine(run, durability, settings=settings, window=service.window)
        reader = None if service.topic is None else _reader(service.topic, engine)
        warm_up(engine)
        gc.collect()
        gc.freeze()  # what there is stays: to look through it for garbage would stop everything
        listening.listen(BACKLOG)  # from now on nobody is turned away
        host, port = listening.getsockname()[:2]
        ready(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}", engine)
        server_of(engine, service, reader).run(sockets=[listening])
    finally:
        listening.close()


def server_of(engine: Engine, service: Service, reader: TopicReader | None = None) -> uvicorn.Server:
    """What answers requests, and takes what a reader reads; it closes both when it stops."""
    gateway = Gateway(engine, service, reader)
    loop = "asyncio" if sys.platform == "win32" else "uvloop"
    app = gateway.app()
    return _Server(
        gateway,
        uvicorn.Config(
            app,
            http=partial(ShortWay, gateway, app),  # type: ignore[arg-type]
            loop=loop,
            lifespan="on",
            access_log=False,
            log_level="warning",
            timeout_keep_alive=75,
            timeout_graceful_shutdown=GRACE,
        ),
    )


def _reader(topic: Topic, engine: Engine) -> TopicReader:
    """Of a topic, from where the log ends; Kafka is an extra."""
    from keat.serve.topic_reader import opened

    return opened(topic, engine.watch.offsets)


class _Server(uvicorn.Server):
    """One that is stopped by a signal has done what it was told: it ends with 0, not by the signal again."""

    def __init__(self, gateway: Gateway, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._gateway = gateway

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._gateway.watching.close()  # or it would wait for those who watch
        self._gateway.feed.watchers.close()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._captured_signals.clear()


def warm_up(engine: Engine) -> None:
    """Compile what the first event would have to wait for; nothing changes."""
    state, nodes = engine.state, len(engine.model.ids)
    stranger = np.array([nodes], np.int32)
    nothing = np.zeros((1, engine.served.features.dim), np.float32)
    event = Happened(stranger, stranger, np.array([state.last_time]), nothing)
    state.warm_up(event)


def listen(host: str, port: int) -> socket.socket:
    """A port that is ours, before any work: the next who asks for it is told."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        raise InputError(f"Cannot listen on {host}, port {port} ({error}); choose another.") from error
    return listening


def one_thread() -> None:
    """Small matrices: a second thread would only wait for the first."""
    torch.set_num_threads(1)
