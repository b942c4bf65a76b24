"""Routes for those who run the service: whether it is alive and ready, what it counted, what can be asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from keat.serve.batching import Batcher
from keat.serve.kafka_intake import KafkaIntake
from keat.serve.live_feed import LiveFeed, memory, size_of_log
from keat.serve.openapi import description
from keat.serve.refusals import RefusedError
from keat.serve.requests import JSON
from keat.serve.service_metrics import Metrics, Value
from keat.serve.state_snapshots import last_event_of_newest
from keat.serve.watch_routes import WatchRoutes

TEXT = "text/plain; version=0.0.4; charset=utf-8"


class StatusRoutes:
    """How one service is."""

    def __init__(
        self,
        batcher: Batcher,
        metrics: Metrics,
        feed: LiveFeed,
        watching: WatchRoutes,
        kafka: KafkaIntake | None,
    ) -> None:
        self._kafka = kafka
        self._engine, self._batcher, self._metrics = batcher.engine, batcher, metrics
        self._feed, self._watching = feed, watching

    def gets(self) -> dict[str, Callable[[Request], Awaitable[Response]]]:
        return {
            "/metrics": self.metrics,
            "/healthz": self.health,
            "/readyz": self.ready,
            "/openapi.json": self.openapi,
        }

    async def metrics(self, request: Request) -> Response:  # noqa: ARG002
        engine, counts = self._engine, self._engine.counts
        newest = last_event_of_newest(engine.folder)
        values: dict[str, Value] = {
            "keat_events_total": ("counter", "Events taken.", counts.events),
            "keat_batches_total": ("counter", "Micro-batches committed.", counts.batches),
            "keat_late_events_total": ("counter", "Events too late for the window.", counts.late),
            "keat_reordered_events_total": ("counter", "Out of order in the window.", counts.reordered),
            "keat_repeated_events_total": ("counter", "Events sent again.", counts.again),
            "keat_new_nodes_total": ("counter", "Nodes that joined.", counts.newcomers),
            "keat_queued_events": ("gauge", "Events that wait.", self._batcher.queued),
            "keat_unobserved_events": ("gauge", "Whose time is not over.", len(engine.state.waiting)),
            "keat_nodes": ("gauge", "Nodes known.", len(engine.ids)),
            "keat_log_last_event": ("gauge", "Number of the last event.", engine.log.tail.event),
            "keat_last_snapshot_event": ("gauge", "Last event in a snapshot.", newest),
            "keat_log_bytes": ("gauge", "Size of the log on the disk.", size_of_log(engine.folder)),
            "keat_memory_bytes": ("gauge", "Memory of the process.", memory() or 0),
            "keat_pages_open": ("gauge", "Pages that watch the service.", len(self._feed.watchers)),
            **self._watching.metrics(),
            "keat_ready": ("gauge", "Whether events are taken.", int(self._batcher.trouble is None)),
        }
        kafka = "" if self._kafka is None else self._kafka.metric()
        return Response(self._metrics.text(values) + engine.latest.metric() + kafka, media_type=TEXT)

    async def health(self, request: Request) -> Response:  # noqa: ARG002
        return _json({"alive": True})

    async def ready(self, request: Request) -> Response:  # noqa: ARG002
        if self._batcher.trouble is not None:
            raise RefusedError(503, self._batcher.trouble)
        engine = self._engine
        return _json({"ready": True, "seq": engine.log.tail.event, "model": engine.served.fingerprint})

    async def openapi(self, request: Request) -> Response:  # noqa: ARG002
        return _json(description())


def _json(content: dict[str, object]) -> Response:
    return Response(msgspec.json.encode(content), media_type=JSON)
