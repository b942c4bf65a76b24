"""Kernelized attention over K neighbours (Eq. 5–6 of the paper), in a dense (N, K) layout.

Neighbour features are never projected. With x_j the node and a_ij the edge features of a neighbour,

    q·(W_k x_j + b_k + ψ W_e a_ij)       = (qW_k)·x_j + q·b_k + ψ (qW_e)·a_ij
    Σ_j α_j (W_v x_j + b_v + ψ W_e a_ij) = W_v Σ_j α_j x_j + b_v Σ_j α_j + W_e Σ_j α_j ψ a_ij

so a seed's query is projected instead of its K keys, and its K values are summed before they are projected:
the same numbers for K times fewer multiplications with the large matrices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from keat.errors import KeatError, unknown_name
from keat.ops import Mixed, NeighborFeatures, Probe, mix_slots

Modulate = Literal["edge", "node", "both", "none"]
Psi = TypeVar("Psi", Tensor, Tensor | None)


def modulated(modulate: Modulate, psi: Psi, one: Psi) -> tuple[Psi, Psi]:
    """What multiplies the node terms and what the edge terms: ψ or ``one``. KEAT is "edge"."""
    return psi if modulate in ("node", "both") else one, psi if modulate in ("edge", "both") else one


@dataclass(frozen=True, slots=True, eq=False)
class LastEvents:
    """The last K events of n seeds, before anything is encoded."""

    x: Tensor  # (M, d) features of the nodes at their other ends
    row: Tensor  # (n, K) row of x
    mask: Tensor  # (n, K) whether there is an event; where not, the other entries may be any index
    event: Tensor  # (n, K) row of `message`
    age: Tensor  # (n, K)
    message: Tensor  # (E, R) event features

    def __getitem__(self, seeds: slice) -> LastEvents:
        row, mask, event, age = (part[seeds] for part in (self.row, self.mask, self.event, self.age))
        return LastEvents(self.x, row, mask, event, age, self.message)


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """What each neighbour was worth to each head, (N, K, H) each; entries of absent neighbours are 0.

    ``alpha`` = softmax over K of node_logit + ψ·edge_logit where the kernel modulates edges, before dropout.
    All are detached: they are for looking at.
    """

    node_logit: Tensor
    edge_logit: Tensor
    psi: Tensor
    alpha: Tensor


class KernelizedAttention(nn.Module):
    """α_ij = softmax_j(q_i·(k_j + ψ_ij e_ij)/√C), per head,
    out_i = W_skip x_i + b_skip + Σ_j α_ij (v_j + ψ_ij e_ij).

    q, k, v are affine in the node features, e_ij = W_e [φ ‖ message] is linear in the edge features.
    The parameters have the names and shapes of PyG's `TransformerConv`, whose outputs these are when its edge
    features are multiplied by ψ.

    ``modulate`` says what ψ multiplies: the edge terms (KEAT), the node terms, both, or none. The skip is
    never modulated. ``shared_edge_weights=False`` gives the values a matrix W_e′ of their own, as the paper
    writes it; its released code, like PyG, shares one.
    """

    def __init__(
        self,
        node_dim: int,
        edge_dim: int,
        out_dim: int,
        heads: int = 2,
        dropout: float = 0.1,
        modulate: Modulate = "edge",
        shared_edge_weights: bool = True,
    ) -> None:
        super().__init__()
        if out_dim % heads:
            raise KeatError(f"{heads} heads cannot share {out_dim} output dimensions; choose a divisor.")
        if modulate not in get_args(Modulate):
            raise unknown_name("modulation", modulate, get_args(Modulate))
        self.heads = heads
        self.dropout = dropout
        self.modulate: Modulate = modulate
        self.lin_query = nn.Linear(node_dim, out_dim)
        self.lin_key = nn.Linear(node_dim, out_dim)
        self.lin_value = nn.Linear(node_dim, out_dim)
        self.lin_edge = nn.Linear(edge_dim, out_dim, bias=False)
        self.lin_edge_value = None if shared_edge_weights else nn.Linear(edge_dim, out_dim, bias=False)
        self.lin_skip = nn.Linear(node_dim, out_dim)

    def forward(self, seeds: Tensor, near: NeighborFeatures) -> Tensor:
        """The new features of the seeds, (N, d) → (N, out_dim)."""
        return self._attend(seeds, near)[0]

    def explain(self, seeds: Tensor, near: NeighborFeatures) -> tuple[Tensor, Attention]:
        """`forward`, and the attention behind it."""
        out, mixed = self._attend(seeds, near)
        psi = torch.ones_like(near.time[..., :1]) if near.psi is None else near.psi
        return out, Attention(
            node_logit=mixed.node_logit.detach().transpose(1, 2),
            edge_logit=mixed.edge_logit.detach().transpose(1, 2),
            psi=psi.detach().expand(-1, -1, self.heads).masked_fill(~near.mask.unsqueeze(-1), 0),
            alpha=mixed.alpha.detach().transpose(1, 2),
        )

    def probe(self, seeds: Tensor) -> Probe:
        """What each seed asks of raw features, 1/√C included."""
        packed = self.packed_probe(seeds).transpose(0, 1)  # (N, H, d + (T + R) + 1)
        node, edge, constant = torch.split(
            packed, [self.lin_key.in_features, self.lin_edge.in_features, 1], dim=2
        )
        return Probe(node, edge, constant.squeeze(2))

    def combine(self, seeds: Tensor, node: Tensor, mass: Tensor, edge: Tensor) -> Tensor:
        """The output from weighted sums over the neighbours, (N, H, d), (N, H) and (N, H, T + R)."""
        return self.packed_combine(seeds, torch.cat((node, edge, mass.unsqueeze(2)), dim=2).transpose(0, 1))

    def packed_probe(self, seeds: Tensor) -> Tensor:
        """`probe` as one tensor with the head first: [node ‖ edge ‖ constant], (H, N, d + T + R + 1)."""
        q = self.lin_query(seeds).unflatten(1, (self.heads, -1)).transpose(0, 1)  # (H, N, C)
        keys = self._packed_weight(self.lin_key, self.lin_edge) / math.sqrt(q.shape[2])
        return torch.bmm(q, keys)

    def packed_combine(self, seeds: Tensor, sums: Tensor) -> Tensor:
        """`combine` of sums that lie as `packed_probe` does, the mass in place of the constant."""
        values = self._packed_weight(self.lin_value, self.lin_edge_value or self.lin_edge)
        out = torch.bmm(sums, values.transpose(1, 2)).transpose(0, 1)  # (N, H, C)
        skip: Tensor = self.lin_skip(seeds)
        return skip + out.reshape(skip.shape)

    def _packed_weight(self, node: nn.Linear, edge: nn.Linear) -> Tensor:
        """[W | W_e | b] of each head, (H, C, d + T + R + 1)."""
        packed = torch.cat((node.weight, edge.weight, node.bias[:, None]), dim=1)
        return packed.view(self.heads, -1, packed.shape[1])

    def _attend(self, seeds: Tensor, near: NeighborFeatures) -> tuple[Tensor, Mixed]:
        self._check_shapes(seeds, near)
        psi_node, psi_edge = modulated(self.modulate, near.psi, None)
        keep = F.dropout(
            near.time.new_ones(len(seeds), self.heads, near.mask.shape[1]), self.dropout, self.training
        )
        mixed = mix_slots(self.probe(seeds), near, psi_node, psi_edge, keep)
        return self.combine(seeds, mixed.node, mixed.mass, mixed.edge), mixed

    def _check_shapes(self, seeds: Tensor, near: NeighborFeatures) -> None:
        n, k = near.mask.shape
        time_dim = self.lin_edge.in_features - (0 if near.message is None else near.message.shape[1])
        for name, tensor, *shapes in (
            ("seeds", seeds, (n, self.lin_query.in_features)),
            ("x", near.x, (len(near.x), self.lin_key.in_features)),
            ("index", near.index, (n, k)),
            ("event", near.event, (n, k)),
            ("time", near.time, (n, k, time_dim)),
            ("psi", near.psi, (n, k, 1), (n, k, self.heads)),
        ):
            if tensor is not None and tuple(tensor.shape) not in shapes:
                wanted = " or ".join(map(str, shapes))
                raise ValueError(f"`{name}` has shape {tuple(tensor.shape)}, but here it must be {wanted}.")

    def extra_repr(self) -> str:
        return f"heads={self.heads}, dropout={self.dropout}, modulate={self.modulate}"
