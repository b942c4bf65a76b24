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
    update: Update

    def __init__(self, num_nodes: int, update: Update) -> None:
        super().__init__()
        self.__dict__["update"] = update  # its parameters are the model's, under the model's names
        self.register_buffer("memory", torch.zeros(num_nodes, update.dim), persistent=False)
        self.register_buffer("last_update", torch.zeros(num_nodes, dtype=torch.int64), persistent=False)
        self.register_buffer("pending", torch.full((num_nodes,), NONE, dtype=torch.int64), persistent=False)

    def clear(self) -> None:
        """Forget everything; the next event is the first."""
        self.memory.zero_()
        self.last_update.zero_()
        self.pending.fill_(NONE)

    def grow(self, num_nodes: int) -> None:
        """Make room for nodes that have appeared."""
        more = num_nodes - len(self.memory)
        if more > 0:
            blank = self.memory.new_zeros(1, self.update.dim) if self.training else self.update.never_seen()
            self.memory = torch.cat((self.memory, blank.expand(more, -1)))
            self.last_update = torch.cat((self.last_update, self.last_update.new_zeros(more)))
            self.pending = torch.cat((self.pending, self.pending.new_full((more,), NONE)))

    def expected(self) -> dict[str, Expected]:
        """What a kept state has to be, of ``nodes`` nodes and ``events`` events in the log."""
        return {
            "memory": Expected(self.memory.dtype, ("nodes", self.update.dim)),
            "last_update": whole("nodes"),
            "pending": whole("nodes", lowest=NONE, below="events"),
        }

    def read(self, nodes: Tensor, log: EventLog) -> tuple[Tensor, Tensor]:
        """Memory (n, M) and last update (n,) of distinct ``nodes``, pending messages applied."""
        if self.training:
            return self._updated(nodes, log)
        return self.memory[nodes], self.last_update[nodes]

    def observe(self, nodes: Tensor, events: Tensor, log: EventLog) -> None:
        """Take in events: ``nodes`` are their distinct ends, ``events`` the last event of each."""
        if self.training:
            self.write(nodes, *self._updated(nodes, log))
            self.pending[nodes] = events
        else:
            self.pending[nodes] = events
            self.write(nodes, *self._updated(nodes, log))
            self.pending[nodes] = NONE

    def write(self, nodes: Tensor, memory: Tensor, last_update: Tensor) -> None:
        self.memory[nodes] = memory.detach()
        self.last_update[nodes] = last_update

    def flush(self, log: EventLog) -> None:
        """Apply every pending message, at the end of training."""
        if self.memory.is_meta:  # a model that is looked at for its shapes alone
            return
        with torch.no_grad():
            seen = self.pending >= 0
            fresh = ~seen & (self.last_update == 0) & (self.memory == 0).all(dim=1)
            for nodes in torch.split(torch.nonzero(seen)[:, 0], 1 << 16):
                self.write(nodes, *self._updated(nodes, log))
            self.pending.fill_(NONE)
            self.memory[fresh] = self.update.never_seen()

    def _updated(self, nodes: Tensor, log: EventLog) -> tuple[Tensor, Tensor]:
        columns = (log.src, log.dst, log.t, log.features)
        return self.update.updated(nodes, Remembered(self.memory, self.last_update, self.pending, *columns))
