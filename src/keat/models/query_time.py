"""All candidates at all query times of a batch, exactly, without encoding every pair.

With Δ measured from the query, an embedding depends on (node, time), so B queries against C candidates
with K past events each would need B·C·K time encodings of T numbers. But the query time enters only as a
common delay δ, and cosines split by angle addition,

    cos(w(Δ + δ) + b) = cos(wΔ + b) cos(wδ) - sin(wΔ + b) sin(wδ),

so what depends on the candidate and what depends on the query meet in matrix products:

    time logit  = [g·cos(wΔ + b) ‖ -g·sin(wΔ + b)] · [cos wδ ‖ sin wδ]         (C·K × 2T) × (2T × B)
    time value  = cos wδ ⊙ Σ_k β_k cos(wΔ_k + b) - sin wδ ⊙ Σ_k β_k sin(wΔ_k + b)    (B × K) × (K × 2T)

and the decoder's lin_dst is multiplied into the value matrices once instead of applied to B·C embeddings.
ψ is one number for each (query, candidate, event), so it is computed as it is, for any kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from keat.attention import KernelizedAttention
from keat.kernels import Identity, Kernel
from keat.models.predictor import LinkPredictor
from keat.time_encoding import Cosine

NUMBERS_AT_ONCE = 1 << 20  # of the (H, c, B, T) sums: bounds memory, and keeps a piece in cache


@dataclass(frozen=True, slots=True, eq=False)
class Neighborhood:
    """The last K events of n nodes, before anything is encoded."""

    seeds: Tensor  # (n, d) memory of the nodes
    x: Tensor  # (M, d) memory of all nodes their events lead to
    index: Tensor  # (n, K) row of x
    mask: Tensor  # (n, K)
    event: Tensor  # (n, K) row of the messages
    happened: Tensor  # (n, K) time of the event


def score_at_all_times(
    attention: KernelizedAttention,
    predictor: LinkPredictor,
    kernel: Kernel,
    encoder: Cosine,
    sources: Tensor,  # (B, d) projected by lin_src
    t: Tensor,  # (B,)
    hood: Neighborhood,  # of the C candidates
    messages: Tensor,  # (E, R)
) -> Tensor:
    """Logits (B, C), the same as embedding every (candidate, time) by itself."""
    start = t.min()
    turn = torch.cat(encoder.rotation(t - start), dim=1)  # (B, 2T)
    weights = _FoldedWeights(attention, predictor, encoder.dim)
    out = sources.new_empty(len(hood.seeds), len(t))
    at_once = max(1, NUMBERS_AT_ONCE // (attention.heads * len(t) * encoder.dim))
    for first in range(0, len(hood.seeds), at_once):
        part = slice(first, first + at_once)
        piece = Neighborhood(
            hood.seeds[part], hood.x, hood.index[part], hood.mask[part], hood.event[part], hood.happened[part]
        )
        hidden = _hidden(attention, kernel, encoder, weights, turn, t, piece, messages)  # (c, B, d)
        out[part] = hidden.add_(sources).relu_() @ predictor.lin_final.weight[0]
    return out.T + predictor.lin_final.bias


class _FoldedWeights:
    """lin_dst multiplied into every matrix that makes a value."""

    def __init__(self, attention: KernelizedAttention, predictor: LinkPredictor, time_dim: int) -> None:
        heads = attention.heads
        dst = predictor.lin_dst.weight  # (d, d), its columns are the heads' outputs in turn
        by_head = dst.view(len(dst), heads, -1).permute(1, 0, 2)  # (H, d, C)
        edge_value = attention.lin_edge_value or attention.lin_edge
        edge = torch.bmm(by_head, edge_value.weight.view(heads, -1, edge_value.in_features))  # (H, d, T + R)
        self.time, self.message = edge[..., :time_dim], edge[..., time_dim:]
        self.node = torch.bmm(
            by_head, attention.lin_value.weight.view(heads, -1, attention.lin_value.in_features)
        )
        self.node_bias = torch.bmm(by_head, attention.lin_value.bias.view(heads, -1, 1)).squeeze(-1)  # (H, d)
        self.skip = dst @ attention.lin_skip.weight
        self.skip_bias = dst @ attention.lin_skip.bias + predictor.lin_dst.bias


def _hidden(
    attention: KernelizedAttention,
    kernel: Kernel,
    encoder: Cosine,
    weights: _FoldedWeights,
    turn: Tensor,
    t: Tensor,
    hood: Neighborhood,
    messages: Tensor,
) -> Tensor:
    """lin_dst of the candidates' embeddings at every time, (c, B, d)."""
    heads, (c, slots), queries = attention.heads, hood.mask.shape, len(t)
    absent = ~hood.mask
    x = hood.x[hood.index].masked_fill(absent[..., None], 0)  # (c, K, d)
    message = messages[hood.event].masked_fill(absent[..., None], 0)  # (c, K, R)
    age = torch.where(hood.mask, t.min() - hood.happened, 0)
    cosine, sine = encoder.quadrature(age)  # (c, K, T)

    probe = attention.probe(hood.seeds)
    time_probe, message_probe = probe.edge[..., : encoder.dim], probe.edge[..., encoder.dim :]
    node_logit = torch.einsum("chd,ckd->hck", probe.node, x) + probe.constant.T[..., None]
    message_logit = torch.einsum("chr,ckr->hck", message_probe, message)
    asked = time_probe.transpose(0, 1)[:, :, None]  # (H, c, 1, T)
    time_logit = torch.cat((asked * cosine, -asked * sine), dim=-1) @ turn.T  # (H, c, K, B)
    edge_logit = time_logit + message_logit[..., None]

    psi = None
    if not isinstance(kernel, Identity):
        later = torch.where(hood.mask[..., None], t - hood.happened[..., None], 0)  # (c, K, B)
        psi = kernel(later).permute(3, 0, 1, 2)  # (H or 1, c, K, B)
    node_psi = psi if attention.modulate in ("node", "both") else None
    edge_psi = psi if attention.modulate in ("edge", "both") else None
    logit = _times(edge_psi, edge_logit) + _times(node_psi, node_logit[..., None])
    logit.masked_fill_(absent[..., None], torch.finfo(logit.dtype).min)
    alpha = logit.softmax(dim=2).mul_(hood.mask[..., None])
    edge_weight, node_weight = _times(edge_psi, alpha), _times(node_psi, alpha)

    # Values that do not depend on the time: one row for each (head, event), weighted and summed at once.
    node_value = torch.einsum("hid,ckd->chki", weights.node, x) + weights.node_bias[:, None]
    message_value = torch.einsum("hir,ckr->chki", weights.message, message)
    rows = heads * slots
    hidden = torch.bmm(_by_query(node_weight, c, rows, queries), node_value.reshape(c, rows, -1))
    hidden.baddbmm_(_by_query(edge_weight, c, rows, queries), message_value.reshape(c, rows, -1))
    hidden += (hood.seeds @ weights.skip.T + weights.skip_bias)[:, None]

    for head in range(heads):
        weight = edge_weight[head].transpose(1, 2)  # (c, B, K)
        turned = torch.bmm(weight, cosine).mul_(turn[:, : encoder.dim])
        turned -= torch.bmm(weight, sine).mul_(turn[:, encoder.dim :])  # (c, B, T)
        flat = hidden.view(c * queries, -1)
        flat.addmm_(turned.view(c * queries, -1), weights.time[head].T)
    return hidden


def _times(psi: Tensor | None, values: Tensor) -> Tensor:
    return values if psi is None else psi * values


def _by_query(weight: Tensor, c: int, rows: int, queries: int) -> Tensor:
    """(H, c, K, B) → (c, B, H·K)."""
    return weight.permute(1, 3, 0, 2).reshape(c, queries, rows)
