"""What attention does between its projections: logits, softmax, weighted sums of raw neighbour features, of K
neighbour slots for every seed. It also returns the attention itself, which is what explanations look at;
`keat.ops.edge_mixing` computes the same sums without it, and faster on a CPU.

Shapes: N seeds with K neighbour slots each, H heads, M nodes, E events; d node, T time, R message numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


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
    features = [_rows(near.x, near.index, near.mask), near.time]
    probes = [probe.node, probe.edge]
    if near.message is not None and near.message.shape[1] > 0:
        event = torch.arange(near.mask.numel(), device=near.mask.device) if near.event is None else near.event
        features.append(_rows(near.message, event.view_as(near.mask), near.mask))
        probes = [probe.node, *torch.tensor_split(probe.edge, [near.time.shape[2]], dim=2)]
    dtype = near.x.dtype
    outputs = _Mix.apply(  # type: ignore[no-untyped-call]
        near.mask,
        keep.to(dtype),
        None if psi_node is None else psi_node.to(dtype).transpose(1, 2),  # (N, H or 1, K)
        None if psi_edge is None else psi_edge.to(dtype).transpose(1, 2),
        probe.constant.to(dtype),
        *(tensor.to(dtype) for tensor in (*probes, *features)),
    )
    node_logit, edge_logit, alpha, mass, node, *edge = outputs
    return Mixed(node, mass, torch.cat(edge, dim=2), node_logit, edge_logit, alpha)


def _rows(table: Tensor, index: Tensor, mask: Tensor) -> Tensor:
    """table[index], (N, K, ·). Indexing with [] is the same, but its gradient is 40 times slower on a CPU."""
    if len(table) == 0:  # before the first event, when every slot is absent
        return table.new_zeros(*index.shape, table.shape[1])
    rows = table.index_select(0, index.masked_fill(~mask, 0).flatten())
    return rows.view(*index.shape, table.shape[1])


class _Mix(torch.autograd.Function):
    """Features are keys and values at once. Autograd would form their gradient, the largest tensor here, once
    for each role and add; here both roles share one product. The first feature is the node's."""

    @staticmethod
    def forward(
        ctx: Any,
        mask: Tensor,  # (N, K)
        keep: Tensor,  # (N, H, K)
        psi_node: Tensor | None,  # (N, H or 1, K)
        psi_edge: Tensor | None,
        constant: Tensor,  # (N, H)
        *probes_and_features: Tensor,  # (N, H, ·) each, then (N, K, ·) each
    ) -> tuple[Tensor, ...]:
        count = len(probes_and_features) // 2
        probes, features = probes_and_features[:count], probes_and_features[count:]
        present = mask.unsqueeze(1)  # (N, 1, K)
        with torch.autocast(mask.device.type, enabled=False):
            node_logit = _dot(probes[:1], features[:1]).add_(constant.unsqueeze(2)).mul_(present)
            edge_logit = _dot(probes[1:], features[1:]).mul_(present)
            logit = _times(node_logit, psi_node) + _times(edge_logit, psi_edge)
            alpha = logit.masked_fill_(~present, torch.finfo(logit.dtype).min).softmax(2)
            alpha.mul_(present)  # a seed without any neighbour has a uniform softmax over absent ones
            kept = alpha * keep
            node_weight, edge_weight = _times(kept, psi_node), _times(kept, psi_edge)
            weights = [node_weight, *[edge_weight] * (count - 1)]
            sums = [torch.bmm(weight, feature) for weight, feature in zip(weights, features, strict=True)]
        ctx.save_for_backward(
            mask, keep, psi_node, psi_edge, node_logit, edge_logit, alpha, *probes_and_features
        )
        ctx.mark_non_differentiable(node_logit, edge_logit, alpha)
        return node_logit, edge_logit, alpha, node_weight.sum(2), *sums

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,
        _node_logit: Tensor,
        _edge_logit: Tensor,
        _alpha: Tensor,
        grad_mass: Tensor,
        *grad_sums: Tensor,
    ) -> tuple[Tensor | None, ...]:
        mask, keep, psi_node, psi_edge, node_logit, edge_logit, alpha, *rest = ctx.saved_tensors
        count = len(rest) // 2
        probes, features = rest[:count], rest[count:]
        present = mask.unsqueeze(1)
        with torch.autocast(mask.device.type, enabled=False):
            grad_node_weight = _dot(grad_sums[:1], features[:1]).add_(grad_mass.unsqueeze(2)).mul_(present)
            grad_edge_weight = _dot(grad_sums[1:], features[1:]).mul_(present)
            grad_alpha = (_times(grad_node_weight, psi_node) + _times(grad_edge_weight, psi_edge)).mul_(keep)
            grad_logit = alpha * (grad_alpha - (alpha * grad_alpha).sum(2, keepdim=True))
            kept = alpha * keep
            grad_psi = [
                None if psi is None else (grad_logit * logit + kept * grad_weight).sum_to_size(psi.shape)
                for psi, logit, grad_weight in (
                    (psi_node, node_logit, grad_node_weight),
                    (psi_edge, edge_logit, grad_edge_weight),
                )
            ]
            grad_probes: list[Tensor] = []
            grad_features: list[Tensor | None] = []
            for i, (probe, feature, grad_sum) in enumerate(zip(probes, features, grad_sums, strict=True)):
                psi = psi_node if i == 0 else psi_edge
                as_key, as_value = _times(grad_logit, psi), _times(kept, psi)
                grad_probes.append(torch.bmm(as_key, feature))
                needed = ctx.needs_input_grad[5 + count + i]  # messages are mostly data
                grad_features.append(_outer([as_key, as_value], [probe, grad_sum]) if needed else None)
            grad_constant = _times(grad_logit, psi_node).sum(2)
        return None, None, *grad_psi, grad_constant, *grad_probes, *grad_features


def _times(tensor: Tensor, psi: Tensor | None) -> Tensor:
    return tensor if psi is None else tensor * psi


def _dot(rows: Sequence[Tensor], features: Sequence[Tensor]) -> Tensor:
    """Σ over the pairs of row·feature: (N, H, ·) and (N, K, ·) → (N, H, K)."""
    total = torch.bmm(rows[0], features[0].transpose(1, 2))
    for row, feature in zip(rows[1:], features[1:], strict=True):
        total.baddbmm_(row, feature.transpose(1, 2))
    return total


def _outer(weights: Sequence[Tensor], rows: Sequence[Tensor]) -> Tensor:
    """Σ over the pairs and heads of weight·row: (N, H, K) and (N, H, ·) → (N, K, ·)."""
    return torch.bmm(torch.cat(list(weights), dim=1).transpose(1, 2), torch.cat(list(rows), dim=1))
