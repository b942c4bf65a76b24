"""The destinations a source really had at one time: never negatives of each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keat.events import EventStream
from keat.tasks.sorted_rows import begins_run


class TrueDestinations:
    """For each event, the distinct destinations of its (src, t) in the same split, itself included."""

    def __init__(self, events: EventStream) -> None:
        order = np.lexsort((events.dst, events.src, events.t))
        src, dst, t = events.src[order], events.dst[order], events.t[order]
        new_group, distinct = begins_run(t, src), begins_run(t, src, dst)
        self._group = np.empty(len(order), dtype=np.int64)
        self._group[order] = np.cumsum(new_group) - 1
        self._dst = dst[distinct]
        self._start = np.append(np.flatnonzero(new_group[distinct]), len(self._dst))
        self.counts: npt.NDArray[np.int64] = np.diff(self._start)[self._group]

    def expand(
        self, rows: slice | npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """All of the events ``rows`` as (place in ``rows``, destination), row by row."""
        group, size = self._group[rows], self.counts[rows]
        row = np.repeat(np.arange(len(group)), size)
        within = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
        return row, self._dst[np.repeat(self._start[group], size) + within]
