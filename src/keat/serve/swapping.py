"""Another model for a log that is being written: opened beside, caught up, compared, exchanged.

Its run is copied to the log's own folder first, and found there by its fingerprint, so that a restart has
what the log names, whatever became of the folder it was trained in.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np

from keat.calibration.calibrations import read_calibration
from keat.disk import is_file, make_folder, sync
from keat.errors import InputError, KeatError
from keat.models.node_head import EventHead
from keat.serve.live_answers import Answerer
from keat.serve.live_ids import LiveIds
from keat.serve.live_model import LiveModel
from keat.serve.log import Log, Tail
from keat.serve.log_records import Calibrated, Record, Swap
from keat.serve.log_replay import AT_ONCE
from keat.serve.log_rows import Row, logits_of
from keat.serve.served_run import LIVE, ServedRun, kept_model
from keat.serve.steps import reached


class ShadowReport(msgspec.Struct):
    """A model that scores beside the present one, over the events since it began to. The loss of links is the
    surprise about each event that happened; runs that label events are compared by their agreement."""

    model: str
    run: str  # what it was loaded as
    events: int
    loss: float | None  # mean, of the shadow
    present_loss: float | None
    agreement: float | None  # correlation of both logits


class Shadow:
    """A model that follows the log and is asked nothing but to be compared."""

    def __init__(self, model: LiveModel, name: str) -> None:
        self.model, self.name = model, name
        self._sums = np.zeros(8)  # of 1, both losses, both logits, both squared, their product

    def take(self, row: Row, log_ids: LiveIds) -> None:
        """Score the events of a row that was committed, each before it is observed."""
        self.model.follow(log_ids)
        events = self.model.happened_in([row], len(log_ids))
        own = self.model.state.score(events, row.window).astype(np.float64)
        present = logits_of(row).astype(np.float64)
        losses = np.logaddexp(0, -own), np.logaddexp(0, -present)
        sums = (np.ones(len(row)), *losses, own, present, own**2, present**2, own * present)
        self._sums += [part.sum() for part in sums]

    def can_take(self, row: Row, log_ids: LiveIds) -> bool:
        """`take`; False where it cannot, which must harm nobody: the row is committed by another."""
        try:
            self.take(row, log_ids)
        except (KeatError, ValueError, RuntimeError) as error:
            print(f"keat serve: {self.name} cannot follow, and is dropped ({error})", file=sys.stderr)
            return False
        return True

    def report(self, labels_events: bool) -> ShadowReport:
        number, own, present, x, y, xx, yy, xy = self._sums.tolist()
        agreement = None
        if number > 1:
            spread = (xx - x * x / number) * (yy - y * y / number)
            agreement = float((xy - x * y / number) / np.sqrt(spread)) if spread > 0 else None
        known = number > 0 and not labels_events
        return ShadowReport(
            self.model.fingerprint,
            self.name,
            int(number),
            own / number if known else None,
            present / number if known else None,
            agreement,
        )


def swap_to(served: ServedRun, models: list[Answerer]) -> Swap:
    """A model that answered before comes back with the calibration it had last."""
    before = _last(models, served.fingerprint)
    calibration = served.calibration if before is None else before.calibration
    return Swap(served.fingerprint, None if calibration is None else asdict(calibration))


def answerers(base: ServedRun, log: Log, until: int | None = None) -> list[Answerer]:
    """Who answered rows of the log, in the order in which they began to; up to an event if one is given."""
    found = [Answerer(base.fingerprint, base.calibration)]
    for one in log.records():
        if until is None or one.after <= until:
            join(found, one.record)
    return found


def join(models: list[Answerer], record: Record) -> None:
    """Who answers after a record, if it is another than before."""
    if isinstance(record, Swap):
        before = _last(models, record.model)
        fitted = None if before is None else before.fitted
        models.append(Answerer(record.model, read_calibration(record.calibration), fitted))
    elif isinstance(record, Calibrated):
        calibration = read_calibration(record.calibration)
        models.append(Answerer(models[-1].fingerprint, calibration, record))


def _last(models: list[Answerer], fingerprint: str) -> Answerer | None:
    return next((one for one in reversed(models) if one.fingerprint == fingerprint), None)


def open_beside(base: ServedRun, live: Path, run: Path) -> tuple[LiveModel, LiveIds, Tail]:
    """A run as a model of this log, caught up with it as far as the log goes now; with the ids it has read,
    and where in the log it is. It may run in another thread, while the log is written."""
    served = ServedRun.open(run)
    require_fit(base, served)
    if served.fingerprint != base.fingerprint:
        _keep(live, run, served.fingerprint)
    log = Log(live, base.about(), "process", write=False)
    ids = base.ids()
    model, tail = LiveModel(served, base, ids, served.state()), log.place_of(0)
    assert tail is not None
    tail = catch_up(model, log, ids, tail)
    log.close()
    if model.begin is not None and model.state.horizon <= model.begin:
        raise InputError(
            f"{run.name} has seen events as late as the last of this log; wait until a later one has come."
        )
    reached("shadow caught up")
    return model, ids, tail


def catch_up(model: LiveModel, log: Log, ids: LiveIds, place: Tail) -> Tail:
    """Observe the rows after a place in the log; the place after them. ``ids`` are those at that place."""
    rows = log.rows(place)
    while some := [*islice(rows, AT_ONCE)]:
        for _, row in some:
            ids.welcome(row.newcomers)
        model.observe([row for _, row in some], ids)
        first, row = some[-1]
        found = log.place_of(first + len(row) - 1)
        assert found is not None
        place = found
    return place


def require_fit(base: ServedRun, served: ServedRun) -> None:
    """Another run can score the events of a log only if it reads them alike."""
    ours, theirs = base.run, served.run
    if isinstance(base.model, EventHead) != isinstance(served.model, EventHead):
        raise InputError(
            "One of the runs labels events and the other scores links; they cannot be exchanged."
        )
    if ours.facts.unit != theirs.facts.unit:
        raise InputError(
            f"Times of the log are in {ours.facts.unit}, and those of the run in {theirs.facts.unit}."
        )
    one, other = base.ids(), served.ids()
    if one.whole != other.whole or (one.sides is None) != (other.sides is None):
        raise InputError("Nodes of the run are named in another way than those of the log.")
    layout = [
        [(c.name, c.width, c.categories is None) for c in each.features.columns] for each in (base, served)
    ]
    if served.features.needed and layout[1] and (layout[0] != layout[1] or not base.features.needed):
        raise InputError("The run needs other features than the events of the log have.")


def _keep(live: Path, run: Path, fingerprint: str) -> None:
    """Copy a run to where the log finds it."""
    place = kept_model(live, fingerprint)
    if is_file(place / "run.json"):
        return
    make_folder(place.parent)
    aside = place.with_name(f"{fingerprint}.{os.getpid()}.aside")
    shutil.rmtree(aside, ignore_errors=True)
    shutil.copytree(run, aside, ignore=shutil.ignore_patterns(LIVE, ".lock"))
    for path in aside.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
    reached("model copied aside")
    aside.replace(place)
    sync(place.parent)
    reached("model in place")
