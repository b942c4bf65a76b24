"""A memory that changes by a plain recurrent cell: of JODIE, and of DyRep, which tells it more."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from keat.clock import PLAIN, Clock
from keat.state import Remembered
from keat.time_encoding import TimeEncoder


class RecurrentUpdate(nn.Module):
    """s_u ← tanh(W_x m + b_x + W_h s_u + b_h),  m = [s_u ‖ o_v ‖ e ‖ φ(t - last update of u)], for an event
    (u, v, t, e); and the same of v. What a message says of the other end is its memory, o_v = s_v.

    A node that has no pending message keeps its memory, and one without events has zeros.
    """

    def __init__(self, feature_dim: int, dim: int, time_encoder: TimeEncoder, clock: Clock = PLAIN) -> None:
        super().__init__()
        self.dim, self.time_encoder, self.clock = dim, time_encoder, clock
        self.cell = nn.RNNCell(2 * dim + feature_dim + time_encoder.dim, dim)

    def never_seen(self) -> Tensor:
        """Memory (1, d) of a node without events."""
        return self.cell.weight_hh.new_zeros(1, self.dim)

    def updated(self, nodes: Tensor, known: Remembered) -> tuple[Tensor, Tensor]:
        """Memory (n, d) and last update (n,) once pending messages are applied."""
        waiting = known.pending[nodes] >= 0  # (n,)
        event = known.pending[nodes].clamp(min=0)  # (n,) where nothing waits, any: what it gives is not used
        other = torch.where(waiting, known.src[event] + known.dst[event] - nodes, nodes)  # (n,)
        before, last_update = known.memory.index_select(0, nodes), known.last_update[nodes]
        age = torch.where(waiting, known.t[event] - last_update, 0)  # (n,)
        parts = (
            before,
            self.of_other(nodes, other, event, known),
            known.features.index_select(0, event),
            self.time_encoder(self.clock.ages(age)),
        )
        after = self.cell(torch.cat(parts, dim=1), before)  # (n, d)
        latest = torch.where(waiting, known.t[event], last_update)
        return torch.where(waiting[:, None], after, before), latest

    def of_other(self, nodes: Tensor, other: Tensor, event: Tensor, known: Remembered) -> Tensor:  # noqa: ARG002
        """o (n, d) of the other ends of events, in messages to ``nodes``."""
        return known.memory.index_select(0, other)
