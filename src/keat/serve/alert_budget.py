"""The most suspicious events of an hour, decided at the moment each event is scored.

An event is an alert if its score is among the N most suspicious of the last hour, itself included, and fewer
than N of that hour are alerts already. So there are never more than N in any hour of the events' own times,
and a calm stream has about N. In the first hour the number grows with the time that has passed: nobody knows
yet what is usual. Only scores and times decide, in the order of the log, so a replay gives the same alerts.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections import deque
from itertools import chain

import msgspec
import numpy as np
import numpy.typing as npt

from keat.events.units import SECONDS_PER, TimeUnit

HOUR, PARTS = 3_600, 60  # seconds; the hour moves on by a minute
MOST = 1_000  # alerts an hour that can be asked for


class Window(msgspec.Struct, array_like=True):
    """What the budget remembers of the last hour."""

    a_hour: int
    began: int | None = None  # time of the first event; None where there was none
    parts: list[tuple[int, list[float]]] = []  # minutes, each with its most suspicious
    alerts: list[int] = []  # times


class AlertBudget:
    """Who is an alert. Suspicion is any number that is higher for what is more suspicious."""

    def __init__(self, a_hour: int, unit: TimeUnit, kept: Window | None = None) -> None:
        """``kept`` is what `window` gave."""
        self.span = max(1, round(HOUR / SECONDS_PER[unit]))  # in a unit longer than an hour, one of it
        self.seconds = self.span * SECONDS_PER[unit]
        self.a_hour = a_hour
        self.most = max(1, round(a_hour * self.seconds / HOUR)) if a_hour else 0
        self._part = max(1, self.span // PARTS)
        kept = kept if kept is not None and kept.a_hour == a_hour else Window(a_hour)
        self._began, self._alerts = kept.began, deque(kept.alerts)
        self._parts = deque((start, list(heap)) for start, heap in kept.parts)
        self._top = self._merged()  # the most suspicious of the last hour, the most suspicious last

    def window(self) -> Window:
        parts = [(start, list(heap)) for start, heap in self._parts]
        return Window(self.a_hour, self._began, parts, list(self._alerts))

    def forget_scores(self) -> None:
        """Another model has other scores: what is usual is learned anew. Alerts of the hour still count."""
        self._began, self._top = None, []
        self._parts.clear()

    def threshold(self, t: int) -> float | None:
        """What an event must exceed to be an alert; None where any would be, or none."""
        allowed = self._allowed(t)
        return self._top[-allowed] if 0 < allowed <= len(self._top) else None

    def in_last_hour(self, t: int) -> int:
        return sum(when > t - self.span for when in self._alerts)

    def take(self, t: npt.NDArray[np.int64], suspicion: npt.NDArray[np.float32]) -> list[int]:
        """Events have come, whose times never fall; the positions of those that are alerts."""
        found: list[int] = []
        if self.most == 0:
            return found
        first = 0
        while first < len(t):
            own = self._part_of(int(t[first]))
            floor = own[0] if len(own) == self.most else -np.inf
            if len(t) == 1:  # as it mostly is
                end, able = 1, [0] if suspicion[0] > floor else []
            else:
                end = int(t.searchsorted(self._parts[-1][0] + self._part))
                able = (first + np.flatnonzero(suspicion[first:end] > floor)).tolist()
            found += [at for at in able if self._take_one(int(t[at]), float(suspicion[at]), own)]
            first = end
        return found

    def _take_one(self, t: int, suspicion: float, own: list[float]) -> bool:
        is_alert = False
        if len(self._top) < self.most or suspicion > self._top[0]:  # or it is nothing to the hour
            is_alert = self._is_alert(t, suspicion)
            insort(self._top, suspicion)
            del self._top[: -self.most]
        if len(own) < self.most:
            heapq.heappush(own, suspicion)
        else:
            heapq.heappushpop(own, suspicion)
        return is_alert

    def _is_alert(self, t: int, suspicion: float) -> bool:
        while self._alerts and self._alerts[0] <= t - self.span:
            self._alerts.popleft()
        allowed = self._allowed(t)
        above = allowed > 0 and (len(self._top) < allowed or suspicion > self._top[-allowed])
        is_alert = above and len(self._alerts) < allowed
        if is_alert:
            self._alerts.append(t)
        return is_alert

    def _allowed(self, t: int) -> int:
        if self._began is None:
            return 0
        since = t - self._began
        return self.most if since >= self.span else self.most * since // self.span

    def _part_of(self, t: int) -> list[float]:
        """The minute that a time is in; those that are an hour old go."""
        if self._began is None:
            self._began = t
        start = t - t % self._part
        if not self._parts or self._parts[-1][0] != start:
            while self._parts and self._parts[0][0] <= start - self.span:
                self._parts.popleft()
            self._parts.append((start, []))
            self._top = self._merged()
        return self._parts[-1][1]

    def _merged(self) -> list[float]:
        every = sorted(chain.from_iterable(heap for _, heap in self._parts))  # quicker than a heap of them
        return every[max(0, len(every) - self.most) :]
