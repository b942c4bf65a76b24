"""What is watched while events are taken: who is an alert, whether the stream drifts, and how far topics were
read. All of it follows from the log: a restart reads it from a snapshot and the rows after it, as it does the
state."""

from __future__ import annotations

from collections import deque

import msgspec
import numpy as np
import numpy.typing as npt

from keat.events.units import TimeUnit
from keat.serve.alert_budget import AlertBudget, Window
from keat.serve.live_drift import Drift, Kept
from keat.serve.log_records import Calibrated, Record, Settings, Swap
from keat.serve.log_rows import Row, columns_of, logits_of

LATEST = 1_000  # alerts whose numbers are kept
LONG_AGO = -(1 << 62)


class Watched(msgspec.Struct):
    """What a snapshot keeps of it, beside the times of sources."""

    window: Window
    alerts: int = 0
    latest: list[int] = []
    drift: dict[str, Kept] = {}
    newest: int = LONG_AGO
    offsets: dict[str, int] = {}


class Watch:
    """Follows the rows of a log. In a run that scores links the unlikely is suspicious; in one that labels
    events the likely, for that is a label of the wanted kind."""

    def __init__(self, unit: TimeUnit, labels_events: bool) -> None:
        self.unit, self.labels_events = unit, labels_events
        self.budget, self.drift = AlertBudget(Settings().alerts, unit), Drift(unit)
        self.alerts = 0  # in all
        self.latest: deque[int] = deque(maxlen=LATEST)  # numbers of the latest alerts
        self.settings = Settings()
        self.newest = LONG_AGO  # time of an event
        self.offsets: dict[str, int] = {}  # how far each partition of a topic was read

    def decide(self, t: npt.NDArray[np.int64], logits: npt.NDArray[np.float32]) -> list[int]:
        """Events are about to be committed; the positions of those that are alerts. An hour is one of the
        newest time at which each was scored, for that never falls."""
        newest = np.maximum.accumulate(np.maximum(t, self.newest))
        self.newest = int(newest[-1])
        return self.budget.take(newest, logits if self.labels_events else -logits)

    def follow(self, first: int, row: Row) -> None:
        """A row is in the log, for which `decide` was asked."""
        columns, logits = columns_of([row]), logits_of(row)
        self.alerts += len(row.alerts)
        self.latest.extend(first + place for place in row.alerts)
        self.offsets |= row.offsets
        self.drift.take(columns.src, columns.t, self.newest, logits)
        if not self.labels_events:
            self.drift.take_loss(self.newest, np.logaddexp(0.0, -logits.astype(np.float64)))

    def replay(self, first: int, row: Row) -> None:
        """A row of an earlier life of this process."""
        self.decide(columns_of([row]).t, logits_of(row))
        self.follow(first, row)

    def told(self, record: Record) -> None:
        """A record is in the log."""
        if isinstance(record, Settings):
            self.settings = record
            self.budget = AlertBudget(record.alerts, self.unit, self.budget.window())
        elif isinstance(record, Swap):
            self.budget.forget_scores()
            self.drift.forget_scores()
        elif isinstance(record, Calibrated):  # logits stay, and alerts go by them
            self.drift.forget_loss()

    def threshold(self, t: int) -> float | None:
        """The logit that an event must pass to be an alert: from above, or from below where links are
        scored."""
        found = self.budget.threshold(t)
        return found if found is None or self.labels_events else -found

    # -- keeping ---------------------------------------------------------------------------------------

    def kept(self) -> Watched:
        drift = self.drift.kept()
        if self.labels_events:
            drift.pop("loss")  # it is made again from the labels, which a restart reads
        latest = list(self.latest)
        return Watched(self.budget.window(), self.alerts, latest, drift, self.newest, dict(self.offsets))

    def restore(self, kept: Watched, last_seen: npt.NDArray[np.int64], records: list[Record]) -> None:
        """What `kept` gave, after these records of the log."""
        for record in records:
            self.told(record)
        self.budget = AlertBudget(self.settings.alerts, self.unit, kept.window)
        self.alerts, self.latest = kept.alerts, deque(kept.latest, maxlen=LATEST)
        self.drift = Drift(self.unit, kept.drift)
        self.drift.last_seen = last_seen.copy()
        self.newest, self.offsets = kept.newest, dict(kept.offsets)
