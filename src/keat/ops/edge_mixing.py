"""Attention's sums over the past events of each seed.

`keat.ops.slot_mixing` gives every seed K slots, copies the features of each slot together and multiplies
thousands of tiny matrices. A CPU is three times quicker with plain loops: here the events of seed n are rows
``first[n]`` to ``first[n + 1]`` of flat arrays, and features are read where they are.

Shapes: N seeds with V events in all, H heads, M nodes, E messages; d node, T time, R message numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from keat.ops.compiling import Floats, Integers, arrays, compiled_sums, is_compilable
from keat.ops.team import cuts, over_pieces, over_rows, pieces_for


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """The V past events of N seeds, those of one seed next to each other."""

    first: Tensor  # (N + 1,) where the events of each seed begin
    x: Tensor  # (M, d) features of nodes
    row: Tensor  # (V,) row of x: the node at the other end
    time: Tensor  # (V, T) time encodings φ
    message: Tensor  # (E, R) event features; no gradient
    event: Tensor  # (V,) row of message
    psi_node: Tensor  # (V, H) what multiplies the node terms
    psi_edge: Tensor  # (V, H) what multiplies the edge terms
    keep: Tensor  # (V, H) dropout's factor on α


def mix_edges(probe: Tensor, edges: Edges) -> Tensor:
    """Σ_j α_j f_j of each seed and head, with α = softmax_j(probe · f_j) over the events j of the seed and

        f = [ψ_node x ‖ ψ_edge [φ ‖ message] ‖ ψ_node]

    ``probe`` and the sums are (H, N, d + T + R + 1), the head first as products with the heads' weights have
    them. The last entry of a probe is the constant part of its node terms, that of a sum their weight.
    """
    if not is_compilable(edges.x):
        return mix_edges_plainly(probe, edges)
    inputs = (probe, edges.x, edges.time, edges.psi_node, edges.psi_edge)
    sums: Tensor = _MixEdges.apply(  # type: ignore[no-untyped-call]
        edges, *(tensor.to(edges.x.dtype).contiguous() for tensor in inputs)
    )
    return sums


def mix_edges_plainly(probe: Tensor, edges: Edges) -> Tensor:
    dtype, (heads, seeds, width) = edges.x.dtype, probe.shape
    psi_node, psi_edge = (psi.to(dtype).unsqueeze(2) for psi in (edges.psi_node, edges.psi_edge))  # (V, H, 1)
    node = edges.x.index_select(0, edges.row).unsqueeze(1)  # (V, 1, d)
    message = edges.message.index_select(0, edges.event).to(dtype)
    edge = torch.cat((edges.time.to(dtype), message), dim=1).unsqueeze(1)  # (V, 1, T + R)
    features = torch.cat((psi_node * node, psi_edge * edge, psi_node), dim=2)  # (V, H, d + T + R + 1)

    seed = torch.arange(seeds, device=probe.device).repeat_interleave(edges.first.diff())  # (V,)
    asked = probe.to(dtype).transpose(0, 1).index_select(0, seed)  # (V, H, d + T + R + 1)
    logit = (asked * features).sum(2)  # (V, H)
    of_head = seed.unsqueeze(1).expand_as(logit)
    lowest = logit.new_full((seeds, heads), -math.inf)
    highest = lowest.scatter_reduce(0, of_head, logit.detach(), "amax").index_select(0, seed)
    raised = torch.exp(logit - highest)
    alpha = raised / lowest.new_zeros(seeds, heads).index_add(0, seed, raised).index_select(0, seed)
    weighted = (alpha * edges.keep.to(dtype)).unsqueeze(2) * features
    return weighted.new_zeros(seeds, heads, width).index_add(0, seed, weighted).transpose(0, 1)


class _MixEdges(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        edges: Edges,
        probe: Tensor,
        x: Tensor,
        time: Tensor,
        psi_node: Tensor,
        psi_edge: Tensor,
    ) -> Tensor:
        # The table of messages grows while the graph lives, but a row once written does not change.
        ctx.message, ctx.where = edges.message, (edges.first, edges.row, edges.event)
        attention = torch.empty((3, *psi_node.shape), dtype=x.dtype)  # node logit, edge logit, α
        sums = torch.empty_like(probe)
        tensors = (x, time, probe, psi_node, psi_edge, edges.keep, attention)
        known = arrays(*ctx.where, edges.message, *tensors, sums)
        over_rows(_mix, probe.shape[1], 4 * len(edges.row) * probe.shape[0] * probe.shape[2], *known)
        ctx.save_for_backward(*tensors)
        return sums

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_sums: Tensor) -> tuple[Tensor | None, ...]:
        x, time, probe, psi_node, psi_edge, *_ = saved = ctx.saved_tensors
        grads = [torch.empty_like(tensor) for tensor in (probe, time, psi_node, psi_edge)]
        pieces = cuts(probe.shape[1], pieces_for(8 * len(ctx.where[1]) * probe.shape[0] * probe.shape[2]))
        grad_x = x.new_zeros(len(pieces), *x.shape)  # seeds share neighbours: a sum for each piece
        known = arrays(*ctx.where, ctx.message, *saved, grad_sums.contiguous(), *grads)
        over_pieces(
            _mix_gradient, [(*cut, *known, part) for cut, part in zip(pieces, grad_x.numpy(), strict=True)]
        )
        return None, grads[0], grad_x[0] if len(pieces) == 1 else grad_x.sum(0), *grads[1:]


@compiled_sums
def _dot(a: Floats, b: Floats) -> Any:
    total = a.dtype.type(0)
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@compiled_sums
def _add(out: Floats, factor: Any, a: Floats) -> None:
    for i in range(len(out)):
        out[i] += factor * a[i]


@compiled_sums
def _add_both(out: Floats, factor: Any, a: Floats, other_factor: Any, b: Floats) -> None:
    for i in range(len(out)):
        out[i] += factor * a[i] + other_factor * b[i]


@compiled_sums
def _mix(
    begin: int,
    end: int,
    first: Integers,
    row: Integers,
    event: Integers,
    message: Floats,
    x: Floats,
    time: Floats,
    probe: Floats,
    psi_node: Floats,
    psi_edge: Floats,
    keep: Floats,
    attention: Floats,
    sums: Floats,
) -> None:
    heads, _, width = probe.shape
    of_node, of_edge, last = x.shape[1], x.shape[1] + time.shape[1], width - 1
    node_logit, edge_logit, alpha = attention[0], attention[1], attention[2]
    for n in range(begin, end):
        mine = range(first[n], first[n + 1])
        for h in range(heads):
            asks, out = probe[h, n], sums[h, n]
            highest = x.dtype.type(-np.inf)
            for j in mine:
                u = _dot(asks[:of_node], x[row[j]]) + asks[last]
                v = _dot(asks[of_node:of_edge], time[j]) + _dot(asks[of_edge:last], message[event[j]])
                logit = psi_node[j, h] * u + psi_edge[j, h] * v
                node_logit[j, h], edge_logit[j, h], alpha[j, h] = u, v, logit
                highest = max(highest, logit)
            total = x.dtype.type(0)
            for j in mine:
                alpha[j, h] = math.exp(alpha[j, h] - highest)
                total += alpha[j, h]
            out[:] = 0
            for j in mine:
                alpha[j, h] /= total
                weight = alpha[j, h] * keep[j, h]
                as_node, as_edge = weight * psi_node[j, h], weight * psi_edge[j, h]
                _add(out[:of_node], as_node, x[row[j]])
                _add(out[of_node:of_edge], as_edge, time[j])
                _add(out[of_edge:last], as_edge, message[event[j]])
                out[last] += as_node


@compiled_sums
def _mix_gradient(
    begin: int,
    end: int,
    first: Integers,
    row: Integers,
    event: Integers,
    message: Floats,
    x: Floats,
    time: Floats,
    probe: Floats,
    psi_node: Floats,
    psi_edge: Floats,
    keep: Floats,
    attention: Floats,
    grad_sums: Floats,
    grad_probe: Floats,
    grad_time: Floats,
    grad_psi_node: Floats,
    grad_psi_edge: Floats,
    grad_x: Floats,
) -> None:
    heads, _, width = probe.shape
    of_node, of_edge, last = x.shape[1], x.shape[1] + time.shape[1], width - 1
    node_logit, edge_logit, alpha = attention[0], attention[1], attention[2]
    for n in range(begin, end):
        mine = range(first[n], first[n + 1])
        grad_time[first[n] : first[n + 1]] = 0
        for h in range(heads):
            asks, out, to_asks = probe[h, n], grad_sums[h, n], grad_probe[h, n]
            mean = x.dtype.type(0)  # Σ α dα, which softmax's gradient subtracts
            for j in mine:
                u = _dot(out[:of_node], x[row[j]]) + out[last]
                v = _dot(out[of_node:of_edge], time[j]) + _dot(out[of_edge:last], message[event[j]])
                grad_psi_node[j, h], grad_psi_edge[j, h] = u, v  # as weights; as parts of the logit below
                mean += alpha[j, h] * keep[j, h] * (u * psi_node[j, h] + v * psi_edge[j, h])
            to_asks[:] = 0
            for j in mine:
                u, v, weight = grad_psi_node[j, h], grad_psi_edge[j, h], alpha[j, h] * keep[j, h]
                grad_logit = weight * (u * psi_node[j, h] + v * psi_edge[j, h]) - alpha[j, h] * mean
                grad_psi_node[j, h] = grad_logit * node_logit[j, h] + weight * u
                grad_psi_edge[j, h] = grad_logit * edge_logit[j, h] + weight * v
                as_key, as_value = grad_logit * psi_node[j, h], weight * psi_node[j, h]
                to_asks[last] += as_key
                _add(to_asks[:of_node], as_key, x[row[j]])
                _add_both(grad_x[row[j]], as_key, asks[:of_node], as_value, out[:of_node])
                as_key, as_value = grad_logit * psi_edge[j, h], weight * psi_edge[j, h]
                _add(to_asks[of_node:of_edge], as_key, time[j])
                _add(to_asks[of_edge:last], as_key, message[event[j]])
                _add_both(grad_time[j], as_key, asks[of_node:of_edge], as_value, out[of_node:of_edge])
