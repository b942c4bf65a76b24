"""Attention with dropout, forward and backward, without a copy of queries, keys and values.

They are columns of one wide matrix, head by head; batched products read and write columns where they are. Of
the weights only the softmax is kept, and its dropout is drawn again where it is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from keat.ops.compiling import is_compilable
from keat.ops.dropping import draw_seed, drop_

aten = torch.ops.aten


def attend_dropping(pieces: list[Tensor], mask: Tensor | None, heads: int, share: float) -> Tensor:
    """(g, n, d) of [Q ‖ K ‖ V], pieces of (g, n, ·), with ``share`` of the weights dropped.

    ``mask`` (g, 1, 1, n) tells tokens from padding.
    """
    if not is_compilable(pieces[0]):
        return attend_plainly(pieces, mask, heads, lambda weights: functional.dropout(weights, share))
    return attend_dropping_by(pieces, mask, heads, share, draw_seed())


def attend_dropping_by(
    pieces: list[Tensor], mask: Tensor | None, heads: int, share: float, seed: int
) -> Tensor:
    """The same with the weights dropped that a seed says."""
    mixed: Tensor = _AttendDropping.apply(mask, heads, share, seed, *pieces)  # type: ignore[no-untyped-call]
    return mixed


def attend_plainly(
    pieces: list[Tensor], mask: Tensor | None, heads: int, drop: Callable[[Tensor], Tensor]
) -> Tensor:
    """``drop`` takes the weights of all heads, (heads, g, n, n)."""
    q, k, v = (torch.stack(part) for part in zip(*by_head(tuple(pieces), heads), strict=True))
    logits = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])  # (heads, g, n, n)
    if mask is not None:
        logits = logits.masked_fill(~mask[:, 0], -math.inf)
    mixed = drop(logits.softmax(dim=3)) @ v  # (heads, g, n, d / heads)
    return mixed.permute(1, 2, 0, 3).flatten(2)


def by_head(pieces: tuple[Tensor, ...], heads: int) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Views (g, n, d / heads) of Q, K and V of each head."""
    dim = sum(piece.shape[2] for piece in pieces) // 3
    q, k, v = (part for piece in pieces for part in torch.split(piece, dim, dim=2))
    size = dim // heads
    return list(zip(*(torch.split(part, size, dim=2) for part in (q, k, v)), strict=True))


class _AttendDropping(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, mask: Tensor | None, heads: int, share: float, seed: int, *pieces: Tensor
    ) -> Tensor:
        views = by_head(pieces, heads)
        pairs, n, size = views[0][0].shape
        weights = pieces[0].new_empty(heads, pairs, n, n)
        out = pieces[0].new_empty(pairs, n, heads * size)
        dropped = torch.empty_like(weights[0])
        outside = None if mask is None else ~mask[:, 0]
        for head, (q, k, v) in enumerate(views):
            logits = weights[head]
            torch.baddbmm(logits, q, k.transpose(1, 2), beta=0, alpha=1 / math.sqrt(size), out=logits)
            if outside is not None:
                logits.masked_fill_(outside, -math.inf)
            torch.softmax(logits, dim=2, out=logits)
            drop_(dropped.copy_(logits), share, seed, head * logits.numel())
            torch.bmm(dropped, v, out=out[..., head * size : (head + 1) * size])
        ctx.save_for_backward(weights, *pieces)
        ctx.heads, ctx.share, ctx.seed = heads, share, seed
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weights, *pieces = ctx.saved_tensors
        grads = tuple(torch.empty_like(piece) for piece in pieces)
        views, into = by_head(tuple(pieces), ctx.heads), by_head(grads, ctx.heads)
        dropped, slope = (torch.empty_like(weights[0]) for _ in range(2))
        for head, (part, (q, k, v)) in enumerate(
            zip(torch.split(grad, views[0][0].shape[2], dim=2), views, strict=True)
        ):
            grad_q, grad_k, grad_v = into[head]
            first = head * dropped.numel()
            drop_(dropped.copy_(weights[head]), ctx.share, ctx.seed, first)
            torch.bmm(dropped.transpose(1, 2), part, out=grad_v)
            drop_(torch.bmm(part, v.transpose(1, 2), out=slope), ctx.share, ctx.seed, first)
            aten._softmax_backward_data(slope, weights[head], 2, slope.dtype, grad_input=slope)
            slope.div_(math.sqrt(q.shape[2]))
            torch.bmm(slope, k, out=grad_q)
            torch.bmm(slope.transpose(1, 2), q, out=grad_k)
        return None, None, None, None, *grads
