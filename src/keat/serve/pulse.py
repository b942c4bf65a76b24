"""How a service did, second by second: events taken, how long requests took, and how many events waited.

Durations are counted in steps of a tenth, so a quantile is right to 5 %, and a second costs the same however
much happens in it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

KEPT = 300  # seconds
WINDOW = 10  # seconds of which quantiles are taken
SHORTEST = 1e-5  # seconds
A_DECADE = 24
STEPS = 7 * A_DECADE  # to 100 s


class Second(NamedTuple):
    """One of them. Quantiles are in seconds, of the requests of the last ten; None where there were none."""

    time: float
    events: float  # taken in it
    p50: float | None
    p99: float | None
    queued: int  # the most that waited in it


class Pulse:
    """The last minutes."""

    def __init__(self) -> None:
        self.past: deque[Second] = deque(maxlen=KEPT)
        self._counts = [0] * STEPS
        self._window: deque[list[int]] = deque(maxlen=WINDOW)
        self._before: tuple[float, int] | None = None  # when the last second ended, and all events until then

    def took(self, seconds: float) -> None:
        """A request was answered."""
        step = int(A_DECADE * math.log10(max(seconds, SHORTEST) / SHORTEST))
        self._counts[min(step, STEPS - 1)] += 1

    def tick(self, now: float, time: float, events: int, queued: int) -> Second:
        """A second is over, by a clock that never goes back; ``time`` is what a calendar says."""
        before, all_before = self._before or (now - 1.0, events)
        self._before = now, events
        self._window.append(self._counts)
        self._counts = [0] * STEPS
        together = [sum(counts) for counts in zip(*self._window, strict=True)]
        second = Second(
            time,
            (events - all_before) / max(now - before, 1e-3),
            quantile(together, 0.5),
            quantile(together, 0.99),
            queued,
        )
        self.past.append(second)
        return second


def quantile(counts: Sequence[int], share: float) -> float | None:
    """The duration that this share of the requests did not exceed, in seconds."""
    wanted = share * sum(counts)
    if not wanted:
        return None
    passed = 0
    for step, number in enumerate(counts):
        if number and passed + number >= wanted:
            within = (wanted - passed) / number
            return float(SHORTEST * 10 ** ((step + within) / A_DECADE))
        passed += number
    raise AssertionError("a share of at most 1 is reached")
