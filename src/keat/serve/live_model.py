"""A model that follows a log: its state, and its own numbers of the nodes of that log.

The log numbers nodes by the run it began with. Another run has numbers of its own, so each node of the log is
joined to that run's nodes by its name, in the order of the log: which number it has follows from both alone.
"""

from __future__ import annotations

from itertools import groupby

import numpy as np
import numpy.typing as npt

from keat.serve.happened import Happened
from keat.serve.live_ids import LiveIds
from keat.serve.live_state import LiveState
from keat.serve.log_rows import Row, columns_of
from keat.serve.served_run import ServedRun


class LiveModel:
    """What scores the events of a log, or could."""

    def __init__(self, served: ServedRun, base: ServedRun, log_ids: LiveIds, state: LiveState) -> None:
        """``base`` is the run that the log began with."""
        self.served, self.state = served, state
        self._is_base = served.fingerprint == base.fingerprint
        self.ids = log_ids if self._is_base else served.ids()
        self._numbers = np.empty(0, np.int32)  # of the nodes of the log
        same = served.run.present.seen == base.run.present.seen
        self.begin = None if same else served.run.present.last_time  # what is not later, it has seen
        self.follow(log_ids)

    @property
    def fingerprint(self) -> str:
        return self.served.fingerprint

    def follow(self, log_ids: LiveIds) -> None:
        """Nodes have joined the log."""
        if self._is_base:
            self.ids = log_ids
            return
        newcomers = log_ids.newcomers(len(self._numbers))
        if newcomers:
            more = [self.ids.join(label, side) for label, side in newcomers]
            self._numbers = np.concatenate((self._numbers, np.array(more, np.int32)))

    def own(self, nodes: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Its own numbers of nodes of the log."""
        return nodes if self._is_base else self._numbers[nodes]

    def observe(self, rows: list[Row], log_ids: LiveIds) -> None:
        """Rows that were scored before, as far as it has not seen them; the ids know who is new in them."""
        self.follow(log_ids)
        for window, some in groupby(rows, key=lambda row: row.window):
            self.state.observe(self.happened_in([*some], len(log_ids)), window)

    def happened_in(self, rows: list[Row], nodes: int) -> Happened:
        """The events of rows that it has not seen; what does not fit to the nodes there are is refused."""
        columns, features = columns_of(rows), self.served.features
        for side in (columns.src, columns.dst):
            if side.min() < 0 or side.max() >= nodes:
                raise ValueError("a row names a node that nobody has")
        sent = [
            [value for row in rows for value in (row.features[place] if row.features else [None] * len(row))]
            for place in range(len(features.columns) if features.needed else 0)
        ]
        src, dst = self.own(columns.src), self.own(columns.dst)
        every = Happened(src, dst, columns.t, features.encoded(sent, len(columns.t)))
        if self.begin is not None:
            every = every[columns.t > self.begin]
        return every
