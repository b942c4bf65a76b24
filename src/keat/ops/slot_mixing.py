"""What attention does between its projections: logits, softmax, weighted sums of raw neighbour features, of K
neighbour slots for every seed. It also returns the attention itself, which is what explanations look at;
`keat.ops.edge_mixing` computes the same sums without it, and faster on a CPU.

Shapes: N seeds with K neighbour slots each, H heads, M nodes, E events; d node, T time, R message numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class NeighborFeatures:
    """The K neighbour slots of N seeds.

    Where ``mask`` is False there is no neighbour: the slot's indices may be anything, its numbers any finite.
    Nodes and messages are tables of distinct rows, so that callers compute and copy nothing once per slot.
    """

    x: Tensor  # (M, d) node features
    index: Tensor  # (N, K) int64, row of x
    time: Tensor  # (N, K, T) time encodings, the first T edge features
    mask: Tensor  # (N, K) bool
    psi: Tensor | None = None  # (N, K, H) or (N, K, 1), kernel weights; None is 1
    message: Tensor | None = None  # (E, R) event features, the other R edge features
    event: Tensor | None = None  # (N, K) int64, row of message; None: slot (n, k) has row n·K + k


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """What each seed asks of raw features: node logit = node·x_j + constant, edge logit = edge·a_ij."""

    node: Tensor  # (N, H, d)
    edge: Tensor  # (N, H, T + R)
    constant: Tensor  # (N, H)


@dataclass(frozen=True, slots=True, eq=False)
class Mixed:
    """Sums over the neighbours of a seed, and the attention that weighted them."""

    node: Tensor  # (N, H, d) Σ_j α ψ_node x_j
    mass: Tensor  # (N, H) Σ_j α ψ_node
    edge: Tensor  # (N, H, T + R) Σ_j α ψ_edge a_ij
    node_logit: Tensor  # (N, H, K) without ψ; this and the next two carry no gradient
    edge_logit: Tensor  # (N, H, K) without ψ
    alpha: Tensor  # (N, H, K) before dropout


def mix_slots(
    probe: Probe, near: NeighborFeatures, psi_node: Tensor | None, psi_edge: Tensor | None, keep: Tensor
) -> Mixed:
    """α = softmax_j(ψ_node·node logit + ψ_edge·edge logit); ``keep`` (N, H, K) is dropout's factor on α."""
    dtype = near.x.dtype
    present, absent = near.mask.unsqueeze(1), ~near.mask.unsqueeze(2)  # (N, 1, K), (N, K, 1)
    ask_node, ask_edge, constant = (part.to(dtype) for part in (probe.node, probe.edge, probe.constant))
    on_node, on_edge = (
        None if psi is None else psi.to(dtype).masked_fill(absent, 0).mT for psi in (psi_node, psi_edge)
    )  # (N, H or 1, K)
    x = _rows(near.x, near.index, near.mask)  # (N, K, d)
    edge = _edge_features(near).to(dtype).masked_fill(absent, 0)  # (N, K, T + R)
    with torch.autocast(near.mask.device.type, enabled=False):
        node_logit = (torch.bmm(ask_node, x.mT) + constant.unsqueeze(2)) * present  # (N, H, K)
        edge_logit = torch.bmm(ask_edge, edge.mT) * present
        logit = _times(node_logit, on_node) + _times(edge_logit, on_edge)
        # A seed without any neighbour has a uniform softmax over absent ones: masked before and after.
        alpha = logit.masked_fill(~present, torch.finfo(dtype).min).softmax(2) * present
        kept = alpha * keep.to(dtype)
        as_node, as_edge = _times(kept, on_node), _times(kept, on_edge)
        sums = torch.bmm(as_node, x), as_node.sum(2), torch.bmm(as_edge, edge)
    return Mixed(*sums, node_logit.detach(), edge_logit.detach(), alpha.detach())


def _edge_features(near: NeighborFeatures) -> Tensor:
    """[φ ‖ message] of each slot, (N, K, T + R)."""
    if near.message is None or near.message.shape[1] == 0:
        return near.time
    event = torch.arange(near.mask.numel(), device=near.mask.device) if near.event is None else near.event
    message = _rows(near.message, event.view_as(near.mask), near.mask)
    return torch.cat((near.time, message.to(near.time.dtype)), dim=2)


def _rows(table: Tensor, index: Tensor, mask: Tensor) -> Tensor:
    """table[index], (N, K, ·). Indexing with [] is the same, but its gradient is 40 times slower on a CPU."""
    if len(table) == 0:  # before the first event, when every slot is absent
        return table.new_zeros(*index.shape, table.shape[1])
    rows = table.index_select(0, index.masked_fill(~mask, 0).flatten())
    return rows.view(*index.shape, table.shape[1])


def _times(tensor: Tensor, psi: Tensor | None) -> Tensor:
    return tensor if psi is None else tensor * psi
