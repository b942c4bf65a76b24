"""The state as a question about a later time finds it: more is over for it than for the last event.

What is over then may still wait in the state itself, for more may come that must not see it. So there is a
second copy of the model, made when such a question is first asked, which is ahead of the state. From then on
it observes each event once more: twice the memory of the state, and hardly any time.
"""

from __future__ import annotations

import copy

import numpy as np
import numpy.typing as npt
import torch

from keat.serve.happened import Happened, Waiting
from keat.serve.live_state import LiveState, Model, observe_by_time, stream_of

MOST_WAITING = 4_096  # events that are over and that the copy has not observed yet


class Ahead:
    """A model that has observed what is over at a later time."""

    def __init__(self, state: LiveState, window: int = 0) -> None:
        self._state, self._window = state, window
        self._model: Model | None = None
        self._seen = 0  # the last time of what the copy has observed
        self._waiting = Waiting(Happened.nothing(0))  # for the copy
        self._since = 0  # events that came since it was last asked

    def happened(self, events: Happened) -> None:
        """Events that the state was shown."""
        if self._model is None:
            return
        earliest, cuts_matter = int(events.t.min()), self._state.model.cuts_matter
        if earliest < self._seen or (cuts_matter and earliest == self._seen):
            self.forget()  # what it has observed should have come after them, or into one piece with them
            return
        self._waiting.add(events)
        self._since += len(events)
        if self._since > MOST_WAITING:
            if cuts_matter:  # nobody asks: the next who does has a new copy made
                self.forget()
            else:
                self._catch_up(self._state.horizon)

    def over_at(self, t: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Before which time everything is over at these times: what an event then would be scored with."""
        found: npt.NDArray[np.int64] = np.minimum(t - self._window, self._state.last_time + 1)
        return np.maximum(found, self._state.horizon)

    def model(self, over: int) -> Model:
        """One that has observed everything before a time that `over_at` gave."""
        if not self._state.waiting.has_before(over):
            return self._state.model
        if self._model is None or self._seen >= over:
            self._model = copy.deepcopy(self._state.model)
            self._waiting, self._seen = self._state.waiting.copy(), self._state.horizon - 1
        self._catch_up(over)
        return self._model

    def forget(self) -> None:
        self._model, self._waiting, self._since = None, Waiting(Happened.nothing(0)), 0

    def _catch_up(self, over: int) -> None:
        assert self._model is not None
        every, self._since = self._waiting.take_before(over), 0
        if len(every):
            with torch.no_grad():
                observe_by_time(self._model, stream_of(every, self._state.unit))
            self._seen = int(every.t[-1])
