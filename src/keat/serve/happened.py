"""Events as a model knows them, and those of them that wait to be observed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

COLUMNS = ("src", "dst", "t", "features")
FEW = 4_096  # events that are sorted anew for each that comes out of order


@dataclass(frozen=True, slots=True, eq=False)
class Happened:
    """Events by the numbers of their nodes, in the order in which they came."""

    src: npt.NDArray[np.int32]
    dst: npt.NDArray[np.int32]
    t: npt.NDArray[np.int64]
    features: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, rows: slice | npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Happened:
        return Happened(self.src[rows], self.dst[rows], self.t[rows], self.features[rows])

    @classmethod
    def nothing(cls, feature_dim: int) -> Happened:
        none = np.empty(0, np.int32)
        return cls(none, none, np.empty(0, np.int64), np.empty((0, feature_dim), np.float32))

    def and_then(self, later: Happened) -> Happened:
        if len(self) == 0 or len(later) == 0:
            return later if len(self) == 0 else self
        return Happened(*(np.concatenate((getattr(self, name), getattr(later, name))) for name in COLUMNS))

    def in_order(self) -> Happened:
        """By their times; events of one time in the order in which they came."""
        if (self.t[1:] >= self.t[:-1]).all():
            return self
        return self[np.argsort(self.t, kind="stable")]


class Waiting:
    """Events in the order of their times, to which others come, and of which the earliest go.

    The latest to come are kept by themselves, so that a long window is not sorted anew for each of them.
    """

    def __init__(self, events: Happened) -> None:
        self._old, self._new = events[:0], events

    def __len__(self) -> int:
        return len(self._old) + len(self._new)

    def add(self, events: Happened) -> None:
        self._new = self._new.and_then(events).in_order()
        if len(self._new) > FEW and len(self._new) > len(events):
            self._old, self._new = self._old.and_then(self._new).in_order(), self._new[:0]

    def has_before(self, t: int) -> bool:
        return any(len(part) > 0 and part.t[0] < t for part in (self._new, self._old))

    def take_before(self, t: int) -> Happened:
        """Those that are earlier; they wait no more."""
        old, self._old = _cut(self._old, t)
        new, self._new = _cut(self._new, t)
        return old.and_then(new).in_order() if len(old) else new

    def all(self) -> Happened:
        return self._old.and_then(self._new).in_order()

    def copy(self) -> Waiting:
        return Waiting(self.all())


def _cut(events: Happened, t: int) -> tuple[Happened, Happened]:
    """Events in order, cut into those that are earlier than ``t`` and the others."""
    if len(events) == 0 or events.t[-1] < t:
        return events, events[:0]
    place = 0 if events.t[0] >= t else int(np.searchsorted(events.t, t))
    return events[:place], events[place:]
