"""The state as a question after the last time finds it: the events of the last time are over for it.

They may still wait in the state itself, for more of the same time may come, which must not see them. So there
is a second copy of the model, made when such a question is first asked, which is ahead by the events that
wait. From then on it observes each event once more: twice the memory of the state, and hardly any time.
"""

from __future__ import annotations

import copy

import torch

from keat.serve.live_state import Happened, LiveState, Model, observe_by_time, stream_of

MOST_WAITING = 4_096  # events that the copy has not observed yet


class Ahead:
    """A model that has observed everything, those of the last time included."""

    def __init__(self, state: LiveState) -> None:
        self._state = state
        self._model: Model | None = None
        self._last_time = 0  # of what the copy has observed
        self._fresh: list[Happened] = []  # what has happened since
        self._waiting = 0

    def happened(self, events: Happened) -> None:
        """Events that the state was shown."""
        if self._model is None:
            return
        self._fresh.append(events)
        self._waiting += len(events)
        if self._waiting > MOST_WAITING:
            if self._state.model.cuts_matter:  # nobody asks: the next who does has a new copy made
                self.forget()
            else:
                self._catch_up()

    def model(self) -> Model:
        """Everything that has happened is in it."""
        if self._fresh and self._state.model.cuts_matter and self._fresh[0].t[0] == self._last_time:
            self.forget()  # it has observed a part of a time, which belongs into one piece
        if self._model is None:
            self._model = copy.deepcopy(self._state.model)
            self._fresh = [self._state.waiting] if len(self._state.waiting) else []
        self._catch_up()
        return self._model

    def forget(self) -> None:
        self._model, self._fresh, self._waiting = None, [], 0

    def _catch_up(self) -> None:
        assert self._model is not None
        every = Happened.nothing(0)
        for part in self._fresh:
            every = every.and_then(part)
        self._fresh, self._waiting = [], 0
        with torch.no_grad():
            observe_by_time(self._model, stream_of(every, self._state.unit))
        self._last_time = self._state.last_time
