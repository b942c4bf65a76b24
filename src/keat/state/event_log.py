"""Every event observed so far, by number: what rings and message stores point into."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from keat.events import EventStream
from keat.state.checking import Expected, check_in_order, check_that, whole
from keat.state.tensors import as_tensor


class EventLog(nn.Module):
    """Columns src, dst, t and features, growing as events are observed; event i is row i.

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
        self.length = 0
        for column in ("src", "dst", "t"):
            self.register_buffer(column, torch.zeros(capacity, dtype=torch.int64), persistent=False)
        self.register_buffer("features", torch.zeros(capacity, feature_dim), persistent=False)

    def clear(self) -> None:
        self.length = 0

    def append(self, events: EventStream) -> Tensor:
        """Take events in and return their numbers."""
        first, last = self.length, self.length + len(events)
        if last > len(self.t):
            self._grow(max(last, 2 * len(self.t)))
        for name in ("src", "dst", "t", "features"):
            getattr(self, name)[first:last] = as_tensor(getattr(events, name))
        self.length = last
        return torch.arange(first, last, device=self.t.device)

    def reserve(self, capacity: int) -> None:
        """Make room at once where the number of events to come is known."""
        if capacity > len(self.t):
            self._grow(capacity)

    def _grow(self, capacity: int) -> None:
        for name in ("src", "dst", "t", "features"):
            old = getattr(self, name)
            new = old.new_zeros((capacity, *old.shape[1:]))
            new[: self.length] = old[: self.length]
            setattr(self, name, new)

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
        return {name: getattr(self, name)[: self.length] for name in ("src", "dst", "t", "features")}

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
        self.length = 0
        self.reserve(len(state["t"]))
        for name, rows in state.items():
            getattr(self, name)[: len(rows)] = rows
        self.length = len(state["t"])
