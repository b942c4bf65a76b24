"""The gateway: HTTP in front of the engine. It checks what comes, and puts events into micro-batches."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from keat.errors import InputError, KeatError
from keat.serve.batching import MOST_QUEUED, Batcher
from keat.serve.beside_service import begun
from keat.serve.door import Door
from keat.serve.engine import Engine, Wanted
from keat.serve.events import Checked, LabelTold, Pair, RankQuestion
from keat.serve.explain_requests import ExplainRequests
from keat.serve.label_taking import tell
from keat.serve.limits import Limits, NewIds
from keat.serve.live_answers import Answer
from keat.serve.live_feed import LiveFeed, memory, size_of_log
from keat.serve.model_routes import ModelRoutes
from keat.serve.openapi import description
from keat.serve.page_routes import page_routes
from keat.serve.reading import FORMS, Form, TooLargeError, checked_events, objects
from keat.serve.refusals import RefusedError, refusal_of
from keat.serve.service_metrics import Metrics, memory_metrics
from keat.serve.state_snapshots import last_event_of_newest
from keat.serve.watch_routes import WatchRoutes

SNAPSHOT_EVERY = 250_000  # events
TRY_AGAIN = 60  # seconds after a snapshot that failed
JSON, NDJSON, TEXT = "application/json", "application/x-ndjson", "text/plain; version=0.0.4; charset=utf-8"
Handler = Callable[[Request], Awaitable[Response]]
_encoder = msgspec.json.Encoder()
_encode = _encoder.encode


@dataclass(frozen=True, slots=True)
class Service:
    """How a run is served."""

    host: str = "127.0.0.1"
    port: int = 8_000
    token: str | None = None
    limits: Limits = field(default_factory=Limits)
    most_queued: int = MOST_QUEUED
    snapshot_every: int = SNAPSHOT_EVERY
    models: Path | None = None  # the folder whose runs may be loaded beside the one that answers


class Gateway:
    """The routes of a service, and what goes on beside them."""

    def __init__(self, engine: Engine, service: Service) -> None:
        self.engine, self.service, self.metrics = engine, service, Metrics()
        self.new_ids = NewIds(service.limits.new_ids)
        self.batcher = Batcher(engine, service.most_queued)
        self.feed, self.why = LiveFeed(engine, self.batcher, self.metrics), ExplainRequests(engine)
        self.watching, self.models = WatchRoutes(self), ModelRoutes(self, service.models)
        self._snapshot: asyncio.subprocess.Process | None = None
        self._tried = 0.0  # when it was begun

    def app(self) -> Door:
        posts: dict[str, Handler] = {
            "/v1/events": self.events,
            "/v1/score": self.score,
            "/v1/rank": self.rank,
            "/v1/labels": self.labels,
            "/v1/models": self.models.order,
        }
        gets: dict[str, Handler] = {
            "/v1/explain/{seq}": self.why.as_json,
            "/v1/explain/{seq}/page": self.why.as_page,
            "/v1/live": self.feed.live,
            "/v1/models": self.models.show,
            "/metrics": self.show_metrics,
            "/healthz": self.health,
            "/readyz": self.ready,
            "/openapi.json": self.openapi,
            **page_routes(),
            **self.watching.gets(),
        }
        routes = [
            Route(path, self._answered(path, handler), methods=[method])
            for method, handlers in (("POST", posts), ("GET", gets))
            for path, handler in handlers.items()
        ]
        return Door(Starlette(routes=routes, lifespan=self._lifespan), self.service.host, self.service.token)

    def _answered(self, path: str, handler: Handler) -> Handler:
        """With errors as sentences, and counted."""

        async def answer(request: Request) -> Response:
            started = time.perf_counter()
            try:
                response = await handler(request)
            except ClientDisconnect:
                response = Response(status_code=499)
            except Exception as error:
                refusal = refusal_of(error)
                if refusal.status == 500:
                    print(f"keat serve: {type(error).__name__}: {error}", file=sys.stderr)
                response = _refused(refusal)
            self.metrics.add(path, response.status_code, time.perf_counter() - started)
            return response

        return answer

    # -- events and questions --------------------------------------------------------------------------

    async def events(self, request: Request) -> Response:
        wanted = Wanted(_flag(request, "rank"), _flag(request, "reasons"))
        body, form = await self.body(request)
        engine = self.engine
        checked, single = checked_events(engine.checker, body, form, self.service.limits)
        repeated = [event for event in checked if event.id and engine.recent.get(event.id) is not None]
        if repeated:
            async with self.batcher.between:  # the log is read, so nobody may be writing it
                for event in repeated:
                    engine.require_same(event)
        self.welcome(checked)
        content, kind = encoded(await self.batcher.submit(checked, wanted), single, form)
        return Response(content, media_type=kind)

    def welcome(self, events: list[Checked]) -> None:
        """Refuse events that would have too many new nodes join at once."""
        find, strangers = self.engine.ids.find, set()
        for event in events:
            if find(event.source, 0) is None:
                strangers.add((0, event.source))
            if find(event.destination, 1) is None:
                strangers.add((1, event.destination))
        if strangers:
            self.new_ids.take(len(strangers))

    async def score(self, request: Request) -> Response:
        why = _flag(request, "reasons")
        body, form = await self.body(request)
        pairs, single = objects(Pair, body, form, self.service.limits.pairs, "pairs")
        engine, read = self.engine, self.engine.checker
        source = [read.ids.read(pair.source) for pair in pairs]
        destination = [read.ids.read(pair.destination) for pair in pairs]
        times = [None if pair.time is None else read.time(pair.time) for pair in pairs]
        encoded = engine.judge.features([pair.features for pair in pairs])
        async with self.batcher.between:
            self.batcher.require_state()
            scored = engine.judge.score(source, destination, times, encoded, why)
        about = {"model": engine.served.fingerprint, "seq": engine.log.tail.event}
        if single:
            return Response(_encode(about | msgspec.to_builtins(scored[0])), media_type=JSON)
        return Response(_encode(about | {"pairs": scored}), media_type=JSON)

    async def rank(self, request: Request) -> Response:
        body, form = await self.body(request)
        questions, single = objects(RankQuestion, body, form, 100, "questions")
        engine, read = self.engine, self.engine.checker
        found = []
        for question in questions:
            candidates = question.candidates
            if candidates is not None and not 0 < len(candidates) <= self.service.limits.pairs:
                raise InputError(f"Give 1 to {self.service.limits.pairs:,} candidates, or none for all.")
            asked = (
                read.ids.read(question.source),
                None if candidates is None else [read.ids.read(one) for one in dict.fromkeys(candidates)],
                None if question.time is None else read.time(question.time),
                question.top,
            )
            async with self.batcher.between:
                self.batcher.require_state()
                found.append(engine.judge.rank(*asked, engine.log.tail.event))
        return Response(_encode(found[0] if single else found), media_type=JSON)

    async def labels(self, request: Request) -> Response:
        body, form = await self.body(request)
        told, _ = objects(LabelTold, body, form, self.service.limits.events, "labels")
        last, now = self.engine.log.tail.event, int(time.time())
        rows = []
        for number, label in enumerate(told, start=1):
            if (label.seq is None) == (label.id is None):
                raise InputError(f"Label {number}: name the event by its seq or by its id.")
            seq = self.engine.number_of(label.id or "") if label.seq is None else label.seq
            if not 1 <= seq <= last:
                raise InputError(f"Label {number}: there is no event {seq}; the log has 1 to {last:,}.")
            rows.append((seq, float(label.label), now))
        async with self.batcher.between:
            tell(self.engine, rows)
        await self.watching.look_at_labels()
        return Response(_encode({"told": len(rows)}), media_type=JSON)

    # -- how it is -------------------------------------------------------------------------------------

    async def show_metrics(self, request: Request) -> Response:  # noqa: ARG002
        engine, counts = self.engine, self.engine.counts
        values = {
            "keat_events_total": ("counter", "Events taken.", counts.events),
            "keat_batches_total": ("counter", "Micro-batches committed.", counts.batches),
            "keat_late_events_total": ("counter", "Events older than the last.", counts.late),
            "keat_repeated_events_total": ("counter", "Events sent again.", counts.again),
            "keat_new_nodes_total": ("counter", "Nodes that joined.", counts.newcomers),
            "keat_queued_events": ("gauge", "Events that wait.", self.batcher.queued),
            "keat_nodes": ("gauge", "Nodes known.", len(engine.ids)),
            "keat_log_last_event": ("gauge", "Number of the last event.", engine.log.tail.event),
            "keat_last_snapshot_event": (
                "gauge",
                "Last event in a snapshot.",
                last_event_of_newest(engine.folder),
            ),
            "keat_log_bytes": ("gauge", "Size of the log on the disk.", size_of_log(engine.folder)),
            "keat_memory_bytes": ("gauge", "Memory of the process.", memory() or 0),
            "keat_pages_open": ("gauge", "Pages that watch the service.", len(self.feed.watchers)),
            **self.watching.metrics(),
            **memory_metrics(engine.state.model),
            "keat_ready": ("gauge", "Whether events are taken.", int(self.batcher.trouble is None)),
        }
        return Response(self.metrics.text(values) + engine.latest.metric(), media_type=TEXT)

    async def health(self, request: Request) -> Response:  # noqa: ARG002
        return Response(_encode({"alive": True}), media_type=JSON)

    async def ready(self, request: Request) -> Response:  # noqa: ARG002
        if self.batcher.trouble is not None:
            raise RefusedError(503, self.batcher.trouble)
        engine = self.engine
        about = {"ready": True, "seq": engine.log.tail.event, "model": engine.served.fingerprint}
        return Response(_encode(about), media_type=JSON)

    async def openapi(self, request: Request) -> Response:  # noqa: ARG002
        return Response(_encode(description()), media_type=JSON)

    # -- beside ----------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:  # noqa: ARG002
        self.batcher.start()
        works = (self._keep_house(), self.feed.run(), self.watching.look_at_labels())
        beside = [asyncio.create_task(work) for work in works]
        try:
            yield
        finally:
            self.models.stop()
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await self.watching.end()
            if self._snapshot is not None and self._snapshot.returncode is None:
                self._snapshot.kill()
            await self.batcher.stop()
            fresh = self.engine.log.tail.event > last_event_of_newest(self.engine.folder)
            if fresh and not self.batcher.lost:
                with suppress(KeatError):  # a full disk: the log has it all
                    self.engine.snapshot()
            self.engine.close()

    async def _keep_house(self) -> None:
        """Snapshots, in a process of their own, and a log that is moved out of the WAL."""
        log, loop = self.engine.log, asyncio.get_running_loop()
        while True:
            await asyncio.sleep(1.0)
            with suppress(KeatError, OSError):  # a full disk: the next second may be better
                if log.is_untidy:
                    await loop.run_in_executor(None, log.move_rows)
                    async with self.batcher.between:
                        await loop.run_in_executor(None, log.tidy)
                since = log.tail.event - last_event_of_newest(self.engine.folder)
                if since >= self.service.snapshot_every and self._may_try(loop.time()):
                    self._snapshot, self._tried = await begun(self.engine, "snapshot"), loop.time()

    def _may_try(self, now: float) -> bool:
        """Whether a snapshot can be begun: none is on its way, and the last did not just fail."""
        if self._snapshot is None:
            return True
        failed = self._snapshot.returncode not in (None, 0)
        return self._snapshot.returncode == 0 or (failed and now > self._tried + TRY_AGAIN)

    async def body(self, request: Request) -> tuple[bytes, Form]:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in FORMS:
            raise RefusedError(415, f"Send {JSON} or {NDJSON}, and say so in Content-Type.")
        most = self.service.limits.body
        too_large = f"The body is larger than {most:,} bytes; send it in parts."
        length = request.headers.get("content-length", "0")
        if length.isdecimal() and int(length) > most:
            raise TooLargeError(too_large)
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise TooLargeError(too_large)
            parts.append(part)
        return b"".join(parts), FORMS[kind]


def encoded(answers: list[Answer], single: bool, form: Form) -> tuple[bytes, str]:
    """Answers in the form in which the events came, and what that is called."""
    if single:
        return _encode(answers[0]), JSON
    if form == "ndjson":
        return _encoder.encode_lines(answers), NDJSON
    return _encode(answers), JSON


def _flag(request: Request, name: str) -> bool:
    """Whether something is asked for in the address, as in ?rank=true."""
    if not request.url.query:
        return False
    for given in request.query_params:
        if given not in ("rank", "reasons"):
            raise InputError(f"There is no '{given[:40]}' to ask for; ask for rank or reasons.")
    value = request.query_params.get(name, "false")
    if value not in ("true", "false", "1", "0"):
        raise InputError(f"'{name}' is true or false, not '{value[:40]}'.")
    return value in ("true", "1")


def _refused(refusal: RefusedError) -> Response:
    return Response(
        _encode({"error": str(refusal)}), refusal.status, headers=refusal.headers, media_type=JSON
    )
