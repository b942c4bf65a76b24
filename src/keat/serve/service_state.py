"""How a service is, in one object: what `/v1/state` answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from keat.serve.alerts import AlertReport, alert_report
from keat.serve.live_drift import DriftReport
from keat.serve.refitting import CalibrationReport, calibration_report
from keat.serve.state_snapshots import last_event_of_newest

if TYPE_CHECKING:
    from keat.serve.batching import Batcher
    from keat.serve.engine import Engine


class ServiceState(msgspec.Struct):
    """Counts are since this process began."""

    ready: bool
    trouble: str | None
    seq: int  # the last event of the log
    model: str  # the fingerprint of the one that answers
    time: int  # of the last event
    unit: str
    nodes: int
    events: int
    batches: int
    late: int
    again: int
    newcomers: int
    queued: int
    last_snapshot: int  # the last event that a snapshot has
    alerts: AlertReport
    drift: DriftReport
    calibration: CalibrationReport


def service_state(engine: Engine, batcher: Batcher) -> ServiceState:
    counts, seq = engine.counts, engine.log.tail.event
    return ServiceState(
        batcher.trouble is None,
        batcher.trouble,
        seq,
        engine.served.fingerprint,
        engine.state.last_time,
        engine.state.unit,
        len(engine.ids),
        counts.events,
        counts.batches,
        counts.late,
        counts.again,
        counts.newcomers,
        batcher.queued,
        last_event_of_newest(engine.folder),
        alert_report(engine),
        engine.watch.drift.report(seq),
        calibration_report(engine),
    )
