"""TGN's node memory as tensors: what a node is, and the event that its memory has still to take in.

The reference (PyG's `TGNMemory`) keeps two Python dicts of tuples and walks them node by node. With its
"last message" aggregation only the newest event of a node is ever used, so one event number a node says
all there is to say; the message is built from it when it is read.

Departures, where the reference is arbitrary or wrong:

- of events with equal time, the reference takes whichever index its scatter leaves on top, and prefers
  the destination role, even over a newer event; here the newest event wins;
- entering evaluation, the reference sets ``last_update`` of nodes without events to 0 and applies the GRU
  to all N nodes at once; here nodes that never had an event share one row, GRU(0, 0), the same values
  at any N.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from keat.state.checking import Expected, whole
from keat.state.event_log import EventLog
from keat.state.growing import Rooms

NONE = -1


class Remembered(NamedTuple):
    """What an update of memories is computed from: N nodes, E events."""

    memory: Tensor  # (N, M)
    last_update: Tensor  # (N,)
    pending: Tensor  # (N,) number of the event whose message has not been applied yet, or -1
    src: Tensor  # (E,)
    dst: Tensor  # (E,)
    t: Tensor  # (E,)
    features: Tensor  # (E, R)
    around: Tensor | None = None  # (N, K) events that the other end of that event had had before, or -1


class Kept(NamedTuple):
    """What a memory keeps beside what TGN's does, for other models."""

    at_once: bool = False  # a memory changes as soon as its event is observed, in training too
    around: int = 0  # K: how many events of the other end a pending message can be made of
    from_first: bool = False  # when the first event happened, from which ages of new nodes are measured


class Update(Protocol):
    """The learned rule by which a memory changes: `keat.models.tgn_memory.MemoryUpdate`."""

    dim: int  # M

    def updated(self, nodes: Tensor, known: Remembered) -> tuple[Tensor, Tensor]:
        """Memory (n, M) and last update (n,) of distinct nodes, once their pending messages are applied."""
        ...

    def never_seen(self) -> Tensor:
        """Memory (1, M) of a node without events."""
        ...


class NodeMemory(nn.Module):
    """Memory of every node, and the event whose message to it is still pending.

    In training a message is applied when it is read or when the node's next event arrives, so that the
    gradient of a loss reaches the GRU through the batch before. In evaluation it is applied at once.
    """

    memory: Tensor  # (nodes, M)
    last_update: Tensor  # (nodes,)
    pending: Tensor  # (nodes,) event number, or -1
    around: Tensor  # (nodes, K) event numbers, or -1
    began: Tensor  # () time of the first event of all, or 0
    update: Update

    def __init__(self, num_nodes: int, update: Update, kept: Kept = Kept()) -> None:  # noqa: B008  (immutable)
        super().__init__()
        self.kept, self._rooms = kept, Rooms()
        self.__dict__["update"] = update  # its parameters are the model's, under the model's names
        self.register_buffer("memory", torch.zeros(num_nodes, update.dim), persistent=False)
        self.register_buffer("last_update", torch.zeros(num_nodes, dtype=torch.int64), persistent=False)
        self.register_buffer("pending", torch.full((num_nodes,), NONE, dtype=torch.int64), persistent=False)
        around = torch.full((num_nodes, kept.around), NONE, dtype=torch.int64)
        self.register_buffer("around", around, persistent=False)
        self.register_buffer("began", torch.zeros((), dtype=torch.int64), persistent=False)

    @property
    def waits(self) -> bool:
        """Whether a message is applied only when it is read."""
        return self.training and not self.kept.at_once

    def clear(self) -> None:
        """Forget everything; the next event is the first."""
        self.memory.zero_()
        self.last_update.zero_()
        self.pending.fill_(NONE)
        self.around.fill_(NONE)
        self.began.zero_()

    def begin(self, t: int) -> None:
        """The first event of all is about to be observed."""
        if self.kept.from_first:
            self.began.fill_(t)
            self.last_update.fill_(t)

    def grow(self, num_nodes: int) -> None:
        """Make room for nodes that have appeared."""
        if num_nodes <= len(self.memory):
            return
        blank = self.memory.new_zeros(1, self.update.dim) if self.training else self.update.never_seen()
        begin: dict[str, Tensor | float] = {
            "memory": blank.detach(),
            "last_update": self.began,
            "pending": NONE,
            "around": NONE,
        }
        for name, fill in begin.items():
            setattr(self, name, self._rooms.lengthened(name, getattr(self, name), num_nodes, fill))

    def expected(self) -> dict[str, Expected]:
        """What a kept state has to be, of ``nodes`` nodes and ``events`` events in the log."""
        expected = {
            "memory": Expected(self.memory.dtype, ("nodes", self.update.dim)),
            "last_update": whole("nodes"),
            "pending": whole("nodes", lowest=NONE, below="events"),
        }
        if self.kept.around:
            expected["around"] = whole("nodes", self.kept.around, lowest=NONE, below="events")
        if self.kept.from_first:
            expected["began"] = whole()
        return expected

    def read(self, nodes: Tensor, log: EventLog) -> tuple[Tensor, Tensor]:
        """Memory (n, M) and last update (n,) of distinct ``nodes``, pending messages applied."""
        if self.waits:
            return self._updated(nodes, log)
        return self.memory[nodes], self.last_update[nodes]

    def observe(self, nodes: Tensor, events: Tensor, log: EventLog, around: Tensor | int = NONE) -> None:
        """Take in events: ``nodes`` are their distinct ends, ``events`` the last event of each, ``around``
        (n, K) the events that its other end had had before."""
        if self.waits:
            self.write(nodes, *self._updated(nodes, log))
            self.expect(nodes, events, around)
        else:
            self.expect(nodes, events, around)
            self.write(nodes, *self._updated(nodes, log))
            self.expect(nodes, NONE, NONE)

    def expect(self, nodes: Tensor, events: Tensor | int, around: Tensor | int) -> None:
        """The messages of these events are pending."""
        self.pending[nodes] = events
        if self.kept.around:
            self.around[nodes] = around

    def write(self, nodes: Tensor, memory: Tensor, last_update: Tensor) -> None:
        self.memory[nodes] = memory.detach()
        self.last_update[nodes] = last_update

    def flush(self, log: EventLog) -> None:
        """Apply every pending message, at the end of training."""
        if self.memory.is_meta:  # a model that is looked at for its shapes alone
            return
        with torch.no_grad():
            seen = self.pending >= 0
            fresh = ~seen & (self.last_update == self.began) & (self.memory == 0).all(dim=1)
            for nodes in torch.split(torch.nonzero(seen)[:, 0], 1 << 16):
                self.write(nodes, *self._updated(nodes, log))
            self.pending.fill_(NONE)
            self.around.fill_(NONE)
            self.memory[fresh] = self.update.never_seen()

    def _updated(self, nodes: Tensor, log: EventLog) -> tuple[Tensor, Tensor]:
        columns = (log.src, log.dst, log.t, log.features)
        around = self.around if self.kept.around else None
        known = Remembered(self.memory, self.last_update, self.pending, *columns, around)
        return self.update.updated(nodes, known)
