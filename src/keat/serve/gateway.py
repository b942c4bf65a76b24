"""The gateway: HTTP in front of the engine. It checks what comes, and puts events into micro-batches."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from keat.errors import InputError
from keat.serve.batching import MOST_QUEUED, Batcher
from keat.serve.door import Door
from keat.serve.engine import Engine
from keat.serve.events import Checked, LabelTold
from keat.serve.explain_requests import ExplainRequests
from keat.serve.housekeeping import SNAPSHOT_EVERY, Housekeeping
from keat.serve.kafka_intake import KafkaIntake
from keat.serve.kafka_source import Topic
from keat.serve.label_taking import tell
from keat.serve.limits import Limits, NewIds
from keat.serve.live_answers import Answer
from keat.serve.live_feed import LiveFeed
from keat.serve.model_routes import ModelRoutes
from keat.serve.page_routes import page_routes
from keat.serve.question_routes import QuestionRoutes
from keat.serve.reading import Form, checked_events, objects
from keat.serve.refusals import RefusedError, refusal_of
from keat.serve.requests import JSON, NDJSON, body_of, wanted_in
from keat.serve.service_metrics import Metrics
from keat.serve.status_routes import StatusRoutes
from keat.serve.watch_routes import WatchRoutes

if TYPE_CHECKING:
    from keat.serve.topic_reader import TopicReader

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
    window: int = 0  # seconds that events may come out of order
    topic: Topic | None = None  # which brings events, too


class Gateway:
    """The routes of a service, and what goes on beside them."""

    def __init__(self, engine: Engine, service: Service, reader: TopicReader | None = None) -> None:
        """``reader`` reads a topic that brings events, too."""
        self.engine, self.service, self.metrics = engine, service, Metrics()
        self.new_ids = NewIds(service.limits.new_ids)
        self.batcher = Batcher(engine, service.most_queued)
        self.feed, self.why = LiveFeed(engine, self.batcher, self.metrics), ExplainRequests(engine)
        self.watching, self.models = WatchRoutes(self), ModelRoutes(self, service.models)
        self.kafka = None if reader is None else KafkaIntake(self, reader)
        self.house = Housekeeping(self.batcher, service.snapshot_every)

    def app(self) -> Door:
        questions = QuestionRoutes(self.batcher, self.service.limits)
        status = StatusRoutes(self.batcher, self.metrics, self.feed, self.watching, self.kafka)
        posts: dict[str, Handler] = {
            "/v1/events": self.events,
            "/v1/score": questions.score,
            "/v1/rank": questions.rank,
            "/v1/labels": self.labels,
            "/v1/models": self.models.order,
        }
        gets: dict[str, Handler] = {
            "/v1/explain/{seq}": self.why.as_json,
            "/v1/explain/{seq}/page": self.why.as_page,
            "/v1/live": self.feed.live,
            "/v1/models": self.models.show,
            **status.gets(),
            **self.watching.gets(),
            **page_routes(),
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

    # -- events and labels -----------------------------------------------------------------------------

    async def events(self, request: Request) -> Response:
        wanted = wanted_in(request)
        body, form = await body_of(request, self.service.limits)
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

    async def labels(self, request: Request) -> Response:
        body, form = await body_of(request, self.service.limits)
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

    # -- beside ----------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:  # noqa: ARG002
        self.batcher.start()
        works: list[Coroutine[Any, Any, None]] = [self.house.run(), self.feed.run()]
        works.append(self.watching.look_at_labels())
        if self.kafka is not None:
            works.append(self.kafka.run())
        beside = [asyncio.create_task(work) for work in works]
        try:
            yield
        finally:
            self.models.stop()
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await self.watching.end()
            if self.kafka is not None:
                await self.kafka.end()
            await self.batcher.stop()
            self.house.end()
            self.engine.close()


def encoded(answers: list[Answer], single: bool, form: Form) -> tuple[bytes, str]:
    """Answers in the form in which the events came, and what that is called."""
    if single:
        return _encode(answers[0]), JSON
    if form == "ndjson":
        return _encoder.encode_lines(answers), NDJSON
    return _encode(answers), JSON


def _refused(refusal: RefusedError) -> Response:
    return Response(
        _encode({"error": str(refusal)}), refusal.status, headers=refusal.headers, media_type=JSON
    )
