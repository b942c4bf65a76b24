"""The ids that clients gave to their latest events, so that one that is sent again is not taken twice."""

from __future__ import annotations

from collections import deque

KEPT = 1_000_000  # ids that are surely known; an eighth more at most
PARTS = 8


class RecentIds:
    """A client's id → the number of its event, in dictionaries of an eighth each. When the youngest is full,
    the oldest is let go as a whole: to free a million names at once would stop the service for long."""

    def __init__(self, kept: int = KEPT) -> None:
        self.kept, self._each = kept, -(-kept // PARTS)
        self._parts: deque[dict[str, int]] = deque([{}], maxlen=PARTS + 1)  # the youngest first

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts)

    def get(self, name: str) -> int | None:
        for part in self._parts:
            number = part.get(name)
            if number is not None:
                return number
        return None

    def add(self, name: str, number: int) -> None:
        if len(self._parts[0]) >= self._each:
            self._parts.appendleft({})
        self._parts[0][name] = number
