"""The feed-forward half of a Transformer layer: y = W₂ drop(GELU(W₁ x + b₁)) + b₂.

Two thirds of all arithmetic happen here, between tensors four times as wide as a token. In training on a CPU
it is done for some rows at a time, so that the wide ones are still in the cache when they are read again.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from keat.ops.compiling import is_compilable
from keat.ops.dropping import draw_seed, drop_, dropout

ROWS = 512  # worked on at a time

aten = torch.ops.aten


def feed_forward(x: Tensor, first: nn.Linear, second: nn.Linear, share: float) -> Tensor:
    """(n, d) → (n, d), with ``share`` of the hidden numbers dropped."""
    if not torch.is_grad_enabled() or not is_compilable(x) or torch.is_autocast_enabled("cpu"):
        return feed_forward_plainly(x, first, second, share)
    blocked: Tensor = _FeedForward.apply(  # type: ignore[no-untyped-call]
        x, first.weight, first.bias, second.weight, second.bias, share, draw_seed() if share else 0
    )
    return blocked


def feed_forward_plainly(x: Tensor, first: nn.Linear, second: nn.Linear, share: float) -> Tensor:
    y: Tensor = second(hidden_units(x, first, share))
    return y


def hidden_units(x: Tensor, first: nn.Linear, share: float) -> Tensor:
    """drop(GELU(W₁ x + b₁)), (n, d) → (n, 4d). What is averaged over rows after W₂ can as well be averaged
    before."""
    before = first(x)
    if share == 0 and not torch.is_grad_enabled():
        return cast(Tensor, aten.gelu_(before))
    return dropout(functional.gelu(before), share, training=True)


class _FeedForward(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor, share: float, seed: int
    ) -> Tensor:
        before, hidden = x.new_empty(2, len(x), len(b1))  # of GELU, and after it and dropout
        y = x.new_empty(len(x), len(b2))
        for first in range(0, len(x), ROWS):
            rows = slice(first, first + ROWS)
            torch.addmm(b1, x[rows], w1.T, out=before[rows])
            aten.gelu(before[rows], out=hidden[rows])
            if share:
                drop_(hidden[rows], share, seed, first * len(b1))
            torch.addmm(b2, hidden[rows], w2.T, out=y[rows])
        ctx.save_for_backward(x, before, hidden, w1, w2)
        ctx.share, ctx.seed = share, seed
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, before, hidden, w1, w2 = ctx.saved_tensors
        grad = grad.contiguous()
        grad_x = torch.empty_like(x)
        grad_w1, grad_w2, grad_b1 = torch.zeros_like(w1), torch.zeros_like(w2), x.new_zeros(len(w1))
        wide = x.new_empty(min(ROWS, len(x)), len(w1))
        for first in range(0, len(x), ROWS):
            rows = slice(first, first + ROWS)
            slope = torch.mm(grad[rows], w2, out=wide[: len(x[rows])])
            if ctx.share:
                drop_(slope, ctx.share, ctx.seed, first * len(w1))
            aten.gelu_backward(slope, before[rows], grad_input=slope)
            grad_w2.addmm_(grad[rows].T, hidden[rows])
            grad_w1.addmm_(slope.T, x[rows])
            grad_b1 += slope.sum(0)
            torch.mm(slope, w1, out=grad_x[rows])
        return grad_x, grad_w1, grad_b1, grad_w2, grad.sum(0), None, None
