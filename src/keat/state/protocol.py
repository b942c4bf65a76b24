"""What all states have in common. How a state is read differs: by node, by node and time, or as counts."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from keat.events import EventStream


class State(Protocol):
    """What a model remembers of a stream."""

    def observe(self, events: EventStream) -> None:
        """Take in consecutive events, none older than those before; nodes that are new make room."""

    def clear(self) -> None:
        """Forget everything; the next event is the first."""

    def save(self) -> dict[str, Tensor]:
        """Everything remembered, for a checkpoint."""
        ...

    def load(self, state: dict[str, Tensor]) -> None:
        """Remember what `save` gave; refused with a sentence where it cannot be that."""


class EventState(State, Protocol):
    """A state that holds on to events."""

    def reserve(self, events: int) -> None:
        """Make room at once where the number of events to come is known."""

    def grow(self, num_nodes: int) -> None:
        """Make room for nodes that have joined, before a state that knows them is loaded."""

    def __len__(self) -> int:
        """The number of events."""
        ...

    def last_time(self) -> int:
        """Of the events, of which there must be one."""
        ...

    def sources(self) -> npt.NDArray[np.int32]:
        """Distinct nodes that have been sources."""
        ...

    def destinations(self) -> npt.NDArray[np.int32]:
        """Distinct nodes that have been destinations."""
        ...

    def event_features(self) -> Tensor:
        """Features (events, d) of all events."""
        ...
