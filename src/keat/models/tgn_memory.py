"""How TGN's memory of a node changes with an event. What is remembered, `keat.state.NodeState` has."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from keat.clock import PLAIN, Clock
from keat.ops import update_with_message, update_with_messages, update_without_message, write_messages
from keat.state import Remembered
from keat.time_encoding import TimeEncoder


class MemoryUpdate(nn.Module):
    """s_u ← GRU([s_u ‖ s_v ‖ e ‖ φ(t - last update of u)], s_u) for an event (u, v, t, e), and the same of v.

    With an ``identity`` (TGNv2) the message also says who met whom: … e ‖ id(src) ‖ id(dst) ‖ φ.
    """

    def __init__(
        self,
        feature_dim: int,
        dim: int,
        time_encoder: TimeEncoder,
        identity: NodeIdentity | None = None,
        clock: Clock = PLAIN,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.time_encoder, self.identity, self.clock = time_encoder, identity, clock
        brought = feature_dim + (2 * identity.dim if identity is not None else 0)
        self.gru = nn.GRUCell(2 * dim + brought + time_encoder.dim, dim)

    def never_seen(self) -> Tensor:
        """Memory (1, M) of a node without events: GRU(0, 0), as the reference has it."""
        with torch.no_grad():
            zeros = self.gru.weight_hh.new_zeros
            blank: Tensor = self.gru(zeros(1, self.gru.input_size), zeros(1, self.dim))
            return blank

    def updated(self, nodes: Tensor, known: Remembered) -> tuple[Tensor, Tensor]:
        """Memory and last update once pending messages are applied: GRU(message, s), or GRU(0, s)."""
        at_once = self._updated_at_once(nodes, known)
        if at_once is not None:
            return at_once
        event, last_update = known.pending[nodes], known.last_update[nodes]
        before = known.memory.index_select(0, nodes)
        waiting, without = (torch.nonzero(rows)[:, 0] for rows in (event >= 0, event < 0))
        if len(without) == 0:
            return self._with_message(nodes, event, before, last_update, known), known.t[event]
        after = self._with_message(
            nodes[waiting], event[waiting], before[waiting], last_update[waiting], known
        )
        after = torch.cat((after, update_without_message(self.gru, before[without])))
        order = torch.argsort(torch.cat((waiting, without)))
        return after.index_select(0, order), last_update.index_copy(0, waiting, known.t[event[waiting]])

    def _updated_at_once(self, nodes: Tensor, known: Remembered) -> tuple[Tensor, Tensor] | None:
        """The same with all messages written into one matrix, zeros where none is pending: GRU(0, 0).
        None where that would not be right, because a node without one has a memory."""
        events = (known.src, known.dst, known.t, known.features)
        written = write_messages(
            nodes, known.memory, known.last_update, known.pending, events, self.gru.input_size
        )
        if written is None:
            return None
        message, has_event, age, latest = written
        if self.identity is not None:
            event, first = known.pending[nodes].clamp(min=0), 2 * self.dim + known.features.shape[1]
            both = self._who_met(self.identity, event, known)
            message[:, first:][:, : both.shape[1]] = both * has_event
        encoded = self.time_encoder(self.clock.ages(age))
        return update_with_messages(self.gru, message, encoded, has_event), latest

    def _with_message(
        self, nodes: Tensor, event: Tensor, before: Tensor, last_update: Tensor, known: Remembered
    ) -> Tensor:
        other = known.memory.index_select(0, known.src[event] + known.dst[event] - nodes)
        features = known.features.index_select(0, event)
        if self.identity is not None:
            features = torch.cat((features, self._who_met(self.identity, event, known)), dim=1)
        encoded = self.time_encoder(self.clock.ages(known.t[event] - last_update))
        return update_with_message(self.gru, before, other, features, encoded)

    def _who_met(self, identity: NodeIdentity, event: Tensor, known: Remembered) -> Tensor:
        """[id(src) ‖ id(dst)], (n, ·)."""
        return torch.cat((identity(known.src[event]), identity(known.dst[event])), dim=1)


class NodeIdentity(nn.Module):
    """id(n) = √2 cos(w n + b) with fixed w ~ U(-π, π), b ~ U(0, 2π), one of each a coordinate.

    The mean over w of cos(w (m - n)) is sin(π (m - n)) / (π (m - n)), which is 0 for different whole
    numbers: encodings of different nodes are orthogonal but for chance. A node that nobody has seen has its
    encoding already, and there is nothing to learn or to keep a node.
    """

    frequency: Tensor
    phase: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim
        # Node numbers go into the millions: phases in float64, kept with the parameters.
        self.register_buffer("frequency", (2 * torch.rand(dim, dtype=torch.float64) - 1) * math.pi)
        self.register_buffer("phase", 2 * math.pi * torch.rand(dim, dtype=torch.float64))

    def forward(self, nodes: Tensor) -> Tensor:
        """(n,) → (n, dim)."""
        angle = nodes[:, None] * self.frequency + self.phase
        return (math.sqrt(2) * torch.cos(angle)).float()
