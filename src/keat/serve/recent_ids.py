"""The ids that clients gave to their latest events, so that one that is sent again is not taken twice."""

from __future__ import annotations

KEPT = 1_000_000  # ids that are surely known; twice as many at most


class RecentIds:
    """A client's id → the number of its event. Two dictionaries take turns: when the younger is full, the
    older is let go as a whole."""

    def __init__(self, kept: int = KEPT) -> None:
        self.kept = kept
        self._younger: dict[str, int] = {}
        self._older: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._younger) + len(self._older)

    def get(self, name: str) -> int | None:
        number = self._younger.get(name)
        return self._older.get(name) if number is None else number

    def add(self, name: str, number: int) -> None:
        if len(self._younger) >= self.kept:
            self._older, self._younger = self._younger, {}
        self._younger[name] = number
