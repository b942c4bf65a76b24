"""A model with what it has seen of a live stream, one rule: an event is scored with every event that is
strictly earlier, and with no other.

That is what evaluation does at refresh 1, so live scores are those of an offline replay, wherever batches
begin and end, to the rounding of float32, which depends on how many rows a matrix has. It also means that
events of one time do not see each other: those of the last time wait here, until a later one comes. In the
state they are observed time by time.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.errors import KeatError
from keat.events import EventStream, TimeUnit
from keat.events.ids import IdMap
from keat.models.contract import LearnedLinkModel, Queries
from keat.models.node_head import EventHead, EventQueries
from keat.runs.present import PENDING, STATE
from keat.serve.quick_rank import FEW, QuickRank
from keat.state import parts_of
from keat.tasks.script import TGB_BATCH, steps_by_time, times_of

Model = LearnedLinkModel | EventHead
COLUMNS = ("src", "dst", "t", "features")


@dataclass(frozen=True, slots=True, eq=False)
class Happened:
    """Events as the model knows them; times never fall."""

    src: npt.NDArray[np.int32]
    dst: npt.NDArray[np.int32]
    t: npt.NDArray[np.int64]
    features: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, rows: slice) -> Happened:
        return Happened(self.src[rows], self.dst[rows], self.t[rows], self.features[rows])

    @classmethod
    def nothing(cls, feature_dim: int) -> Happened:
        none = np.empty(0, np.int32)
        return cls(none, none, np.empty(0, np.int64), np.empty((0, feature_dim), np.float32))

    def and_then(self, later: Happened) -> Happened:
        if len(self) == 0 or len(later) == 0:
            return later if len(self) == 0 else self
        return Happened(*(np.concatenate((getattr(self, name), getattr(later, name))) for name in COLUMNS))


class LiveState:
    """The state of a model, and the events of the last time, which are not yet in it."""

    def __init__(self, model: Model, unit: TimeUnit, last_time: int, feature_dim: int) -> None:
        self.model, self.unit, self.last_time = model, unit, last_time
        self.waiting = Happened.nothing(feature_dim)
        self._quick = QuickRank.of(model)

    # -- advancing -------------------------------------------------------------------------------------

    def score(self, events: Happened) -> npt.NDArray[np.float32]:
        """Logits of events, each before it is observed; the events have then happened. Their times are not
        before the last."""
        same = int(np.searchsorted(events.t, self.last_time, side="right"))
        with torch.no_grad():
            logits = [self._logits(events[:same])] if same else []
            if same:
                self.waiting = self.waiting.and_then(events[:same])
            if same < len(events):
                logits.append(self._score_later(events[same:]))
        found: npt.NDArray[np.float32] = np.concatenate(logits) if len(logits) > 1 else logits[0]
        if not np.isfinite(found).all():
            raise KeatError(
                "A score is no number: a time or a feature is far from those the run was trained on, or the "
                "run is damaged."
            )
        return found

    def _score_later(self, events: Happened) -> npt.NDArray[np.float32]:
        """Of events that are all later than the last."""
        self.settle(int(events.t[0]))
        last = int(np.searchsorted(events.t, events.t[-1]))
        self.waiting, self.last_time = events[last:], int(events.t[-1])
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

    def settle(self, t: int) -> None:
        """An event at ``t`` is about to be scored: if that is later than the last, the last time is over."""
        waiting = self.waiting
        if t > self.last_time and len(waiting):
            if self._quick is not None:
                self._quick.observe(waiting.src, waiting.dst, waiting.t)
            else:
                with torch.no_grad():
                    observe_by_time(self.model, self._stream(waiting))
            self.waiting = waiting[:0]

    def observe(self, events: Happened) -> None:
        """Events that were scored before, in an earlier life of this process."""
        if len(events) == 0:
            return
        every = self.waiting.and_then(events)
        last = int(np.searchsorted(every.t, every.t[-1]))
        with torch.no_grad():
            observe_by_time(self.model, self._stream(every[:last]))
        self.waiting, self.last_time = every[last:], int(every.t[-1])

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
        waiting = {
            PENDING + name: torch.from_numpy(np.array(getattr(self.waiting, name))) for name in COLUMNS
        }
        return tensors | waiting

    def restore(self, tensors: dict[str, Tensor], nodes: int, last_time: int) -> None:
        """What `tensors` gave, for so many nodes."""
        state, waiting = parts_of(tensors, (STATE, PENDING))
        self.model.grow(nodes)
        self.model.load_stream_state(state)
        self.waiting = Happened(*(waiting[name].numpy() for name in COLUMNS))
        self.last_time = last_time

    def digest(self, nodes: int) -> str:
        """A hash of everything that later scores depend on. Room for nodes that have not come is no part of
        it: how much there is depends on when it was made. (A question about one that has not come sees to it
        that there is some.)"""
        stranger, nothing = (
            np.array([nodes], np.int32),
            np.zeros((1, self.waiting.features.shape[1]), np.float32),
        )
        with torch.no_grad():
            self._logits(Happened(stranger, stranger, np.array([self.last_time]), nothing))
        found = hashlib.blake2b(f"{self.last_time} {nodes}".encode(), digest_size=16)
        for name, tensor in sorted(self.tensors().items()):
            array = _without_room(np.ascontiguousarray(tensor.cpu().numpy()), nodes)
            found.update(f"{name} {array.dtype} {array.shape}".encode())
            found.update(array.tobytes())
        return found.hexdigest()


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
