"""Alerts as those who watch them see them, and what they amount to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from keat.serve.late_truth import TruthReport
from keat.serve.live_answers import answers_of
from keat.serve.log_rows import Row, columns_of

if TYPE_CHECKING:
    from keat.serve.engine import Engine


class Alert(msgspec.Struct, omit_defaults=True):
    """An event that was among the most suspicious of its hour. Its number is also the id of the server-sent
    event."""

    seq: int
    source: str | int
    destination: str | int
    time: int
    logit: float
    model: str
    probability: float | None = None
    id: str | None = None  # what the client calls the event
    late: int | None = None


class AlertReport(msgspec.Struct):
    """How many alerts there are, and how many of them were right as far as labels tell."""

    a_hour: int  # the budget; 0 where nothing is an alert
    window_seconds: float  # an hour, or one unit of time where that is longer
    in_window: int  # alerts of the last hour, of the events' own time
    in_all: int
    threshold: float | None  # the logit an event must now pass; None where any would do, or none
    suspicious: str  # "low" where low logits are suspicious, "high" where high ones are
    latest: list[int]  # numbers of the latest alerts, newest last
    truth: TruthReport


def alerts_in(engine: Engine, first: int, row: Row) -> list[Alert]:
    """The alerts of a row that is in the log."""
    if not row.alerts:
        return []
    columns, names = columns_of([row]), engine.ids.labels
    answers = answers_of(row, first, engine.models, row.alerts)
    return [
        Alert(
            answer.seq,
            names[columns.src[place]],
            names[columns.dst[place]],
            int(columns.t[place]),
            answer.logit,
            answer.model,
            answer.probability,
            answer.id,
            answer.late,
        )
        for place, answer in zip(row.alerts, answers, strict=True)
    ]


def alerts_after(engine: Engine, seq: int) -> Iterator[Alert]:
    """Those of the latest alerts that came after an event, oldest first, read from the log."""
    numbers: Iterable[int] = [number for number in engine.watch.latest if number > seq]
    known: tuple[int, Row] | None = None
    for number in numbers:
        if known is None or number >= known[0] + len(known[1]):
            known = engine.log.row_of(number)
            yield from (one for one in alerts_in(engine, *known) if one.seq > seq)


def alert_report(engine: Engine, latest: int = 20) -> AlertReport:
    watch, t = engine.watch, engine.state.last_time
    budget = watch.budget
    return AlertReport(
        budget.a_hour,
        budget.seconds,
        budget.in_last_hour(t),
        watch.alerts,
        watch.threshold(t),
        "high" if watch.labels_events else "low",
        list(watch.latest)[-latest:],
        engine.truth.report(),
    )
