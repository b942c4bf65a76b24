"""What a run has seen up to now: the state of its model, the names of nodes, and which rows they were.

State advances time by time where a model minds how events are cut (TGN), so it does not matter in which
pieces they come: the events of the last time wait until a later one arrives. A question in between is
answered with them observed; should more of the same time arrive after it, the state from before is taken up
again.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.errors import InputError, Notice
from keat.events import EventStream, TimeUnit
from keat.events.units import clock_of
from keat.events.written_times import spoken
from keat.models.contract import LearnedLinkModel
from keat.models.node_head import NodeHead
from keat.runs.node_names import NodeNames
from keat.runs.seen import Seen
from keat.state import parts_of
from keat.tasks.script import TGB_BATCH, steps_by_time

StreamModel = LearnedLinkModel | NodeHead
Late = Literal["refuse", "clamp"]
COLUMNS = ("src", "dst", "t", "features")
STATE, PENDING = "state.", "pending."  # in the file of a state: the latter are events of the last time


@dataclass(frozen=True, slots=True)
class Observed:
    """What became of the rows that a run was shown."""

    events: int  # observed now
    known: int  # seen before, and left out
    clamped: int  # older than what was seen, observed as of the last time
    newcomers: int  # nodes that were not known
    last_time: str  # of all the run has seen


class Present:
    """A model with what it has seen."""

    def __init__(self, model: StreamModel, unit: TimeUnit, names: NodeNames) -> None:
        self.model, self.unit, self.names, self.seen = model, unit, names, Seen()
        self._pending: EventStream | None = None
        self._before: dict[str, Tensor] | None = None  # the state without the pending, where they are in it

    @property
    def last_time(self) -> int:
        """The last time of everything that was seen."""
        return self.model.last_time() if self.seen.last_time is None else self.seen.last_time

    @property
    def pending(self) -> EventStream | None:
        """Events of the last time that are not in the state, where it is advanced time by time."""
        return self._pending if self._before is None else None

    def observe(self, stream: EventStream, late: Late) -> Observed:
        """Rows that came since; see `Run.observe`."""
        names, stream = self.translated(stream)
        known = self.seen.known_rows(stream)
        fresh, clamped = self._not_older(stream[known:], late)
        newcomers = len(names) - len(self.names)
        self.advance(fresh)
        self.names, self.seen = names, self.seen.and_then(fresh)
        return Observed(len(fresh), known, clamped, newcomers, spoken(self.last_time, self.unit))

    def translated(self, stream: EventStream) -> tuple[NodeNames, EventStream]:
        """Events of another file with nodes and times as they are here, and the names with its newcomers."""
        names, place = self.names.joined_by(stream.ids)
        return names, replace(
            stream,
            src=place[stream.src],
            dst=place[stream.dst],
            t=self._in_unit(stream),
            unit=self.unit,
            num_nodes=len(names),
            node_labels=None,
            node_features=None,
        )

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

    def advance(self, events: EventStream) -> None:
        """Observe events; those of the last time wait."""
        if len(events) == 0:
            return
        with torch.no_grad():
            if not self.model.cuts_matter:
                self.model.observe(events)
                return
            if self._pending is not None:
                events = self._with_pending(self._pending, events)
            last = int(np.searchsorted(events.t, events.t[-1]))
            self._pending = events[last:]
            self._observe_times(events[:last])

    def _with_pending(self, pending: EventStream, events: EventStream) -> EventStream:
        if self._before is not None:
            before, self._before = self._before, None
            if events.t[0] > pending.t[-1]:  # that time was over
                return events
            self._load(before)
        return _after(pending, events)

    def _observe_times(self, events: EventStream) -> None:
        for step in steps_by_time(events.t, TGB_BATCH):
            self.model.observe(events[slice(*step.observe)])

    def catch_up(self) -> None:
        """Before a question: as if the last time were over, its events are observed."""
        if self._pending is not None and self._before is None:
            self._before = {name: value.clone() for name, value in self.model.stream_state().items()}
            with torch.no_grad():
                self._observe_times(self._pending)

    # -- keeping ---------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """State and pending events, for a file."""
        state = self.model.stream_state() if self._before is None else self._before
        tensors = {STATE + name: value for name, value in state.items()}
        if self._pending is not None:
            for name in COLUMNS:
                tensors[PENDING + name] = torch.from_numpy(getattr(self._pending, name).copy())
        return tensors

    def restore(self, names: NodeNames, seen: Seen, tensors: dict[str, Tensor]) -> None:
        """What `tensors` gave, with what else belongs to it."""
        self.names, self.seen = names, seen
        state, pending = parts_of(tensors, (STATE, PENDING))
        self._load({name: value.to(self.model.device) for name, value in state.items()})
        if pending:
            columns = [pending[name].numpy() for name in COLUMNS]
            self._pending = EventStream.from_arrays(*columns, num_nodes=len(names), unit=self.unit)

    def _load(self, state: dict[str, Tensor]) -> None:
        self.model.grow(len(self.names))
        self.model.load_stream_state(state)


def _after(earlier: EventStream, later: EventStream) -> EventStream:
    src, dst, t, features = (
        np.concatenate([getattr(part, name) for part in (earlier, later)]) for name in COLUMNS
    )
    return replace(later, src=src, dst=dst, t=t, features=features, labels=None)
