"""Attention of all candidates at all query times of a batch: what lies between the matrix products of
`keat.attention.query_times`, in few passes.

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

from keat.ops.compiling import Floats, arrays, compiled, compiled_sums, is_compilable
from keat.ops.team import over_rows

Flags = npt.NDArray[np.bool_]


def attend_at_all_times(
    logit: Tensor,  # (c, K, H, B) of the time encodings; may be overwritten
    node_logit: Tensor,  # (c, K, H)
    message_logit: Tensor,  # (c, K, H)
    mask: Tensor,  # (c, K)
    psi_node: Tensor | None,  # (c, K, H or 1, B); None is 1
    psi_edge: Tensor | None,  # the same tensor, or None
    out: Tensor,  # (c, 2KH + …, B)
    edge_out: Tensor,  # (c, KH, B)
) -> None:
    """α = softmax_k(ψ_node node logit + ψ_edge (time logit + message logit)). The first rows of ``out``
    become α ψ_node, the next α ψ_edge, which ``edge_out`` becomes too: `turn_to_all_times` is quick where all
    of an array is its own. Weights of absent events are 0."""
    if not is_compilable(logit):
        attend_at_all_times_plainly(logit, node_logit, message_logit, mask, psi_node, psi_edge, out, edge_out)
        return
    psi = psi_node if psi_edge is None else psi_edge
    factor = logit[:, :, :1, :0] if psi is None else psi.contiguous()
    on = (psi_node is not None, psi_edge is not None)
    raised, of_node, of_message, marks, factors, into, edge_into = arrays(
        logit, node_logit.contiguous(), message_logit.contiguous(), mask, factor, out, edge_out
    )
    work = 4 * logit.numel()
    over_rows(_logits, len(logit), work, raised, of_node, of_message, marks, factors, *on)
    logit.exp_()  # torch has vector instructions for it
    over_rows(_weights, len(logit), work, raised, marks, factors, *on, into, edge_into)


def attend_at_all_times_plainly(
    logit: Tensor,
    node_logit: Tensor,
    message_logit: Tensor,
    mask: Tensor,
    psi_node: Tensor | None,
    psi_edge: Tensor | None,
    out: Tensor,
    edge_out: Tensor,
) -> None:
    absent = ~mask[..., None, None]  # (c, K, 1, 1)
    as_node = _times(psi_node, node_logit[..., None])
    as_edge = _times(psi_edge, logit + message_logit[..., None])  # (c, K, H, B)
    lowest = torch.finfo(logit.dtype).min
    alpha = (as_node + as_edge).masked_fill(absent, lowest).softmax(dim=1).masked_fill(absent, 0)
    rows = alpha.shape[1] * alpha.shape[2]
    out[:, :rows] = _times(psi_node, alpha).flatten(1, 2)
    out[:, rows : 2 * rows] = edge_out[:] = _times(psi_edge, alpha).flatten(1, 2)


def _times(psi: Tensor | None, values: Tensor) -> Tensor:
    return values if psi is None else psi * values


def turn_to_all_times(weight: Tensor, cosine: Tensor, sine: Tensor, turn: Tensor, out: Tensor) -> None:
    """Σ_k β_k cos(wΔ_k + b) ⊙ cos wδ - Σ_k β_k sin(wΔ_k + b) ⊙ sin wδ: the weighted sum of encodings of ages
    Δ_k + δ, at all delays δ of the queries.

    Of weights β (c, K·H, B), of cosines and sines (c, K, T), and of ``turn`` = [cos wδ ‖ sin wδ] (2T, B),
    into the last T·H rows of ``out`` (c, ·, B).
    """
    if not is_compilable(weight):
        turn_to_all_times_plainly(weight, cosine, sine, turn, out)
        return
    loop = _turn_compiled(cosine.shape[1])
    over_rows(loop, len(out), 2 * weight.numel() * cosine.shape[2], *arrays(weight, cosine, sine, turn, out))


def turn_to_all_times_plainly(
    weight: Tensor, cosine: Tensor, sine: Tensor, turn: Tensor, out: Tensor
) -> None:
    waves = torch.cat((cosine, sine), dim=2).transpose(1, 2)  # (c, 2T, K)
    rows, slots = cosine.shape[:2]
    by_slot = weight.view(rows, slots, weight.shape[1] // slots, weight.shape[2])  # (c, K, H, B)
    sums = torch.bmm(waves, by_slot.flatten(2)).view(*waves.shape[:2], *by_slot.shape[2:])  # (c, 2T, H, B)
    (along, across), (cos, sin) = sums.chunk(2, dim=1), turn[:, None].chunk(2)
    turned = (along * cos - across * sin).flatten(1, 2)  # (c, T·H, B)
    out[:, out.shape[1] - turned.shape[1] :] = turned


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
