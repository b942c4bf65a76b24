"""The decoder's logits of many pairs: Σ_k weight_k max(source_k + destination_k, 0).

A pair has as many hidden numbers as an embedding. They are added up as they are made and never written down.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from keat.ops.compiling import Floats, Integers, arrays, compiled, compiled_sums, is_compilable
from keat.ops.team import over_rows

NUMBERS_AT_ONCE = 1 << 22  # hidden numbers worked on at a time where they must be written down


def score_pairs(projected: Tensor, weight: Tensor, bias: Tensor, src: Tensor, dst: Tensor) -> Tensor:
    """Logits (B, C) of rows of ``projected`` (n, 2d), [as source ‖ as destination]: those of ``src`` (B,)
    with those of ``dst`` (B, C)."""
    if not is_compilable(projected):
        return score_pairs_plainly(projected, weight, bias, src, dst)
    logits: Tensor = _ScorePairs.apply(  # type: ignore[no-untyped-call]
        projected, weight, bias, src, dst.contiguous()
    )
    return logits


def score_pairs_plainly(projected: Tensor, weight: Tensor, bias: Tensor, src: Tensor, dst: Tensor) -> Tensor:
    as_source, as_destination = projected.chunk(2, dim=1)  # (n, d) each
    source = as_source.index_select(0, src).unsqueeze(1)  # (B, 1, d)
    hidden = torch.relu(source + functional.embedding(dst, as_destination))  # (B, C, d)
    return functional.linear(hidden, weight.unsqueeze(0), bias).squeeze(-1)


def relu_dot(own: Tensor, others: Tensor, weight: Tensor) -> Tensor:
    """out_ij = Σ_k weight_k max(own_ik + others_ikj, 0): (n, d) and (n or 1, d, m) → (n, m).

    Inference only, as the next.
    """
    if not is_compilable(own):
        return relu_dot_plainly(own, others, weight)
    out = own.new_empty(len(own), others.shape[2])
    _relu_dot(*arrays(own, others, weight, out))
    return out


def relu_dot_plainly(own: Tensor, others: Tensor, weight: Tensor) -> Tensor:
    others = others.expand(len(own), -1, -1)
    rows = max(1, NUMBERS_AT_ONCE // max(others[0].numel(), 1)) if len(own) else 1
    pieces = zip(torch.split(own[..., None], rows), torch.split(others, rows), strict=True)
    return torch.cat([weight @ torch.relu(mine + theirs) for mine, theirs in pieces])


def relu_dot_both(own: Tensor, common: Tensor, others: Tensor, weight: Tensor) -> Tensor:
    """out_ij = Σ_k weight_k max(own_ik + common_kj + others_ikj, 0): (n, d), (d, m), (n, d, m) → (n, m)."""
    if not is_compilable(others):
        return relu_dot_plainly(own, others + common, weight)
    out = torch.empty_like(others[:, 0])
    over_rows(_relu_dot_both, len(own), others.numel(), *arrays(own, common, others, weight, out))
    return out


def relu_dot_sloped(own: Tensor, base: Tensor, slope: Tensor, gap: Tensor, weight: Tensor) -> Tensor:
    """out_ij = Σ_k weight_k max(own_ik + base_kj + gap_ij slope_kj, 0): (n, d), (d, m) twice, (n, m) →
    (n, m). Inference only."""
    if not is_compilable(own):
        return relu_dot_sloped_plainly(own, base, slope, gap, weight)
    out = torch.empty_like(gap)
    over_rows(
        _relu_dot_sloped, len(own), base.numel() * len(own), *arrays(own, base, slope, gap, weight, out)
    )
    return out


def relu_dot_sloped_plainly(own: Tensor, base: Tensor, slope: Tensor, gap: Tensor, weight: Tensor) -> Tensor:
    rows = max(1, NUMBERS_AT_ONCE // max(base.numel(), 1))
    pieces = zip(torch.split(own[..., None], rows), torch.split(gap[:, None], rows), strict=True)
    return torch.cat([weight @ torch.relu(mine + base + late * slope) for mine, late in pieces])


class _ScorePairs(torch.autograd.Function):
    """Pairs are read where they are, and gradients added where they belong."""

    @staticmethod
    def forward(
        ctx: Any, projected: Tensor, weight: Tensor, bias: Tensor, src: Tensor, dst: Tensor
    ) -> Tensor:
        out = projected.new_empty(dst.shape)
        _pair_logits(*arrays(projected, weight, bias, src, dst, out))
        ctx.save_for_backward(projected, weight, src, dst)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        projected, weight, src, dst = ctx.saved_tensors
        to_projected, to_weight = torch.zeros_like(projected), torch.zeros_like(weight)
        known = arrays(projected, weight, src, dst, grad.contiguous())
        _pair_gradients(*known, *arrays(to_projected, to_weight))
        return to_projected, to_weight, grad.sum().view(1), None, None


@compiled_sums
def _pair_logits(
    projected: Floats, weight: Floats, bias: Floats, src: Integers, dst: Integers, out: Floats
) -> None:
    dim, nothing = len(weight), weight.dtype.type(0)
    for i in range(len(src)):
        mine = projected[src[i], :dim]
        for j in range(dst.shape[1]):
            theirs, total = projected[dst[i, j], dim:], nothing
            for k in range(dim):
                total += weight[k] * max(mine[k] + theirs[k], nothing)
            out[i, j] = total + bias[0]


@compiled
def _pair_gradients(
    projected: Floats,
    weight: Floats,
    src: Integers,
    dst: Integers,
    grad: Floats,
    to_projected: Floats,
    to_weight: Floats,
) -> None:
    dim, nothing = len(weight), weight.dtype.type(0)
    for i in range(len(src)):
        mine, to_mine = projected[src[i], :dim], to_projected[src[i], :dim]
        for j in range(dst.shape[1]):
            theirs, to_theirs, slope = projected[dst[i, j], dim:], to_projected[dst[i, j], dim:], grad[i, j]
            for k in range(dim):
                hidden = max(mine[k] + theirs[k], nothing)
                passed = slope * weight[k] if hidden > nothing else nothing
                to_weight[k] += slope * hidden
                to_mine[k] += passed
                to_theirs[k] += passed


@compiled
def _relu_dot(own: Floats, others: Floats, weight: Floats, out: Floats) -> None:
    """One pass, nothing written but the result. The innermost loop runs over candidates, so it is made of
    vector instructions without reordering any sum."""
    nothing = weight.dtype.type(0)
    for i in range(len(own)):
        row, table = out[i], others[i % len(others)]
        row[:] = 0
        for k in range(len(weight)):
            mine, theirs, factor = own[i, k], table[k], weight[k]
            for j in range(len(row)):
                row[j] += factor * max(mine + theirs[j], nothing)


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


@compiled
def _relu_dot_sloped(
    begin: int, end: int, own: Floats, base: Floats, slope: Floats, gap: Floats, weight: Floats, out: Floats
) -> None:
    nothing = weight.dtype.type(0)
    for i in range(begin, end):
        row, late = out[i], gap[i]
        row[:] = 0
        for k in range(len(weight)):
            mine, theirs, rising, factor = own[i, k], base[k], slope[k], weight[k]
            for j in range(len(row)):
                row[j] += factor * max(mine + theirs[j] + late[j] * rising[j], nothing)
