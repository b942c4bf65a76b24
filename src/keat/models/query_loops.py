"""The compiled loops of `keat.models.query_time`: what lies between its matrix products, in few passes.

Shapes: c candidates with K events each, H heads, T frequencies, B queries. The query is always the last axis,
so the innermost loops are made of vector instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.compiled import Floats, compiled, compiled_sums
from keat.team import over_rows

Flags = npt.NDArray[np.bool_]


def attend(
    logit: Tensor,  # (c, K, H, B) of the time encodings; overwritten
    node_logit: Tensor,  # (c, K, H)
    message_logit: Tensor,  # (c, K, H)
    mask: Tensor,  # (c, K)
    psi: Tensor | None,  # (c, K, H or 1, B)
    on_node: bool,
    on_edge: bool,
    out: Tensor,  # (c, 2KH + …, B)
    edge_out: Tensor,  # (c, KH, B)
) -> None:
    """α = softmax_k(ψ_node node logit + ψ_edge edge logit). The first rows of ``out`` become α ψ_node, the
    next α ψ_edge, which ``edge_out`` becomes too: `turn` is quick where all of an array is its own."""
    factor = logit[:, :, :1, :0] if psi is None else psi.contiguous()
    tensors = (logit, node_logit.contiguous(), message_logit.contiguous(), mask, factor, out, edge_out)
    raised, of_node, of_message, marks, factors, into, edge_into = (tensor.numpy() for tensor in tensors)
    work = 4 * logit.numel()
    over_rows(_logits, len(logit), work, raised, of_node, of_message, marks, factors, on_node, on_edge)
    logit.exp_()  # torch has vector instructions for it
    over_rows(_weights, len(logit), work, raised, marks, factors, on_node, on_edge, into, edge_into)


@compiled
def _logits(
    begin: int,
    end: int,
    logit: Floats,
    node_logit: Floats,
    message_logit: Floats,
    mask: Flags,
    psi: Floats,
    on_node: bool,
    on_edge: bool,
) -> None:
    """Logits less the highest of the K."""
    _, slots, heads, queries = logit.shape
    highest = np.empty(queries, logit.dtype)
    for c in range(begin, end):
        for h in range(heads):
            highest[:] = -np.inf
            for k in range(slots):
                row, factor = logit[c, k, h], psi[c, k, min(h, psi.shape[2] - 1)]
                if not mask[c, k]:
                    continue
                u, v = node_logit[c, k, h], message_logit[c, k, h]
                if on_node and on_edge:
                    for b in range(queries):
                        row[b] = factor[b] * (row[b] + v + u)
                elif on_edge:
                    for b in range(queries):
                        row[b] = factor[b] * (row[b] + v) + u
                elif on_node:
                    for b in range(queries):
                        row[b] = row[b] + v + factor[b] * u
                else:
                    for b in range(queries):
                        row[b] = row[b] + v + u
                for b in range(queries):
                    highest[b] = max(highest[b], row[b])
            for k in range(slots):
                row = logit[c, k, h]
                if mask[c, k]:
                    for b in range(queries):
                        row[b] -= highest[b]
                else:
                    row[:] = 0


@compiled
def _weights(
    begin: int,
    end: int,
    raised: Floats,
    mask: Flags,
    psi: Floats,
    on_node: bool,
    on_edge: bool,
    out: Floats,
    edge_out: Floats,
) -> None:
    """exp of logits → weights, those of nodes in the first K·H rows, those of edges in the next."""
    _, slots, heads, queries = raised.shape
    share, one = np.empty(queries, raised.dtype), raised.dtype.type(1)
    for c in range(begin, end):
        for h in range(heads):
            share[:] = 0
            for k in range(slots):
                if mask[c, k]:
                    for b in range(queries):
                        share[b] += raised[c, k, h, b]
            for b in range(queries):
                share[b] = one / max(share[b], one)  # the highest is exactly 1; without events there is none
            for k in range(slots):
                row, factor = raised[c, k, h], psi[c, k, min(h, psi.shape[2] - 1)]
                as_node, as_edge = out[c, k * heads + h], out[c, (slots + k) * heads + h]
                also_edge = edge_out[c, k * heads + h]
                if not mask[c, k]:
                    as_node[:] = 0
                    as_edge[:] = 0
                    also_edge[:] = 0
                    continue
                for b in range(queries):
                    as_node[b] = as_edge[b] = row[b] * share[b]
                if on_node:
                    for b in range(queries):
                        as_node[b] *= factor[b]
                if on_edge:
                    for b in range(queries):
                        as_edge[b] *= factor[b]
                also_edge[:] = as_edge


def turn(weight: Tensor, cosine: Tensor, sine: Tensor, turn: Tensor, out: Tensor) -> None:
    """Σ_k β_k cos ⊙ cos wδ - Σ_k β_k sin ⊙ sin wδ of weights β (c, K·H, B), into the last T·H rows of ``out``
    (c, ·, B)."""
    arrays = (tensor.numpy() for tensor in (weight, cosine, sine, turn, out))
    over_rows(_turn_compiled(cosine.shape[1]), len(out), 2 * weight.numel() * cosine.shape[2], *arrays)


@cache
def _turn_compiled(slots: int) -> Callable[..., None]:
    """A loop for a fixed K, whose sums over K then stay in registers: nothing but the result is written."""

    @compiled_sums
    def loop(
        begin: int, end: int, weight: Floats, cosine: Floats, sine: Floats, turn: Floats, out: Floats
    ) -> None:
        half, queries = cosine.shape[2], out.shape[2]
        heads = weight.shape[1] // slots
        before = out.shape[1] - half * heads
        for c in range(begin, end):
            for i in range(half):
                for h in range(heads):
                    row, cos, sin = out[c, before + i * heads + h], turn[i], turn[half + i]
                    for b in range(queries):
                        along = across = out.dtype.type(0)
                        for k in range(slots):
                            along += weight[c, k * heads + h, b] * cosine[c, k, i]
                            across += weight[c, k * heads + h, b] * sine[c, k, i]
                        row[b] = along * cos[b] - across * sin[b]

    return loop


def relu_dot_both(own: Tensor, common: Tensor, others: Tensor, weight: Tensor) -> Tensor:
    """out_ij = Σ_k weight_k max(own_ik + common_kj + others_ikj, 0): (n, d), (d, m), (n, d, m) → (n, m)."""
    out = torch.empty_like(others[:, 0])
    arrays = (tensor.numpy() for tensor in (own, common, others, weight, out))
    over_rows(_relu_dot_both, len(own), others.numel(), *arrays)
    return out


@compiled
def _relu_dot_both(
    begin: int, end: int, own: Floats, common: Floats, others: Floats, weight: Floats, out: Floats
) -> None:
    nothing = weight.dtype.type(0)
    for i in range(begin, end):
        row = out[i]
        row[:] = 0
        for k in range(len(weight)):
            mine, shared, theirs, factor = own[i, k], common[k], others[i, k], weight[k]
            for j in range(len(row)):
                row[j] += factor * max(mine + shared[j] + theirs[j], nothing)
