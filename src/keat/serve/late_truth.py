"""What labels that come late say about the alerts: how many were right, and how long it took to find what was
wrong. A label above one half means that the event was of the kind that is looked for."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import numpy as np

from keat.serve.log_rows import Row, columns_of, logits_of

KEPT = 20_000  # latest labels that count
TYPICAL = 1.96  # standard deviations of an interval of 95 %


class TruthReport(msgspec.Struct):
    """Of the latest labels. Intervals are Wilson's, of 95 %."""

    labels: int
    positive: int  # labels above one half
    alerts_labelled: int
    alerts_right: int
    precision: float | None  # of the alerts with a label; None where there are none
    precision_low: float | None
    precision_high: float | None
    found: float | None  # the share of positive events that were alerts
    sources_positive: int  # sources with a positive event
    sources_found: int  # those of them with an alert on a positive event
    seconds_to_detection: float | None  # median over the found, from the first positive event to the alert


class Known(NamedTuple):
    """An event whose truth is known."""

    positive: bool
    alert: bool
    source: int
    t: int
    logit: float
    model: int  # which of the answerers of the log answered


class Truth:
    """The latest labels, each with its event."""

    def __init__(self, seconds_per_unit: float) -> None:
        self._seconds = seconds_per_unit
        self.known: dict[int, Known] = {}
        self.taken = 0  # labels, also those that were replaced or do not count any more
        self._report: TruthReport | None = None

    def take(self, first: int, row: Row, labels: Iterable[tuple[int, float]]) -> list[Known]:
        """Labels of events of one row; a later label of an event replaces an earlier."""
        columns, logits, alerts = columns_of([row]), logits_of(row), set(row.alerts)
        taken = []
        for seq, label in labels:
            place = seq - first
            source, t = int(columns.src[place]), int(columns.t[place])
            known = Known(label > 0.5, place in alerts, source, t, float(logits[place]), row.model)
            self.known.pop(seq, None)
            self.known[seq] = known
            taken.append(known)
        self.taken += len(taken)
        while len(self.known) > KEPT:
            del self.known[next(iter(self.known))]
        self._report = None
        return taken

    def report(self) -> TruthReport:
        if self._report is None:
            self._report = self._counted()
        return self._report

    def _counted(self) -> TruthReport:
        every = self.known.values()
        positive = [one for one in every if one.positive]
        alerts = sum(one.alert for one in every)
        right = sum(one.alert for one in positive)
        begun: dict[int, int] = {}
        found: dict[int, int] = {}
        for one in positive:
            begun[one.source] = min(one.t, begun.get(one.source, one.t))
            if one.alert:
                found[one.source] = min(one.t, found.get(one.source, one.t))
        delays = [(t - begun[source]) * self._seconds for source, t in found.items()]
        low, high = wilson(right, alerts)
        return TruthReport(
            len(self.known),
            len(positive),
            alerts,
            right,
            right / alerts if alerts else None,
            low,
            high,
            right / len(positive) if positive else None,
            len(begun),
            len(found),
            float(np.median(delays)) if delays else None,
        )


def wilson(right: int, number: int) -> tuple[float, float] | tuple[None, None]:
    """An interval of 95 % for a share."""
    if number == 0:
        return None, None
    share, z2 = right / number, TYPICAL**2
    middle = (share + z2 / (2 * number)) / (1 + z2 / number)
    half = TYPICAL / (1 + z2 / number) * math.sqrt(share * (1 - share) / number + z2 / (4 * number**2))
    return max(0.0, middle - half), min(1.0, middle + half)
