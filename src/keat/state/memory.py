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
from torch.nn import functional

from keat.state.event_log import EventLog
from keat.time_encoding import TimeEncoder

NONE = -1


class NodeMemory(nn.Module):
    """Memory s_n, and the event whose message to n is still pending.

        message to u of event (u, v, t, e):  [s_u ‖ s_v ‖ e ‖ φ(t - last_update_u)]
        s_u ← GRU(message, s_u),  last_update_u ← t

    In training a message is applied when it is read or when the node's next event arrives, so that the
    gradient of a loss reaches the GRU through the batch before. In evaluation it is applied at once.
    """

    memory: Tensor  # (nodes, M)
    last_update: Tensor  # (nodes,)
    pending: Tensor  # (nodes,) event number, or -1

    def __init__(self, num_nodes: int, feature_dim: int, memory_dim: int, time_encoder: TimeEncoder) -> None:
        super().__init__()
        self.dim = memory_dim
        self.fixed_dim = 2 * memory_dim + feature_dim  # the part of a message that needs no gradient
        self.time_encoder = time_encoder
        self.gru = nn.GRUCell(self.fixed_dim + time_encoder.dim, memory_dim)
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
        with torch.no_grad():
            seen = self.pending >= 0
            fresh = ~seen & (self.last_update == 0) & (self.memory == 0).all(dim=1)
            for nodes in torch.split(torch.nonzero(seen)[:, 0], 1 << 16):
                self.write(nodes, *self._updated(nodes, log))
            self.pending.fill_(NONE)
            self.memory[fresh] = self.never_seen()

    def _updated(self, nodes: Tensor, log: EventLog) -> tuple[Tensor, Tensor]:
        event = self.pending[nodes]
        has_message = event >= 0
        event = event.clamp(min=0)
        before = self.memory[nodes]
        t, last_update = log.t[event], self.last_update[nodes]
        other = torch.where(has_message, log.other_end(event, nodes), 0)
        fixed = torch.cat((before, self.memory[other], log.features[event]), dim=1)
        encoded = self.time_encoder(torch.where(has_message, t - last_update, 0))
        mask = has_message[:, None].to(before.dtype)
        after = self._gru(fixed * mask, encoded * mask, before)
        return after, torch.where(has_message, t, last_update)

    def _gru(self, fixed: Tensor, encoded: Tensor, before: Tensor) -> Tensor:
        """`self.gru` of [fixed ‖ encoded], with the weight split so that autograd does not compute the
        gradient of the part that needs none, three quarters of the input."""
        weight = self.gru.weight_ih
        gates = functional.linear(fixed, weight[:, : self.fixed_dim], self.gru.bias_ih)
        gates = gates + functional.linear(encoded, weight[:, self.fixed_dim :])
        hidden = functional.linear(before, self.gru.weight_hh, self.gru.bias_hh)
        sizes = [2 * self.dim, self.dim]
        reset_update, new = torch.split(gates, sizes, dim=1)
        hidden_gates, hidden_new = torch.split(hidden, sizes, dim=1)
        reset, update = torch.sigmoid(reset_update + hidden_gates).chunk(2, dim=1)
        proposal = torch.tanh(new + reset * hidden_new)
        return proposal + update * (before - proposal)
