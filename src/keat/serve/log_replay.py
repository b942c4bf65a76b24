"""A state from files: the newest snapshot that is sound, and the rows of the log after it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, takewhile
from typing import NamedTuple

from keat.errors import InputError
from keat.serve.live_ids import LiveIds
from keat.serve.live_state import Happened, LiveState
from keat.serve.log import Log, LogDamagedError, Tail
from keat.serve.log_records import Recorded
from keat.serve.log_rows import Row, columns_of
from keat.serve.recent_ids import RecentIds
from keat.serve.served_run import ServedRun
from keat.serve.state_snapshots import LAST_SEEN, Snapshot, snapshots
from keat.serve.watching import Watch

AT_ONCE = 4_096  # rows that are observed together


class Replayed(NamedTuple):
    """What follows from a log."""

    ids: LiveIds
    state: LiveState
    watch: Watch


def replayed(
    served: ServedRun, log: Log, until: int | None = None, recent: RecentIds | None = None
) -> Replayed:
    """Ids, state and watch as they were right after an event, by default the last. The event ends a row, or
    all is as before its row. The run has just been opened: its model is the one that advances. The clients'
    ids of the latest events are added to ``recent``."""
    found, tail = _from_snapshot(served, log, until)
    if recent is not None and tail is not None:
        _add_ids_before(log, tail, recent)
    entries = log.entries(tail)
    if until is not None:
        entries = takewhile(lambda entry: _last_event(entry) <= until, entries)
    while some := [*islice(entries, AT_ONCE)]:
        rows = [entry for entry in some if not isinstance(entry, Recorded)]
        if rows:
            observe_rows(served, found.ids, found.state, [row for _, row in rows], log)
        for entry in some:
            if isinstance(entry, Recorded):
                found.watch.told(entry.record)
            else:
                found.watch.replay(*entry)
        if recent is not None:
            _add_ids(rows, recent)
    return found


def _last_event(entry: tuple[int, Row] | Recorded) -> int:
    return entry.after if isinstance(entry, Recorded) else entry[0] + len(entry[1]) - 1


def observe_rows(served: ServedRun, ids: LiveIds, state: LiveState, rows: list[Row], log: Log) -> None:
    """Rows as they were when they were scored, without scoring them again."""
    try:
        for row in rows:
            if row.newcomers:
                ids.welcome(row.newcomers)
        state.observe(happened_in(served, rows, len(ids), state.last_time))
    except ValueError as error:
        raise LogDamagedError(f"{log.path} is damaged: {error}; restore the folder from a copy.") from error


def happened_in(served: ServedRun, rows: list[Row], nodes: int, last_time: int) -> Happened:
    """The events of rows; what does not fit to the nodes and times there are is refused."""
    columns = columns_of(rows)
    for side in (columns.src, columns.dst):
        if side.min() < 0 or side.max() >= nodes:
            raise ValueError("a row names a node that nobody has")
    if columns.t[0] < last_time or (columns.t[1:] < columns.t[:-1]).any():
        raise ValueError("times of rows fall")
    width = len(served.features.columns) if served.features.needed else 0
    sent = [
        [value for row in rows for value in (row.features[place] if row.features else [None] * len(row))]
        for place in range(width)
    ]
    return Happened(columns.src, columns.dst, columns.t, served.features.encoded(sent, len(columns.t)))


def _from_snapshot(served: ServedRun, log: Log, until: int | None) -> tuple[Replayed, Tail | None]:
    for snapshot in snapshots(served.live_folder):
        event = snapshot.about.event
        if event > log.tail.event:
            raise LogDamagedError(
                f"{log.path} ends with event {log.tail.event:,}, but a snapshot knows event {event:,}: "
                "its end is lost; restore the folder from a copy."
            )
        if until is not None and event > until:
            continue
        if log.has(snapshot.tail):
            found = _restored(served, snapshot, log.records()[: snapshot.about.records])
            if found is not None:
                return found, snapshot.tail
    return Replayed(served.ids(), served.state(), served.watch()), None


def _restored(served: ServedRun, snapshot: Snapshot, records: list[Recorded]) -> Replayed | None:
    """None where the snapshot does not fit; an older one may."""
    ids, watch, about, tensors = served.ids(), served.watch(), snapshot.about, dict(snapshot.tensors)
    state = LiveState(served.model, served.run.facts.unit, 0, served.run.facts.feature_dim)
    try:
        ids.welcome(about.newcomers)
        watch.restore(about.watch, tensors.pop(LAST_SEEN).numpy(), [one.record for one in records])
        state.restore(tensors, len(ids), about.last_time)
    except (InputError, ValueError, KeyError):
        return None
    return Replayed(ids, state, watch)


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
