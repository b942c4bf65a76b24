"""What tasks about events share: some of a split's events are asked about, each before it is observed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from keat.events import EventStream
from keat.models.node_head import EventQueries
from keat.tasks.script import TGB_BATCH, Ask, Line, Observe, Step, refresh_steps, steps_by_time


class EventTask(ABC):
    history: EventStream
    events: EventStream
    asked: npt.NDArray[np.intp]  # which of the events

    @abstractmethod
    def queries(self, rows: slice) -> EventQueries:
        """What a model is told of some of those that are asked about."""

    def script(self, refresh: int = TGB_BATCH) -> Iterator[Line]:
        for block in self.history.blocks(TGB_BATCH):
            yield Observe(block)
        yield from self.questions(refresh)

    def questions(self, refresh: int = TGB_BATCH) -> Iterator[Line]:
        t = self.events.t
        return self.lines(steps_by_time(t, TGB_BATCH) if refresh == 1 else refresh_steps(t, refresh))

    def lines(self, steps: Iterable[Step]) -> Iterator[Line]:
        """What is asked and observed in these steps."""
        for step in steps:
            first, last = np.searchsorted(self.asked, step.ask).tolist()
            if first < last:
                yield Ask((self.queries(slice(first, last)),), slice(first, last))
            yield Observe(self.events[slice(*step.observe)])
