"""What the page of a service shows, told once a second to all who watch (`GET /v1/live`).

A moment is made once for everybody, and only while somebody watches; what is kept without watchers is a few
numbers a second, so that a page that is opened shows the last minutes at once.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

import keat
from keat.errors import KeatError
from keat.serve.alerts import AlertReport, alert_report
from keat.serve.batching import Batcher
from keat.serve.engine import Engine
from keat.serve.latest_events import Naming, ScoreBins, ShownEvent
from keat.serve.log import FILE
from keat.serve.pulse import Second
from keat.serve.service_metrics import Metrics
from keat.serve.state_snapshots import last_event_of_newest
from keat.serve.watchers import Sent, Watchers

EVERY = 1.0  # seconds


class Drifting(msgspec.Struct):
    """What a page says of one measure of drift; `/v1/drift` has all of it."""

    name: str
    level: str
    sentence: str


class Moment(msgspec.Struct, omit_defaults=True):
    """The service as it is."""

    second: Second
    seq: int  # the last event of the log
    model: str
    nodes: int
    late: int
    again: int
    newcomers: int
    refused: int  # requests that were told to come later, or that something is wrong here
    snapshot: int  # the last event in one
    log_bytes: int
    memory_bytes: int | None
    watchers: int
    alerts: AlertReport
    drift: list[Drifting]
    trouble: str | None = None
    scores: ScoreBins | None = None
    latest: list[ShownEvent] = []
    alarming: list[ShownEvent] = []  # the latest alerts


class LiveFeed:
    """Takes the pulse of a service, and tells it."""

    def __init__(self, engine: Engine, batcher: Batcher, metrics: Metrics) -> None:
        self.engine, self.batcher, self.metrics = engine, batcher, metrics
        self.watchers, self.since = Watchers(), time.time()
        with suppress(KeatError):  # what cannot be read is not shown; whoever asks for it is told
            engine.latest.read(engine.log)

    async def live(self, request: Request) -> Response:  # noqa: ARG002
        watcher = self.watchers.join([_sent("begin", self.beginning()), _sent("now", self.moment())])
        return StreamingResponse(self.watchers.parts(watcher), media_type="text/event-stream")

    async def run(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            self.tick()

    def tick(self) -> None:
        """A second is over."""
        batcher, events = self.batcher, self.engine.counts.events
        most, batcher.most_waiting = max(batcher.most_waiting, batcher.queued), 0
        self.metrics.pulse.tick(time.monotonic(), time.time(), events, most)
        if len(self.watchers):
            self.watchers.tell(_sent("now", self.moment()))

    def beginning(self) -> dict[str, Any]:
        """What a page is told first: what is served, and the last minutes."""
        run = self.engine.served.run
        return {
            "run": run.folder.resolve().name,
            "kind": run.spec.model,
            "task": run.spec.task.kind,
            "version": keat.__version__,
            "durability": self.engine.log.durability,
            "most_queued": self.batcher.most_queued,
            "since": self.since,
            "past": list(self.metrics.pulse.past),
        }

    def moment(self) -> Moment:
        engine, counts, past = self.engine, self.engine.counts, self.metrics.pulse.past
        served, drift = engine.served, engine.watch.drift.report(0).measures
        naming = Naming(engine.ids, served.run.unit, engine.models)
        return Moment(
            second=past[-1] if past else Second(time.time(), 0.0, None, None, self.batcher.queued),
            seq=engine.log.tail.event,
            model=served.fingerprint,
            nodes=len(engine.ids),
            late=counts.late,
            again=counts.again,
            newcomers=counts.newcomers,
            refused=self.metrics.refused(),
            snapshot=last_event_of_newest(engine.folder),
            log_bytes=size_of_log(engine.folder),
            memory_bytes=memory(),
            watchers=len(self.watchers),
            alerts=alert_report(engine),
            drift=[Drifting(one.name, one.level, one.sentence) for one in drift],
            trouble=self.batcher.trouble,
            scores=engine.latest.scores(),
            latest=engine.latest.shown(naming),
            alarming=engine.latest.alerts(naming),
        )


def _sent(kind: str, content: Any) -> Sent:
    return Sent(kind, None, msgspec.json.encode(content))


def size_of_log(folder: Path) -> int:
    """Bytes of the log on the disk, and of what waits in its WAL."""
    total = 0
    for name in (FILE, f"{FILE}-wal"):
        with suppress(OSError):
            total += (folder / name).stat().st_size
    return total


def memory() -> int | None:
    """Bytes of this process in memory; None where the system does not say."""
    if sys.platform != "linux":
        return None
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
