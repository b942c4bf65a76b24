"""Attention's sums over the past events of each seed, compiled.

The same numbers as `keat.attention.mixing.mix`, which gives every seed K slots, copies the features of each
slot together and multiplies thousands of tiny matrices. A CPU is three times quicker with plain loops: here
the events of seed n are rows ``first[n]`` to ``first[n + 1]`` of flat arrays, and features are read where
they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from keat.attention.mixing import Probe
from keat.state.compiled import Floats, Integers, compiled_sums


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """The V past events of N seeds, those of one seed next to each other."""

    first: Tensor  # (N + 1,) where the events of each seed begin
    x: Tensor  # (M, d) features of nodes
    row: Tensor  # (V,) row of x: the node at the other end
    time: Tensor  # (V, T) time encodings
    message: Tensor  # (E, R) event features; no gradient
    event: Tensor  # (V,) row of message
    psi_node: Tensor  # (V, H) what multiplies the node terms
    psi_edge: Tensor  # (V, H) what multiplies the edge terms
    keep: Tensor  # (V, H) dropout's factor on α


def mix_edges(probe: Probe, edges: Edges) -> tuple[Tensor, Tensor, Tensor]:
    """Σ α ψ_node x (N, H, d), Σ α ψ_node (N, H) and Σ α ψ_edge [φ ‖ message] (N, H, T + R)."""
    of_heads = (tensor.transpose(0, 1) for tensor in (probe.node, probe.edge, probe.constant))
    inputs = (*of_heads, edges.x, edges.time, edges.psi_node, edges.psi_edge)
    node, mass, edge = _MixEdges.apply(  # type: ignore[no-untyped-call]
        edges, *(tensor.to(edges.x.dtype).contiguous() for tensor in inputs)
    )
    return node.transpose(0, 1), mass.T, edge.transpose(0, 1)


class _MixEdges(torch.autograd.Function):
    """Probes and sums have the head first, (H, N, ·), as products with the heads' weights have them."""

    @staticmethod
    def forward(
        ctx: Any,
        edges: Edges,
        node_probe: Tensor,
        edge_probe: Tensor,
        constant: Tensor,
        x: Tensor,
        time: Tensor,
        psi_node: Tensor,
        psi_edge: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        # The table of messages grows while the graph lives, but a row once written does not change.
        ctx.message, ctx.where = edges.message, (edges.first, edges.row, edges.event)
        node_logit, edge_logit, alpha = torch.empty((3, *psi_node.shape), dtype=x.dtype)
        node, mass, edge = (torch.empty_like(tensor) for tensor in (node_probe, constant, edge_probe))
        tensors = (x, time, node_probe, edge_probe, psi_node, psi_edge, edges.keep)
        attention = (node_logit, edge_logit, alpha)
        _mix(*_arrays(*ctx.where, edges.message, *tensors, constant, *attention, node, mass, edge))
        ctx.save_for_backward(*tensors, *attention)
        return node, mass, edge

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_sums: Tensor) -> tuple[Tensor | None, ...]:
        x, time, node_probe, edge_probe, psi_node, psi_edge, *_ = saved = ctx.saved_tensors
        grad_x = torch.zeros_like(x)
        grad_probes = [torch.empty_like(tensor) for tensor in (node_probe, edge_probe, grad_sums[1])]
        grads = [*grad_probes, grad_x, *(torch.empty_like(tensor) for tensor in (time, psi_node, psi_edge))]
        contiguous = (grad.contiguous() for grad in grad_sums)
        _mix_gradient(*_arrays(*ctx.where, ctx.message, *saved, *contiguous, *grads))
        return None, *grads


def _arrays(*tensors: Tensor) -> tuple[npt.NDArray[Any], ...]:
    return tuple((tensor.detach() if tensor.requires_grad else tensor).numpy() for tensor in tensors)


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
    first: Integers,
    row: Integers,
    event: Integers,
    message: Floats,
    x: Floats,
    time: Floats,
    node_probe: Floats,
    edge_probe: Floats,
    psi_node: Floats,
    psi_edge: Floats,
    keep: Floats,
    constant: Floats,
    node_logit: Floats,
    edge_logit: Floats,
    alpha: Floats,
    node: Floats,
    mass: Floats,
    edge: Floats,
) -> None:
    of_time = time.shape[1]
    for n in range(node.shape[1]):
        mine = range(first[n], first[n + 1])
        for h in range(node.shape[0]):
            asks, asks_time = node_probe[h, n], edge_probe[h, n, :of_time]
            asks_message = edge_probe[h, n, of_time:]
            highest = x.dtype.type(-np.inf)
            for j in mine:
                u = _dot(asks, x[row[j]]) + constant[h, n]
                v = _dot(asks_time, time[j]) + _dot(asks_message, message[event[j]])
                logit = psi_node[j, h] * u + psi_edge[j, h] * v
                node_logit[j, h], edge_logit[j, h], alpha[j, h] = u, v, logit
                highest = max(highest, logit)
            total = x.dtype.type(0)
            for j in mine:
                alpha[j, h] = math.exp(alpha[j, h] - highest)
                total += alpha[j, h]
            to_node, to_time, to_message = node[h, n], edge[h, n, :of_time], edge[h, n, of_time:]
            node[h, n] = edge[h, n] = mass[h, n] = 0
            for j in mine:
                alpha[j, h] /= total
                weight = alpha[j, h] * keep[j, h]
                as_node, as_edge = weight * psi_node[j, h], weight * psi_edge[j, h]
                mass[h, n] += as_node
                _add(to_node, as_node, x[row[j]])
                _add(to_time, as_edge, time[j])
                _add(to_message, as_edge, message[event[j]])


@compiled_sums
def _mix_gradient(
    first: Integers,
    row: Integers,
    event: Integers,
    message: Floats,
    x: Floats,
    time: Floats,
    node_probe: Floats,
    edge_probe: Floats,
    psi_node: Floats,
    psi_edge: Floats,
    keep: Floats,
    node_logit: Floats,
    edge_logit: Floats,
    alpha: Floats,
    grad_node: Floats,
    grad_mass: Floats,
    grad_edge: Floats,
    grad_node_probe: Floats,
    grad_edge_probe: Floats,
    grad_constant: Floats,
    grad_x: Floats,
    grad_time: Floats,
    grad_psi_node: Floats,
    grad_psi_edge: Floats,
) -> None:
    of_time = time.shape[1]
    for n in range(grad_mass.shape[1]):
        mine = range(first[n], first[n + 1])
        grad_time[first[n] : first[n + 1]] = 0
        for h in range(grad_mass.shape[0]):
            of_node, of_edge = grad_node[h, n], grad_edge[h, n, :of_time]
            of_message = grad_edge[h, n, of_time:]
            mean = x.dtype.type(0)  # Σ α dα, which softmax's gradient subtracts
            for j in mine:
                u = _dot(of_node, x[row[j]]) + grad_mass[h, n]
                v = _dot(of_edge, time[j]) + _dot(of_message, message[event[j]])
                grad_psi_node[j, h], grad_psi_edge[j, h] = u, v  # as weights; as parts of the logit below
                mean += alpha[j, h] * keep[j, h] * (u * psi_node[j, h] + v * psi_edge[j, h])
            asks, asks_time = node_probe[h, n], edge_probe[h, n, :of_time]
            to_asks, to_asks_time = grad_node_probe[h, n], grad_edge_probe[h, n, :of_time]
            to_asks_message = grad_edge_probe[h, n, of_time:]
            grad_node_probe[h, n] = grad_edge_probe[h, n] = grad_constant[h, n] = 0
            for j in mine:
                u, v, weight = grad_psi_node[j, h], grad_psi_edge[j, h], alpha[j, h] * keep[j, h]
                grad_logit = weight * (u * psi_node[j, h] + v * psi_edge[j, h]) - alpha[j, h] * mean
                grad_psi_node[j, h] = grad_logit * node_logit[j, h] + weight * u
                grad_psi_edge[j, h] = grad_logit * edge_logit[j, h] + weight * v
                as_key, as_value = grad_logit * psi_node[j, h], weight * psi_node[j, h]
                grad_constant[h, n] += as_key
                _add(to_asks, as_key, x[row[j]])
                _add_both(grad_x[row[j]], as_key, asks, as_value, of_node)
                as_key, as_value = grad_logit * psi_edge[j, h], weight * psi_edge[j, h]
                _add(to_asks_time, as_key, time[j])
                _add(to_asks_message, as_key, message[event[j]])
                _add_both(grad_time[j], as_key, asks_time, as_value, of_edge)
