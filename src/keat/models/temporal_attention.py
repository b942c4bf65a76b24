"""TGAT's attention of a node over its past events, with a kernel on the edge part.

Keys and values have no bias, so the products with [h_j ‖ φ ‖ e] split by columns into a node part and an
edge part, and ψ on the edge features is ψ on the edge part of key and value. As in `keat.attention`, a seed's
query is projected instead of its keys and its values are summed before they are projected.
"""

from __future__ import annotations

import math
from typing import get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.attention.layer import LastEvents, Modulate, modulated
from keat.errors import unknown_name
from keat.kernels import Kernel
from keat.ops import Edges, mix_edges
from keat.time_encoding import TimeEncoder


class TemporalAttention(nn.Module):
    """α_ij = softmax_j(W_q[h_i ‖ φ(0)] · W_k[h_j ‖ ψ φ(Δ) ‖ ψ e]/√C), per head,
    out_i = LayerNorm(W_o Σ_j α_ij W_v[h_j ‖ ψ φ(Δ) ‖ ψ e] + b_o + [h_i ‖ φ(0)]).

    The width d + T of [h_i ‖ φ(0)] is rounded up to a multiple of the heads with zeros.
    """

    def __init__(
        self,
        node_dim: int,
        time_dim: int,
        message_dim: int,
        heads: int = 2,
        dropout: float = 0.1,
        modulate: Modulate = "edge",
    ) -> None:
        super().__init__()
        if modulate not in get_args(Modulate):
            raise unknown_name("modulation", modulate, get_args(Modulate))
        self.node_dim, self.heads, self.modulate = node_dim, heads, modulate
        self.out_dim = math.ceil((node_dim + time_dim) / heads) * heads
        self.padding = self.out_dim - node_dim - time_dim
        self.lin_query = nn.Linear(self.out_dim, self.out_dim, bias=False)
        self.lin_key = nn.Linear(node_dim + time_dim + message_dim, self.out_dim, bias=False)
        self.lin_value = nn.Linear(node_dim + time_dim + message_dim, self.out_dim, bias=False)
        self.lin_out = nn.Linear(self.out_dim, self.out_dim)
        self.norm = nn.LayerNorm(self.out_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, h: Tensor, past: LastEvents, encoder: TimeEncoder, kernel: Kernel) -> Tensor:
        """(n, d) → (n, d + T, rounded up to a multiple of the heads)"""
        now = encoder(past.age.new_zeros(1)).expand(len(h), -1)  # (n, T) φ(0)
        asked = functional.pad(torch.cat((h, now), dim=1), (0, self.padding))  # (n, H·C)
        query = self.lin_query(asked).unflatten(1, (self.heads, -1)).transpose(0, 1)  # (H, n, C)
        query = query / math.sqrt(query.shape[2])
        key, value = (
            part.weight.view(self.heads, -1, part.in_features) for part in (self.lin_key, self.lin_value)
        )  # (H, C, d + T + R)
        probe = functional.pad(torch.bmm(query, key), (0, 1))  # (H, n, d + T + R + 1), no constant
        sums = mix_edges(probe, self._edges(past, encoder, kernel))[..., :-1]  # (H, n, d + T + R)
        mixed = torch.bmm(sums, value.transpose(1, 2))  # (H, n, C)
        out: Tensor = self.lin_out(mixed.transpose(0, 1).flatten(1))  # (n, H·C)
        normed: Tensor = self.norm(self.dropout(out) + asked)
        return normed

    def _edges(self, past: LastEvents, encoder: TimeEncoder, kernel: Kernel) -> Edges:
        """The events that there are, one after the other; ψ multiplies [φ ‖ e], or what else is modulated."""
        slot = torch.nonzero(past.mask.flatten())[:, 0]
        row, event, age = (part.flatten()[slot] for part in (past.row, past.event, past.age))
        ones = past.x.new_ones(len(slot), self.heads)
        psi = kernel(age).expand_as(ones)  # (V, H)
        psi_node, psi_edge = modulated(self.modulate, psi, ones)
        return Edges(
            first=functional.pad(past.mask.sum(dim=1).cumsum(0), (1, 0)),
            x=past.x,
            row=row,
            time=encoder(age),
            message=past.message,
            event=event,
            psi_node=psi_node,
            psi_edge=psi_edge,  # times [φ ‖ e], in keys and values
            keep=self.dropout(ones),
        )
