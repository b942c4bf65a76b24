"""Routes of those who watch: alerts as they come, how the service is, whether the stream drifts."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from keat.errors import InputError, KeatError
from keat.serve.alerts import Alert, alert_report, alerts_after, alerts_in
from keat.serve.label_taking import look_at_labels
from keat.serve.log_rows import Row
from keat.serve.refitting import conclude, due, tried
from keat.serve.requests import JSON
from keat.serve.service_metrics import Value
from keat.serve.service_state import service_state
from keat.serve.watchers import Lost, Sent, Watchers

if TYPE_CHECKING:
    from keat.serve.gateway import Gateway

EVENTS = "text/event-stream"


class WatchRoutes:
    """What can be watched of one service."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway, self._engine = gateway, gateway.engine
        self.watchers = Watchers()
        self._engine.announce = self._announce
        self._refitting: asyncio.Task[None] | None = None

    def gets(self) -> dict[str, Callable[[Request], Awaitable[Response]]]:
        return {"/v1/alerts": self.alerts, "/v1/state": self.state, "/v1/drift": self.drift}

    async def alerts(self, request: Request) -> Response:
        """Server-sent events: those after the one that was read last, and then as they come."""
        after = _last_read(request)
        past: list[Sent] = []
        async with self._gateway.batcher.between:  # so that none is missed or sent twice
            watch = self._engine.watch
            if after is not None:
                past = [_sent(alert) for alert in alerts_after(self._engine, after)]
                if watch.alerts > len(watch.latest) and after < watch.latest[0]:
                    sentence = (
                        f"Alerts before event {watch.latest[0]:,} are not sent again; they are in the log."
                    )
                    past.insert(0, Sent("lost", None, msgspec.json.encode(Lost(None, sentence))))
            watcher = self.watchers.join(past)
        return StreamingResponse(self.watchers.parts(watcher), media_type=EVENTS)

    async def state(self, request: Request) -> Response:  # noqa: ARG002
        found = service_state(self._engine, self._gateway.batcher)
        return Response(msgspec.json.encode(found), media_type=JSON)

    async def drift(self, request: Request) -> Response:  # noqa: ARG002
        engine = self._engine
        return Response(
            msgspec.json.encode(engine.watch.drift.report(engine.log.tail.event)), media_type=JSON
        )

    def metrics(self) -> dict[str, Value]:
        """For Prometheus; what is not known yet is left out."""
        alerts = alert_report(self._engine)
        found: dict[str, Value] = {
            "keat_alerts_total": ("counter", "Alerts of the log.", alerts.in_all),
            "keat_alerts_last_hour": ("gauge", "Alerts of the last hour of events.", alerts.in_window),
            "keat_labels": ("gauge", "Labels that count, of the latest.", alerts.truth.labels),
            "keat_watchers": ("gauge", "Those who watch alerts.", len(self.watchers)),
        }
        known = {
            "keat_alert_precision": ("Share of labelled alerts that were right.", alerts.truth.precision),
            "keat_detection_seconds": ("Median time to detection.", alerts.truth.seconds_to_detection),
        }
        for measure in self._engine.watch.drift.report(0).measures:
            about = f"Population stability index of {measure.name}."
            known[f"keat_drift_{measure.name}"] = (about, measure.index)
        return found | {
            name: ("gauge", about, value) for name, (about, value) in known.items() if value is not None
        }

    async def look_at_labels(self) -> None:
        """What labels say, a few of them between two batches."""
        more = True
        while more:
            async with self._gateway.batcher.between:
                more = look_at_labels(self._engine)
            await asyncio.sleep(0)
        if self._refitting is None or self._refitting.done():
            self._refitting = asyncio.create_task(self._refit())

    async def _refit(self) -> None:
        """Fit the calibration again while that is due: in another thread, to be exchanged between batches."""
        engine, batcher, loop = self._engine, self._gateway.batcher, asyncio.get_running_loop()
        try:
            while True:
                async with batcher.between:
                    batcher.require_state()
                    lesson = due(engine)
                if lesson is None:
                    return
                found = await loop.run_in_executor(None, tried, lesson)
                async with batcher.between:
                    batcher.require_state()
                    await loop.run_in_executor(None, conclude, engine, found)
        except KeatError as error:  # a full disk: the present one stays, and later labels try again
            print(f"keat serve: the calibration is not exchanged ({error})", file=sys.stderr)

    async def end(self) -> None:
        """Nothing of it is on its way to the log any more."""
        if self._refitting is not None:
            await asyncio.gather(self._refitting, return_exceptions=True)

    def close(self) -> None:
        self.watchers.close()

    def _announce(self, first: int, row: Row) -> None:
        if len(self.watchers):
            for alert in alerts_in(self._engine, first, row):
                self.watchers.tell(_sent(alert))


def _sent(alert: Alert) -> Sent:
    return Sent("alert", alert.seq, msgspec.json.encode(alert))


def _last_read(request: Request) -> int | None:
    """The number of the last alert that was read: from the header, as browsers send it when a connection
    broke, or from the address, as in ?after=0 for all that are kept."""
    for given in request.query_params:
        if given != "after":
            raise InputError(f"There is no '{given[:40]}' to ask for; ask for after.")
    text = request.headers.get("last-event-id") or request.query_params.get("after")
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise InputError(f"'{text[:20]}' is no number of an event; give that of the last alert you have.")
    return int(text)
