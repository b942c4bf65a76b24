"""A model with what it has seen of a live stream, one rule: an event is scored with every event that is
earlier than the horizon, and with no other.

The horizon is the newest time that was seen, or so much before it as events may come out of order: what is
before it is over, and observed in the order of times. Events that are not wait here, where those that are
still to come find their places among them.

Where events come in order, the horizon is the last time itself. That is what evaluation does at refresh 1: an
event sees what is strictly earlier, and events of one time do not see each other. So live scores are those of
an offline replay, wherever batches begin and end, to the rounding of float32, which depends on how many rows
a matrix has.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.errors import InputError, KeatError
from keat.events import EventStream, TimeUnit
from keat.events.ids import IdMap
from keat.events.units import SECONDS_PER
from keat.models.contract import LearnedLinkModel, Queries
from keat.models.node_head import EventHead, EventQueries
from keat.runs.present import PENDING, STATE
from keat.serve.happened import COLUMNS, Happened, Waiting
from keat.serve.quick_rank import FEW, QuickRank
from keat.state import parts_of
from keat.tasks.script import TGB_BATCH, steps_by_time, times_of

Model = LearnedLinkModel | EventHead


class LiveState:
    """The state of a model, and the events that are not yet in it. ``window`` is how far out of order events
    may come, in the unit of their times; it may be another each time, and what is over stays over."""

    def __init__(self, model: Model, unit: TimeUnit, last_time: int, feature_dim: int) -> None:
        self.model, self.unit, self.last_time, self.horizon = model, unit, last_time, last_time
        self.waiting = Waiting(Happened.nothing(feature_dim))
        self._quick = QuickRank.of(model)

    # -- advancing -------------------------------------------------------------------------------------

    def horizons(self, t: npt.NDArray[np.int64], window: int = 0) -> npt.NDArray[np.int64]:
        """Where the horizon is as each of these events is scored. None of them may be before it."""
        newest = np.maximum.accumulate(np.maximum(t, self.last_time))
        found: npt.NDArray[np.int64] = np.maximum(newest - window, self.horizon)
        return found

    def score(self, events: Happened, window: int = 0) -> npt.NDArray[np.float32]:
        """Logits of events, each before it is observed; the events have then happened."""
        with torch.no_grad():
            if window:
                logits = self._score_by_horizon(events, window)
            else:
                self.settle(self.last_time)  # there may have been a window
                logits = self._score_in_order(events)
        found: npt.NDArray[np.float32] = np.concatenate(logits) if len(logits) > 1 else logits[0]
        if not np.isfinite(found).all():
            raise KeatError(
                "A score is no number: a time or a feature is far from those the run was trained on, or the "
                "run is damaged."
            )
        return found

    def _score_by_horizon(self, events: Happened, window: int) -> list[npt.NDArray[np.float32]]:
        """Those with the same horizon at once."""
        horizons, logits = self.horizons(events.t, window), []
        for first, end in times_of(horizons):
            self.settle(int(horizons[first]))
            logits.append(self._logits(events[first:end]))
            self.waiting.add(events[first:end])
        self.last_time = max(self.last_time, int(events.t.max()))
        return logits

    def _score_in_order(self, events: Happened) -> list[npt.NDArray[np.float32]]:
        """Of events whose times do not fall, and are not before the last."""
        same = int(np.searchsorted(events.t, self.last_time, side="right"))
        logits = [self._logits(events[:same])] if same else []
        if same:
            self.waiting.add(events[:same])
        if same < len(events):
            logits.append(self._score_later(events[same:]))
        return logits

    def _score_later(self, events: Happened) -> npt.NDArray[np.float32]:
        """Of events that are all later than the last."""
        self.settle(int(events.t[0]))
        last = int(np.searchsorted(events.t, events.t[-1]))
        self.waiting.add(events[last:])
        self.last_time = self.horizon = int(events.t[-1])
        model = self.model
        if self._quick is not None and len(events) <= FEW:
            return self._quick.score_in_turn(events.src, events.dst, events.t, last)
        if isinstance(model, LearnedLinkModel) and not model.cuts_matter:
            queries, events_before = _questions(events), self._stream(events[:last])
            return _numbers(model.score_in_turn([queries], events_before)[0])
        logits = []
        for first, end in times_of(events.t):
            logits.append(self._logits(events[first:end]))
            if end <= last:
                observe_by_time(model, self._stream(events[first:end]))
        return np.concatenate(logits)

    def settle(self, horizon: int) -> None:
        """The next event is scored with what is before this time: what waits of that is observed."""
        if horizon <= self.horizon:
            return
        self.horizon = horizon
        over = self.waiting.take_before(horizon)
        if len(over) == 0:
            return
        if self._quick is not None:
            self._quick.observe(over.src, over.dst, over.t)
        else:
            with torch.no_grad():
                observe_by_time(self.model, self._stream(over))

    def observe(self, events: Happened, window: int = 0) -> None:
        """Events that were scored before, in an earlier life of this process."""
        if len(events) == 0:
            return
        horizons = self.horizons(events.t, window)
        if (events.t < horizons).any():
            raise ValueError("times of rows fall")
        self.waiting.add(events)
        self.last_time, self.horizon = max(self.last_time, int(events.t.max())), int(horizons[-1])
        with torch.no_grad():
            observe_by_time(self.model, self._stream(self.waiting.take_before(self.horizon)))

    def warm_up(self, event: Happened) -> None:
        """Have compiled what scoring and observing need. The event does not happen."""
        with torch.no_grad():
            nothing = self._stream(event[:0])
            self._logits(event)
            self.model.observe(nothing)
            if isinstance(self.model, LearnedLinkModel) and not self.model.cuts_matter:
                self.model.score_in_turn([_questions(event)], nothing)

    def _logits(self, events: Happened) -> npt.NDArray[np.float32]:
        if isinstance(self.model, EventHead):
            asked = EventQueries(events.src, events.t, events.dst, events.features)
            return _numbers(self.model.score(asked))
        if self._quick is not None and len(events) <= FEW:
            return self._quick.score(events.src, events.dst, events.t)
        return _numbers(self.model.score(_questions(events)))

    def _stream(self, events: Happened) -> EventStream:
        return stream_of(events, self.unit)

    # -- keeping ---------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """Everything, for a file."""
        tensors = {STATE + name: value for name, value in self.model.stream_state().items()}
        waiting = self.waiting.all()
        return tensors | {
            PENDING + name: torch.from_numpy(np.array(getattr(waiting, name))) for name in COLUMNS
        }

    def restore(self, tensors: dict[str, Tensor], nodes: int, last_time: int, horizon: int) -> None:
        """What `tensors` gave, for so many nodes."""
        state, waiting = parts_of(tensors, (STATE, PENDING))
        self.model.grow(nodes)
        self.model.load_stream_state(state)
        self.waiting = Waiting(Happened(*(waiting[name].numpy() for name in COLUMNS)))
        self.last_time, self.horizon = last_time, horizon

    def digest(self, nodes: int) -> str:
        """A hash of everything that later scores depend on. Room for nodes that have not come is no part of
        it: how much there is depends on when it was made. (A question about one that has not come sees to it
        that there is some.)"""
        stranger = np.array([nodes], np.int32)
        nothing = np.zeros((1, self.waiting.all().features.shape[1]), np.float32)
        with torch.no_grad():
            self._logits(Happened(stranger, stranger, np.array([self.last_time]), nothing))
        found = hashlib.blake2b(f"{self.last_time} {self.horizon} {nodes}".encode(), digest_size=16)
        for name, tensor in sorted(self.tensors().items()):
            array = _without_room(np.ascontiguousarray(tensor.cpu().numpy()), nodes)
            found.update(f"{name} {array.dtype} {array.shape}".encode())
            found.update(array.tobytes())
        return found.hexdigest()


def in_unit(seconds: int, unit: TimeUnit) -> int:
    """A window in the unit of a run's times."""
    window = int(seconds / SECONDS_PER[unit])
    if seconds and not window:
        raise InputError(
            f"A window of {seconds} s is shorter than the unit of this run's times ('{unit}'); give more."
        )
    return window


def observe_by_time(model: Model, events: EventStream) -> None:
    """Advance a model; time by time where it minds how events are cut."""
    if len(events) == 0:
        return
    if not model.cuts_matter:
        model.observe(events)
        return
    for step in steps_by_time(events.t, TGB_BATCH):
        model.observe(events[slice(*step.observe)])


def stream_of(events: Happened, unit: TimeUnit) -> EventStream:
    nodes = 1 + int(max(events.src.max(initial=-1), events.dst.max(initial=-1)))
    return EventStream(
        events.src, events.dst, events.t, events.features, nodes, IdMap.identity(nodes), unit=unit
    )


def _questions(events: Happened) -> Queries:
    return Queries(events.src, events.t, events.dst[:, None])


def _numbers(logits: Tensor) -> npt.NDArray[np.float32]:
    numbers: npt.NDArray[np.float32] = logits[:, 0].detach().cpu().float().numpy()
    return numbers


def _without_room(array: npt.NDArray[np.generic], nodes: int) -> npt.NDArray[np.generic]:
    """Rows beyond the number of nodes are left out where they are all alike, as empty ones are."""
    if array.ndim == 0 or len(array) <= nodes:
        return array
    beyond = array[nodes:]
    return array[:nodes] if (beyond == beyond[:1]).all() else array
