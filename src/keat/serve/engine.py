"""The engine: the one owner of the log, the ids and the state.

A micro-batch goes three steps. `begin` scores its events, each before it is observed; `commit` brings them
with their answers to the log; `finish` makes them known and answers. Only `commit` waits for the disk, and
touches nothing but the log, so it may run in another thread. If it fails, nothing is acknowledged, and
`take_back` makes the state again from what the log has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keat.calibration.calibrations import Calibration
from keat.disk import lock_folder, make_folder
from keat.errors import InputError
from keat.events.units import SECONDS_PER
from keat.serve.ahead import Ahead
from keat.serve.events import Checked, Checker
from keat.serve.happened import Happened
from keat.serve.late_truth import KEPT, Truth
from keat.serve.latest_events import LatestEvents
from keat.serve.live_answers import Answer, answers_of
from keat.serve.live_model import LiveModel
from keat.serve.live_state import in_unit
from keat.serve.log import Durability, Log
from keat.serve.log_records import Calibrated, Settings
from keat.serve.log_replay import replayed
from keat.serve.log_rows import Beside, Row
from keat.serve.micro_batch import (
    BATCH,
    ConflictError,
    Prepared,
    Wanted,
    again,
    require_same,
    without_known,
)
from keat.serve.recent_ids import RecentIds
from keat.serve.refitting import Refits
from keat.serve.served_run import ServedRun
from keat.serve.state_snapshots import remove_leftovers, write_snapshot
from keat.serve.steps import reached
from keat.serve.swapping import Shadow, answerers, join, swap_to
from keat.serve.verdicts import Judge


@dataclass(slots=True)
class Counts:
    """What has happened since this process began."""

    events: int = 0
    batches: int = 0
    late: int = 0
    reordered: int = 0  # came out of order within the window
    again: int = 0
    newcomers: int = 0


class Engine:
    """A run that is served. ``write=False`` reads the log of a run that another process may be serving, up to
    an event if ``until`` is given."""

    def __init__(
        self,
        folder: Path,
        durability: Durability = "disk",
        *,
        settings: Settings | None = None,
        window: int = 0,
        write: bool = True,
        until: int | None = None,
    ) -> None:
        """``settings`` hold from now on, and are a record of the log; without them those of the log do.
        ``window`` is how far out of order events may come from now on, in seconds."""
        self.base = ServedRun.open(folder)  # the run that the log began with; another may answer since
        self.window = in_unit(window, self.base.run.facts.unit)
        self.folder, self.counts = self.base.live_folder, Counts()
        if write:
            make_folder(self.folder)
            busy = f"{folder} is being served by another process; stop that one first."
            self._lock = lock_folder(self.folder, busy, seconds=1.0)
            remove_leftovers(self.folder)
        self.log = Log(self.folder, self.base.about(), durability, write)
        self.shadow: Shadow | None = None
        self.recent, self.latest = RecentIds(), LatestEvents()
        self.announce: Callable[[int, Row], None] | None = None  # is told of rows with alerts
        self._restore(until, self.recent if write else None)
        if settings is not None:
            self.set(settings)

    def _restore(self, until: int | None = None, recent: RecentIds | None = None) -> None:
        """The state as the log has it."""
        self.ids, model, self.watch = replayed(self.base, self.log, until, recent)
        self.models = answerers(self.base, self.log, until)
        self._use(model)
        self.checker = Checker(self.ids, self.base.features, self.base.run.unit, self.state.last_time)
        self.truth, self.refits = Truth(SECONDS_PER[self.state.unit]), Refits()
        self.untold = list(self.log.labels().items())[-KEPT:]  # labels that are still to be looked at

    def _use(self, model: LiveModel) -> None:
        """Have a model answer from now on."""
        self.model, self.served, self.state = model, model.served, model.state
        self.ahead = Ahead(self.state, self.window)
        self.judge = Judge(self.served, model.ids, self.state, self.ahead, self.calibration)

    @property
    def calibration(self) -> Calibration | None:
        """What makes probabilities of logits now: the run's own, or one that was fitted to labels since."""
        return self.models[-1].calibration

    def switch(self) -> None:
        """Have the shadow answer from now on, and the present model be the shadow; between two batches. The
        log has it when this returns, and nothing has changed if it raises."""
        shadow = self.shadow
        if shadow is None:
            raise InputError("There is no model beside the present one; load one first.")
        record = swap_to(shadow.model.served, self.models)
        self.log.record(record)
        self.watch.told(record)
        join(self.models, record)
        self.shadow = Shadow(self.model, self.model.served.run.folder.name)
        self._use(shadow.model)
        reached("model switched")

    def calibrate(self, record: Calibrated) -> None:
        """Have probabilities by another calibration from now on; between two batches. The log has it when
        this returns, and nothing has changed if it raises."""
        self.log.record(record)
        self.watch.told(record)
        join(self.models, record)
        self.judge.calibration = self.calibration
        reached("calibration switched")

    def set(self, settings: Settings) -> None:
        """Work by these settings from now on; between two batches."""
        if settings != self.watch.settings:
            self.log.record(settings)
            self.watch.told(settings)

    def close(self) -> None:
        self.log.close()
        lock = getattr(self, "_lock", None)
        if lock is not None:
            lock.release()

    # -- taking events ---------------------------------------------------------------------------------

    def take(self, events: Sequence[Checked], wanted: Wanted = Wanted()) -> list[Answer]:  # noqa: B008
        """Score, commit and observe events; their answers, in order. Raises where one could not be taken:
        then those of earlier batches have been, and sending all again gives their answers again."""
        answers: list[Answer] = []
        size = 1 if wanted.alone else BATCH
        for start in range(0, len(events), size):
            prepared = None
            try:
                prepared = self.begin(events[start : start + size], wanted)
                self.commit(prepared)
            except BaseException:
                self.take_back(prepared)
                raise
            answers += self.finish(prepared)
            for problem in prepared.conflicts.values():
                raise ConflictError(problem)
        return answers

    def begin(
        self,
        events: Sequence[Checked],
        wanted: Wanted = Wanted(),  # noqa: B008
        offsets: dict[str, int] | None = None,
    ) -> Prepared:
        """Score a micro-batch, and advance the state by it. Nothing of it is known outside yet. ``offsets``
        are those after the events that were read from a topic."""
        prepared = Prepared(self.log.tail.event + 1, len(self.ids))
        fresh, places = without_known(prepared, events, self.recent)
        if fresh:
            self._score(prepared, fresh, places, wanted, offsets or {})
        reached("batch scored")
        return prepared

    def _score(
        self,
        prepared: Prepared,
        fresh: list[Checked],
        places: dict[str, int],
        wanted: Wanted,
        offsets: dict[str, int],
    ) -> None:
        join, nodes = self.ids.join, prepared.nodes_before
        ends = [(join(event.source, 0), join(event.destination, 1)) for event in fresh]  # in this order
        src, dst = np.array(ends, np.int32).T.copy()
        sent = np.array([event.t for event in fresh], np.int64)
        horizons = self.state.horizons(sent, self.window)
        t = np.maximum(sent, horizons)
        late = np.flatnonzero(sent < t)
        if self.window:
            newest = np.maximum.accumulate(np.maximum(t, self.state.last_time))
            prepared.reordered = int(np.count_nonzero((sent == t) & (t < newest)))
        columns = [list(column) for column in zip(*(event.features for event in fresh), strict=True)]
        features = self.served.features.encoded(columns, len(fresh))
        self.model.follow(self.ids)
        happened = Happened(self.model.own(src), self.model.own(dst), t, features)
        beside: dict[int, Beside] = {}
        if wanted.alone:
            self.state.settle(int(horizons[0]))
            beside = {0: self.judge.beside(happened, wanted.rank, wanted.reasons)}
        logits = self.state.score(happened, self.window)
        prepared.happened = happened
        prepared.row = Row(
            src.tobytes(),
            dst.tobytes(),
            t.tobytes(),
            logits.tobytes(),
            len(self.models) - 1,
            self.ids.newcomers(nodes) if len(self.ids) > nodes else [],
            {place: name for name, place in places.items()},
            {int(place): int(sent[place]) for place in late},
            columns if any(value is not None for column in columns for value in column) else [],
            beside,
            self.watch.decide(t, logits),
            self.window,
            offsets,
        )

    def commit(self, prepared: Prepared) -> None:
        """Bring a batch to the log; when this returns, it is there to stay."""
        if prepared.row is not None:
            self.log.append(prepared.row)

    def finish(self, prepared: Prepared) -> list[Answer]:
        """A batch that is in the log: its ids are known from now on, and it is answered."""
        row, counts = prepared.row, self.counts
        own: list[Answer] = []
        if row is not None:
            assert prepared.happened is not None
            for place, name in row.ids.items():
                self.recent.add(name, prepared.first + place)
            self.ahead.happened(prepared.happened)
            self.latest.add(prepared.first, row)
            self.watch.follow(prepared.first, row)
            if self.shadow is not None and not self.shadow.can_take(row, self.ids):
                self.shadow = None
            own = answers_of(row, prepared.first, self.models)
            counts.events += len(row)
            counts.batches += 1
            counts.late += len(row.late)
            counts.reordered += prepared.reordered
            counts.newcomers += len(row.newcomers)
            if row.alerts and self.announce is not None:
                self.announce(prepared.first, row)
        reached("batch observed")
        answers = []
        for number, known in prepared.slots:
            answer = own[number - prepared.first] if number >= prepared.first else self.answer(number)
            if known:
                counts.again += 1
                answer = again(answer)
            answers.append(answer)
        return answers

    def take_back(self, prepared: Prepared | None = None) -> None:
        """A batch that did not come to the log, or could not be scored: it never happened."""
        if prepared is None or prepared.row is not None:
            self.base = ServedRun.open(self.base.run.folder)
            self._restore()

    # -- looking back ----------------------------------------------------------------------------------

    def answer(self, number: int) -> Answer:
        """The answer of an event that is in the log."""
        first, row = self.log.row_of(number)
        return answers_of(row, first, self.models, [number - first])[0]

    def require_same(self, event: Checked) -> None:
        """An event whose id is known is the one that it was before."""
        require_same(event, self.recent, self.log, self.ids)

    def number_of(self, name: str) -> int:
        """The number of the event that a client called so."""
        number = self.recent.get(name)
        if number is None:
            raise InputError(f"No event called '{name}' is among the latest; give its number.")
        return number

    # -- keeping ---------------------------------------------------------------------------------------

    def snapshot(self) -> Path:
        """Keep the state as it is, between two batches."""
        newcomers = self.ids.newcomers(self.ids.known)
        return write_snapshot(self.folder, self.log.tail, self.state, newcomers, self.watch)

    def digest(self) -> str:
        """A hash of the state: two engines with the same log have the same."""
        return self.state.digest(len(self.model.ids))
