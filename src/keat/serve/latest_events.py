"""The latest events of the log and their scores, for those who look at the service.

Taking an event costs one append; what is shown is made when somebody looks.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from keat.events import TimeUnit
from keat.events.written_times import spoken_column
from keat.serve.live_answers import Answer, Answerer, answers_of
from keat.serve.live_ids import LiveIds
from keat.serve.log import Log
from keat.serve.log_rows import Row, columns_of

KEPT = 2_000  # events
ROWS_READ = 200  # of the log, when a service begins
SHOWN = 8  # events, and alerts, on a page
BINS = 32
BUCKETS = (-20, -15, -10, -8, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20)  # logits
UNCOUNTED = 4_096  # rows


class ShownEvent(msgspec.Struct, omit_defaults=True):
    """An event as a page shows it; all that a client wrote is text."""

    seq: int
    source: str
    destination: str
    time: str
    logit: float
    probability: float | None = None
    late: bool = False


class ScoreBins(msgspec.Struct):
    """How the latest scores spread: counts in equal steps from the lowest to the highest."""

    low: float
    high: float
    counts: list[int]


class Naming(NamedTuple):
    """What is needed to show an event."""

    ids: LiveIds
    unit: TimeUnit
    models: list[Answerer]


class LatestEvents:
    """Rows of the log that were committed last."""

    def __init__(self) -> None:
        self._rows: deque[tuple[int, Row]] = deque()
        self._alerts: deque[tuple[int, Row]] = deque(maxlen=SHOWN)  # rows that have some
        self._events = 0
        self._uncounted: list[bytes] = []
        self._counts = np.zeros(len(BUCKETS) + 1, np.int64)
        self._sum = 0.0

    def add(self, first: int, row: Row) -> None:
        """A row that is in the log now."""
        self._keep(first, row)
        self._uncounted.append(row.logits)
        if len(self._uncounted) >= UNCOUNTED:
            self._count()

    def read(self, log: Log) -> None:
        """What the log has from before this service began; nothing where events have come since."""
        if self._rows:
            return
        found: list[tuple[int, Row]] = []
        event, events = log.tail.event, 0
        while event > 0 and len(found) < ROWS_READ and events < KEPT:
            first, row = log.row_of(event)
            found.append((first, row))
            event, events = first - 1, events + len(row)
        for first, row in reversed(found):
            self._keep(first, row)

    def _keep(self, first: int, row: Row) -> None:
        self._rows.append((first, row))
        if row.alerts:
            self._alerts.append((first, row))
        self._events += len(row)
        while self._events - len(self._rows[0][1]) >= KEPT:
            self._events -= len(self._rows.popleft()[1])

    # -- looking ---------------------------------------------------------------------------------------

    def shown(self, naming: Naming, number: int = SHOWN) -> list[ShownEvent]:
        """The latest, newest first."""
        found: list[tuple[int, Row, list[int]]] = []
        events = 0
        for first, row in reversed(self._rows):
            places = [*range(len(row) - 1, max(len(row) - 1 - number + events, -1), -1)]
            found.append((first, row, places))
            events += len(places)
            if events >= number:
                break
        return _shown(found, naming)

    def alerts(self, naming: Naming, number: int = SHOWN) -> list[ShownEvent]:
        """The latest alerts, newest first."""
        found = [(first, row, row.alerts[::-1]) for first, row in reversed(self._alerts)]
        return _shown(found, naming)[:number]

    def scores(self) -> ScoreBins | None:
        """Of the latest events; None where there is none."""
        if not self._rows:
            return None
        logits = _numbers([row.logits for _, row in self._rows])
        counts, edges = np.histogram(logits, BINS)
        return ScoreBins(float(edges[0]), float(edges[-1]), counts.tolist())

    # -- counting --------------------------------------------------------------------------------------

    def _count(self) -> None:
        if self._uncounted:
            logits = _numbers(self._uncounted)
            places = np.searchsorted(BUCKETS, logits)
            self._counts += np.bincount(places, minlength=len(self._counts))
            self._sum += float(logits.sum(dtype=np.float64))
            self._uncounted.clear()

    def metric(self) -> str:
        """All scores since the service began, as a histogram for Prometheus."""
        self._count()
        lines = ["# HELP keat_score Scores of events, as logits.", "# TYPE keat_score histogram"]
        total = 0
        for bound, number in zip((*map(str, BUCKETS), "+Inf"), self._counts.tolist(), strict=True):
            total += number
            lines.append(f'keat_score_bucket{{le="{bound}"}} {total}')
        return "\n".join([*lines, f"keat_score_sum {self._sum:.6f}", f"keat_score_count {total}"]) + "\n"


def _shown(rows: list[tuple[int, Row, list[int]]], naming: Naming) -> list[ShownEvent]:
    """Events of rows, by their positions."""
    found: list[tuple[str, str, Answer]] = []
    times: list[int] = []
    names = naming.ids.labels
    for first, row, places in rows:
        columns = columns_of([row])
        answers = answers_of(row, first, naming.models, places)
        for place, answer in zip(places, answers, strict=True):
            found.append((str(names[columns.src[place]]), str(names[columns.dst[place]]), answer))
            times.append(columns.t[place])
    written = spoken_column(np.array(times, np.int64), naming.unit).to_pylist()  # all at once: it is slow
    return [
        ShownEvent(it.seq, source, destination, time, it.logit, it.probability, it.late is not None)
        for (source, destination, it), time in zip(found, written, strict=True)
    ]


def _numbers(logits: list[bytes]) -> npt.NDArray[np.float32]:
    return np.frombuffer(b"".join(logits), dtype="<f4")
