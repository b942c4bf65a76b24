"""`Run`: a trained model with all it has seen, in a folder. Every verb is a method of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from keat.calibration.fitting import Calibration
from keat.calibration.temperature import Temperature
from keat.datasets.loading import Dataset
from keat.errors import InputError, Notice
from keat.events import EventStream, Reading, TimeUnit
from keat.events.units import clock_of
from keat.models.contract import Queries
from keat.models.node_head import EventHead, NodeHead
from keat.runs.kept import Kept, kept_number, read_kept, write_kept
from keat.runs.moments import parsed, spoken
from keat.runs.node_names import NodeNames
from keat.runs.pairs import read_pairs
from keat.runs.seen import Seen
from keat.state.checking import parts_of
from keat.tasks.script import TGB_BATCH, steps_by_time
from keat.training.epochs import checking, kept_calibration
from keat.training.runs import best_epoch, open_run

Late = Literal["refuse", "clamp"]
COLUMNS = ("src", "dst", "t", "features")
PENDING = "pending."  # in the file of a state: events of the last time
PAIRS_AT_ONCE = 1 << 12
SCORES_AT_ONCE = 1 << 22  # of sources × candidates


@dataclass(frozen=True, slots=True)
class Observed:
    """What became of the rows that a run was shown."""

    events: int  # observed now
    known: int  # seen before, and left out
    clamped: int  # older than what was seen, observed as of the last time
    newcomers: int  # nodes that were not known
    last_time: str  # of all the run has seen


class Run:
    """A trained run: its folder, its model with what it remembers, and what its nodes are called.

    Open one with `keat.open`, make one with `keat.train`. `observe` shows it what has happened since,
    `rank` and `score` ask it, `save` keeps what it has seen. Nothing that is asked changes it.

    State advances time by time where a model minds how events are cut (TGN), so it does not matter in which
    pieces they come; the events of the last time wait until a later one arrives, or until the run is asked.
    """

    def __init__(
        self,
        folder: Path,
        model: Any,
        description: dict[str, Any],
        names: NodeNames,
        seen: Seen,
        number: int = 0,
    ) -> None:
        self.folder, self.model, self.description = folder, model, description
        self.names, self.seen, self._number = names, seen, number
        self._pending: EventStream | None = None

    # -- what it is ------------------------------------------------------------------------------------

    @property
    def unit(self) -> TimeUnit:
        unit: TimeUnit = self.description["unit"]
        return unit

    @property
    def metrics(self) -> dict[str, float]:
        """Of validation, at the epoch that was kept."""
        val: dict[str, float] = best_epoch(self.folder)["val"]
        return val

    @property
    def last_time(self) -> int:
        """Of everything the run has seen."""
        return self.model.last_time() if self.seen.last_time is None else self.seen.last_time

    @property
    def calibration(self) -> Calibration | None:
        """What makes shares or probabilities of its scores, fitted on validation; None of an older run."""
        return kept_calibration(self.folder)

    def __repr__(self) -> str:
        metrics = ", ".join(f"{name} {value:.4f}" for name, value in self.metrics.items())
        return (
            f"Run({self.description['model']} in {self.folder}: {self.seen.rows:,} events seen, "
            f"{len(self.names):,} nodes, up to {spoken(self.last_time, self.unit)}; validation {metrics})"
        )

    # -- what has happened since -----------------------------------------------------------------------

    def observe(self, source: Any, *, late: Late = "refuse") -> Observed:
        """Rows that came since: a file, a frame or a stream, read as the training data was. New nodes join.

        Rows at the start that were seen before are left out: the file may be the old one, grown. Rows older
        than the last that was seen are an error, or with ``late="clamp"`` are observed as of that time.
        Nothing is kept in the folder before `save`.
        """
        stream = source if isinstance(source, EventStream) else self._read(source)
        if stream.feature_dim != self.description["feature_dim"]:
            raise InputError(
                f"{stream.name} has {stream.feature_dim} features an event; this run was trained on "
                f"{self.description['feature_dim']}."
            )
        names, place = self.names.joined_by(stream.ids)
        stream = replace(
            stream,
            src=place[stream.src],
            dst=place[stream.dst],
            t=self._in_unit(stream),
            unit=self.unit,
            num_nodes=len(names),
            node_labels=None,
            node_features=None,
        )
        known = self.seen.known_rows(stream)
        fresh, clamped = self._not_older(stream[known:], late)
        newcomers = len(names) - len(self.names)
        self._advance(fresh)
        self.names, self.seen = names, self.seen.and_then(fresh)
        return Observed(len(fresh), known, clamped, newcomers, spoken(self.last_time, self.unit))

    @property
    def reading(self) -> Reading:
        """How the training data was read."""
        return Reading.from_json(self.description.get("reading", {}))

    def _read(self, source: Any) -> EventStream:
        """Labels come late, and features of nodes belong to those of training: neither is looked for."""
        return replace(self.reading, label=None, node_features=None).read(source)

    def _in_unit(self, stream: EventStream) -> npt.NDArray[np.int64]:
        clock = clock_of(stream.unit, self.unit)
        times, rest = np.divmod(stream.t * clock.multiply, clock.divide)
        if rest.any():
            warnings.warn(
                f"Times of {stream.name} are finer than those of the run ('{self.unit}'), so they are cut.",
                Notice,
                stacklevel=3,
            )
        return times

    def _not_older(self, events: EventStream, late: Late) -> tuple[EventStream, int]:
        older = int(np.searchsorted(events.t, self.last_time))
        if older == 0 or self.seen.rows == 0:
            return events, 0
        if late == "refuse":
            raise InputError(
                f"{older:,} rows of {events.name} are older than {spoken(self.last_time, self.unit)}, up to "
                "which the run has seen events; leave them out, or let them count as of then (late='clamp')."
            )
        return replace(events, t=np.maximum(events.t, self.last_time)), older

    def _advance(self, events: EventStream) -> None:
        if len(events) == 0:
            return
        with torch.no_grad():
            if not self.model.cuts_matter:
                self.model.observe(events)
                return
            if self._pending is not None:
                events = _after(self._pending, events)
            last = int(np.searchsorted(events.t, events.t[-1]))
            self._pending = events[last:]
            self._observe_times(events[:last])

    def _observe_times(self, events: EventStream) -> None:
        for step in steps_by_time(events.t, TGB_BATCH):
            self.model.observe(events[slice(*step.observe)])

    def catch_up(self) -> None:
        """Before a question: the last time is over, and its events are observed."""
        if self._pending is not None:
            pending, self._pending = self._pending, None
            with torch.no_grad():
                self._observe_times(pending)

    # -- questions -------------------------------------------------------------------------------------

    def rank(self, sources: str | int | Sequence[str | int], *, at: Any = None, top: int = 10) -> pa.Table:
        """The likeliest destinations of one source or of several, best first: source, destination, rank,
        score, and the share each has among all known destinations. A stranger is served, too."""
        self._require_links()
        self.catch_up()
        asked = [sources] if isinstance(sources, str | int) else list(sources)
        now = self.moment(at)
        candidates = self.model.destinations()
        src, top = self.names.index_written(asked, side="src"), min(top, len(candidates))
        calibration, at_once = self.calibration, max(1, SCORES_AT_ONCE // max(1, len(candidates)))
        best, scores, shares = [], [], []
        for start in range(0, len(src), at_once):
            part = src[start : start + at_once]
            logits: Tensor = self.model.score(Queries(part, np.full(len(part), now), candidates)).cpu()
            found = torch.topk(logits, top, dim=1)
            best.append(candidates[found.indices.numpy()])
            scores.append(found.values.numpy())
            if isinstance(calibration, Temperature):
                among_all = calibration.shares(logits.numpy())
                shares.append(np.take_along_axis(among_all, found.indices.numpy(), axis=1))
        columns = {
            "source": np.repeat(np.array(asked, dtype=object), top).tolist(),
            "destination": [self.names.label(node) for node in np.concatenate(best).ravel().tolist()],
            "rank": np.tile(np.arange(1, top + 1), len(asked)),
            "score": np.concatenate(scores).ravel(),
        }
        if shares:
            columns["share"] = np.concatenate(shares).ravel()
        return pa.table(columns)

    def score(self, pairs: Any, *, at: Any = None) -> pa.Table:
        """The score of each pair of a file or frame, in its order: source, destination, time and score.
        Without a column of times they are asked ``at`` a time, by default right after what was seen."""
        self._require_links()
        self.catch_up()
        source, destination, times = read_pairs(pairs, self.reading)
        now = self.moment(at)
        t = np.array([now if time is None else self.moment(time) for time in times], dtype=np.int64)
        src, dst = self.names.ends_written(source, destination)
        scores: list[float] = []
        for start in range(0, len(src), PAIRS_AT_ONCE):
            part = slice(start, start + PAIRS_AT_ONCE)
            found: Tensor = self.model.score(Queries(src[part], t[part], dst[part][:, None]))
            scores += found[:, 0].tolist()
        return pa.table(
            {
                "source": source,
                "destination": destination,
                "time": [spoken(int(moment), self.unit) for moment in t],
                "score": scores,
            }
        )

    def moment(self, when: Any = None) -> int:
        """A time as the stream has it, by default right after all that was seen; the past is refused."""
        if when is None:
            return self.last_time + 1
        t = parsed(when, self.unit)
        if t < self.last_time:
            raise InputError(
                f"{spoken(t, self.unit)} is before {spoken(self.last_time, self.unit)}, up to which the run "
                "has seen events; its state cannot go back."
            )
        return t

    def _require_links(self) -> None:
        if isinstance(self.model, EventHead):
            raise InputError("This run labels events; it does not rank destinations.")
        if isinstance(self.model, NodeHead):
            raise InputError("This run tells how a node divides its next period; it does not score pairs.")

    # -- keeping ---------------------------------------------------------------------------------------

    def save(self) -> None:
        """Keep what the run has seen in its folder, whole or not at all."""
        tensors = {f"state.{name}": value for name, value in self.model.stream_state().items()}
        if self._pending is not None:
            for name in COLUMNS:
                tensors[PENDING + name] = torch.from_numpy(getattr(self._pending, name).copy())
        epoch = int(best_epoch(self.folder)["epoch"])
        write_kept(self.folder, Kept(self._number + 1, epoch, self.seen, self.names, tensors))
        self._number += 1


def open_trained(folder: Path, device: str = "cpu") -> Run:
    """The run in a folder, as it was after validation: whatever it has seen since is forgotten."""
    model, description, ids = open_run(folder, device)
    return Run(folder, model, description, NodeNames.of(ids), Seen(), kept_number(folder))


def open_kept(folder: str | Path, device: str = "cpu") -> Run:
    """The run in a folder, as it was last saved."""
    run = open_trained(Path(folder), device)
    folder, model = run.folder, run.model
    kept = read_kept(folder)
    if kept is None or kept.epoch != best_epoch(folder)["epoch"]:  # trained on since: other parameters
        return run
    run.names, run.seen = kept.names, kept.seen
    with checking(folder, "best"):
        state, pending = parts_of(kept.tensors, ("state.", PENDING))
        model.grow(len(kept.names))
        model.load_stream_state({name: value.to(device) for name, value in state.items()})
    if pending:
        columns = [pending[name].numpy() for name in COLUMNS]
        run._pending = EventStream.from_arrays(*columns, num_nodes=len(kept.names), unit=run.unit)
    return run


def _after(earlier: EventStream, later: EventStream) -> EventStream:
    src, dst, t, features = (
        np.concatenate([getattr(part, name) for part in (earlier, later)]) for name in COLUMNS
    )
    return replace(later, src=src, dst=dst, t=t, features=features, labels=None)


def seen_by_training(run: Run, data: Dataset) -> None:
    """Show a run, whose model knows everything before the test split, the rest of what it was trained on."""
    run.seen = Seen().and_then(data.before("test"))
    run.names = NodeNames.of(data.stream.ids)
    run._advance(replace(data.test, labels=None, node_labels=None))
    run.seen = Seen().and_then(data.stream)
