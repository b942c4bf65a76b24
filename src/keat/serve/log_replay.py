"""A state from files: the newest snapshot that is sound, and the rows of the log after it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, takewhile
from typing import NamedTuple

from keat.errors import InputError
from keat.serve.live_ids import LiveIds
from keat.serve.live_model import LiveModel
from keat.serve.live_state import LiveState
from keat.serve.log import Log, LogDamagedError, Tail
from keat.serve.log_records import Recorded, model_after
from keat.serve.log_rows import Row
from keat.serve.recent_ids import RecentIds
from keat.serve.served_run import ServedRun, kept_model
from keat.serve.state_snapshots import LAST_SEEN, Snapshot, snapshots
from keat.serve.watching import Watch

AT_ONCE = 4_096  # rows that are observed together


class Replayed(NamedTuple):
    """What follows from a log."""

    ids: LiveIds
    model: LiveModel
    watch: Watch


def replayed(
    base: ServedRun, log: Log, until: int | None = None, recent: RecentIds | None = None
) -> Replayed:
    """Ids, model with its state, and watch as they were right after an event, by default the last. The event
    ends a row, or all is as before its row. ``base`` is the run that the log began with, which has just been
    opened. The clients' ids of the latest events are added to ``recent``."""
    records = [one for one in log.records() if until is None or one.after <= until]
    served = _served_after(base, records)
    found, tail = _from_snapshot(base, served, log, until)
    if recent is not None and tail is not None:
        _add_ids_before(log, tail, recent)
    entries = log.entries(tail)
    if until is not None:
        entries = takewhile(lambda entry: _last_event(entry) <= until, entries)
    while some := [*islice(entries, AT_ONCE)]:
        rows = [entry for entry in some if not isinstance(entry, Recorded)]
        if rows:
            observe_rows(found.model, found.ids, [row for _, row in rows], log)
        for entry in some:
            if isinstance(entry, Recorded):
                found.watch.told(entry.record)
            else:
                found.watch.replay(*entry)
        if recent is not None:
            _add_ids(rows, recent)
    return found


def _served_after(base: ServedRun, records: list[Recorded]) -> ServedRun:
    """The run whose model answers after these records."""
    fingerprint = model_after(records, base.fingerprint)
    if fingerprint == base.fingerprint:
        return base
    place = kept_model(base.live_folder, fingerprint)
    served = ServedRun.open(place)
    if served.fingerprint != fingerprint:
        raise InputError(f"{place} is not the run that the log names; restore the folder from a copy.")
    return served


def _last_event(entry: tuple[int, Row] | Recorded) -> int:
    return entry.after if isinstance(entry, Recorded) else entry[0] + len(entry[1]) - 1


def observe_rows(model: LiveModel, ids: LiveIds, rows: list[Row], log: Log) -> None:
    """Rows as they were when they were scored, without scoring them again."""
    try:
        for row in rows:
            if row.newcomers:
                ids.welcome(row.newcomers)
        model.observe(rows, ids)
    except ValueError as error:
        raise LogDamagedError(f"{log.path} is damaged: {error}; restore the folder from a copy.") from error


def _from_snapshot(
    base: ServedRun, served: ServedRun, log: Log, until: int | None
) -> tuple[Replayed, Tail | None]:
    for snapshot in snapshots(base.live_folder):
        event = snapshot.about.event
        if event > log.tail.event:
            raise LogDamagedError(
                f"{log.path} ends with event {log.tail.event:,}, but a snapshot knows event {event:,}: "
                "its end is lost; restore the folder from a copy."
            )
        if until is not None and event > until:
            continue
        if log.has(snapshot.tail):
            records = log.records()[: snapshot.about.records]
            if model_after(records, base.fingerprint) != served.fingerprint:
                continue  # it is the state of another model
            found = _restored(base, served, snapshot, records)
            if found is not None:
                return found, snapshot.tail
    ids = base.ids()
    return Replayed(ids, LiveModel(served, base, ids, served.state()), base.watch()), None


def _restored(
    base: ServedRun, served: ServedRun, snapshot: Snapshot, records: list[Recorded]
) -> Replayed | None:
    """None where the snapshot does not fit; an older one may."""
    ids, watch, about, tensors = base.ids(), base.watch(), snapshot.about, dict(snapshot.tensors)
    state = LiveState(served.model, served.run.facts.unit, 0, served.run.facts.feature_dim)
    try:
        ids.welcome(about.newcomers)
        model = LiveModel(served, base, ids, state)
        watch.restore(about.watch, tensors.pop(LAST_SEEN).numpy(), [one.record for one in records])
        horizon = about.last_time if about.horizon is None else about.horizon
        state.restore(tensors, len(model.ids), about.last_time, horizon)
    except (InputError, ValueError, KeyError):
        return None
    return Replayed(ids, model, watch)


def _add_ids_before(log: Log, tail: Tail, recent: RecentIds) -> None:
    """The ids of rows up to a place in the log, as far as they are among the latest."""
    start = log.tail.event - recent.kept
    if start >= tail.event:
        return
    place = None if start <= 0 else log.place_of(log.row_of(start)[0] - 1)
    _add_ids(takewhile(lambda found: found[0] <= tail.event, log.rows(place)), recent)


def _add_ids(rows: Iterable[tuple[int, Row]], recent: RecentIds) -> None:
    for first, row in rows:
        for place, name in row.ids.items():
            recent.add(name, first + place)
