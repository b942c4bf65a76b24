"""Events observed so far, by number: what rings and message stores point into."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.events import EventStream
from keat.ops import Integers, compiled
from keat.state.checking import Expected, check_in_order, check_that, whole
from keat.state.growing import Rooms
from keat.state.tensors import as_tensor

COLUMNS = ("src", "dst", "t", "features")
STEP = 1 << 14  # rows that a long log grows by
FEWEST = 1 << 18  # rows of a log that is worth going through


class EventLog(nn.Module):
    """Columns src, dst, t and features, growing as events are observed; event i is row i.

    A log can let go of events that nothing points to any more (`let_go`): later ones then get lower numbers.

    State elsewhere holds event numbers only, so a node costs 8 bytes for each event it remembers, and an
    event costs 24 bytes plus its features, once. The log owns its rows: a model that is serving can
    observe events that belong to no file, and none but observed events can be read from it.
    """

    src: Tensor
    dst: Tensor
    t: Tensor
    features: Tensor

    def __init__(self, feature_dim: int, capacity: int = 1024) -> None:
        super().__init__()
        self._rooms = Rooms()
        self._begin()
        for column in ("src", "dst", "t"):
            self.register_buffer(column, torch.zeros(capacity, dtype=torch.int64), persistent=False)
        self.register_buffer("features", torch.zeros(capacity, feature_dim), persistent=False)

    def _begin(self) -> None:
        self.length = 0
        self._held, self._looked_at = 0, 0  # rows up to the first are held, from there to the second free

    def clear(self) -> None:
        self._begin()

    def append(self, events: EventStream) -> Tensor:
        """Take events in and return their numbers."""
        first, last = self.length, self.length + len(events)
        if last > len(self.t):
            self._grow(max(last, len(self.t) + min(len(self.t), STEP)))
        for name in COLUMNS:
            getattr(self, name)[first:last] = as_tensor(getattr(events, name))
        self.length = last
        return torch.arange(first, last, device=self.t.device)

    def reserve(self, capacity: int) -> None:
        """Make room at once where the number of events to come is known."""
        if capacity > len(self.t):
            self._grow(capacity)

    def _grow(self, capacity: int) -> None:
        for name in COLUMNS:
            setattr(self, name, self._rooms.lengthened(name, getattr(self, name), capacity))

    def let_go(self, ring: Tensor, pending: Tensor, rows: int) -> None:
        """Let go of events that neither the ring (n, K) of one of their ends nor its pending message (n,)
        holds, and number the others anew, in the same order, there as well. Once the log has doubled since
        the last time, it is gone through from the beginning, ``rows`` in one call: no call takes long."""
        if self._looked_at == 0:
            if self.length < max(FEWEST, 2 * self._held):
                return
            self._held = 0
        last = min(self._looked_at + rows, self.length)
        ends, columns = (ring.numpy(), pending.numpy()), (self.src, self.dst, self.t, self.features)
        src, dst, t, features = (column.numpy() for column in columns)
        self._held = _close_up(*ends, src, dst, t, features, self._held, self._looked_at, last)
        self._looked_at = last
        if last == self.length:
            self.length, self._looked_at = self._held, 0

    def rows(self) -> Tensor:
        """The numbers of all events that there are."""
        free = slice(self._held, self._looked_at) if self._looked_at else slice(0, 0)
        rows = torch.arange(self.length, device=self.t.device)
        return torch.cat((rows[: free.start], rows[free.stop :]))

    def other_end(self, event: Tensor, node: Tensor) -> Tensor:
        """The node at the other end of each event, seen from ``node``, one of its two ends."""
        return self.src[event] + self.dst[event] - node

    def check_ends(self, name: str, event: Tensor) -> None:
        """Whether row n of ``event`` holds numbers of events of node n alone, or -1: the node at the other
        end is found by subtracting n."""
        known = event >= 0
        held, node = event[known], known.nonzero()[:, 0]
        ours = (self.src[held] == node) | (self.dst[held] == node)
        check_that(ours.all(), f"'{name}' holds an event of other nodes for a node")

    def state(self) -> dict[str, Tensor]:
        """The rows in use, for a checkpoint."""
        return {name: getattr(self, name)[: self.length] for name in COLUMNS}

    def expected(self) -> dict[str, Expected]:
        """What a kept state has to be, of events between ``nodes`` nodes."""
        return {
            "src": whole("events", lowest=0, below="nodes"),
            "dst": whole("events", lowest=0, below="nodes"),
            "t": whole("events"),
            "features": Expected(self.features.dtype, ("events", self.features.shape[1])),
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Hold the rows of a state that is as `expected`."""
        check_in_order("t", state["t"])
        self._begin()
        self.reserve(len(state["t"]))
        for name, rows in state.items():
            getattr(self, name)[: len(rows)] = rows
        self.length = len(state["t"])


@compiled
def _close_up(
    ring: Integers,
    pending: Integers,
    src: Integers,
    dst: Integers,
    t: Integers,
    features: npt.NDArray[Any],
    held: int,
    first: int,
    last: int,
) -> int:
    """Rows ``first:last`` that are held are moved down to row ``held``; returns the one behind them."""
    for event in range(first, last):
        found = False
        for node in (src[event], dst[event]):
            for k in range(ring.shape[1]):
                if ring[node, k] == event:
                    ring[node, k] = held
                    found = True
            if pending[node] == event:
                pending[node] = held
                found = True
        if found:
            src[held], dst[held], t[held] = src[event], dst[event], t[event]
            features[held] = features[event]
            held += 1
    return held
