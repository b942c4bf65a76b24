"""TGN's node memory as tensors: what a node is, updated by a GRU from its last event.

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

import torch
from torch import Tensor, nn

from keat.clock import PLAIN, Clock
from keat.ops import update_with_message, update_with_messages, update_without_message, write_messages
from keat.state.checking import Expected, whole
from keat.state.event_log import EventLog
from keat.state.identity import NodeIdentity
from keat.time_encoding import TimeEncoder

NONE = -1


class NodeMemory(nn.Module):
    """Memory s_n, and the event whose message to n is still pending.

        message to u of event (u, v, t, e):  [s_u ‖ s_v ‖ e ‖ φ(t - last_update_u)]
        s_u ← GRU(message, s_u),  last_update_u ← t

    With an ``identity`` (TGNv2) the message also says who met whom: … e ‖ id(src) ‖ id(dst) ‖ φ.

    In training a message is applied when it is read or when the node's next event arrives, so that the
    gradient of a loss reaches the GRU through the batch before. In evaluation it is applied at once.
    """

    memory: Tensor  # (nodes, M)
    last_update: Tensor  # (nodes,)
    pending: Tensor  # (nodes,) event number, or -1

    def __init__(
        self,
        num_nodes: int,
        feature_dim: int,
        memory_dim: int,
        time_encoder: TimeEncoder,
        identity: NodeIdentity | None = None,
        clock: Clock = PLAIN,
    ) -> None:
        super().__init__()
        self.dim = memory_dim
        self.time_encoder = time_encoder
        self.identity, self.clock = identity, clock
        told = feature_dim + (2 * identity.dim if identity is not None else 0)
        self.gru = nn.GRUCell(2 * memory_dim + told + time_encoder.dim, memory_dim)
        self.register_buffer("memory", torch.zeros(num_nodes, memory_dim), persistent=False)
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
            blank = self.memory.new_zeros(1, self.dim) if self.training else self.never_seen()
            self.memory = torch.cat((self.memory, blank.expand(more, -1)))
            self.last_update = torch.cat((self.last_update, self.last_update.new_zeros(more)))
            self.pending = torch.cat((self.pending, self.pending.new_full((more,), NONE)))

    def expected(self) -> dict[str, Expected]:
        """What a kept state has to be, of ``nodes`` nodes and ``events`` events in the log."""
        return {
            "memory": Expected(self.memory.dtype, ("nodes", self.dim)),
            "last_update": whole("nodes"),
            "pending": whole("nodes", lowest=NONE, below="events"),
        }

    def never_seen(self) -> Tensor:
        """Memory (1, M) of a node without events: GRU(0, 0), as the reference has it."""
        with torch.no_grad():
            zeros = self.memory.new_zeros
            blank: Tensor = self.gru(zeros(1, self.gru.input_size), zeros(1, self.dim))
            return blank

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
            self.memory[fresh] = self.never_seen()

    def _updated(self, nodes: Tensor, log: EventLog) -> tuple[Tensor, Tensor]:
        """Memory and last update once pending messages are applied: GRU(message, s), or GRU(0, s)."""
        at_once = self._updated_at_once(nodes, log)
        if at_once is not None:
            return at_once
        event, last_update = self.pending[nodes], self.last_update[nodes]
        before = self.memory.index_select(0, nodes)
        told, untold = (torch.nonzero(rows)[:, 0] for rows in (event >= 0, event < 0))
        if len(untold) == 0:
            return self._with_message(nodes, event, before, last_update, log), log.t[event]
        after = self._with_message(nodes[told], event[told], before[told], last_update[told], log)
        after = torch.cat((after, update_without_message(self.gru, before[untold])))
        order = torch.argsort(torch.cat((told, untold)))
        return after.index_select(0, order), last_update.index_copy(0, told, log.t[event[told]])

    def _updated_at_once(self, nodes: Tensor, log: EventLog) -> tuple[Tensor, Tensor] | None:
        """The same with all messages written into one matrix, zeros where none is pending: GRU(0, 0).
        None where that would not be right, because a node without one has a memory."""
        events = (log.src, log.dst, log.t, log.features)
        written = write_messages(
            nodes, self.memory, self.last_update, self.pending, events, self.gru.input_size
        )
        if written is None:
            return None
        message, told, age, latest = written
        if self.identity is not None:
            event, (first, width) = self.pending[nodes].clamp(min=0), (2 * self.dim, log.features.shape[1])
            both = torch.cat((self.identity(log.src[event]), self.identity(log.dst[event])), dim=1)
            message[:, first + width :][:, : both.shape[1]] = both * told
        encoded = self.time_encoder(self.clock.ages(age))
        return update_with_messages(self.gru, message, encoded, told), latest

    def _with_message(
        self, nodes: Tensor, event: Tensor, before: Tensor, last_update: Tensor, log: EventLog
    ) -> Tensor:
        other = self.memory.index_select(0, log.other_end(event, nodes))
        features = log.features.index_select(0, event)
        if self.identity is not None:
            both = (self.identity(log.src[event]), self.identity(log.dst[event]))
            features = torch.cat((features, *both), dim=1)
        encoded = self.time_encoder(self.clock.ages(log.t[event] - last_update))
        return update_with_message(self.gru, before, other, features, encoded)
