"""From two embeddings to a logit: lin_final(ReLU(lin_src z_u + lin_dst z_v))."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from keat.compiled import Floats, Integers, compiled, compiled_sums, is_compilable

NUMBERS_AT_ONCE = 1 << 22  # hidden numbers worked on at a time where they must be written down


class LinkPredictor(nn.Module):
    """TGN's decoder. Each node is projected once; a pair costs one addition, ReLU and dot product."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.lin_src = nn.Linear(dim, dim)
        self.lin_dst = nn.Linear(dim, dim)
        self.lin_final = nn.Linear(dim, 1)

    def own(self, src: Tensor, dst: Tensor) -> Tensor:
        """Logits (B, C) of projected sources (B, d) with projected candidates of their own (B, C, d)."""
        hidden: Tensor = self.lin_final(torch.relu(src[:, None] + dst))
        return hidden.squeeze(-1)

    def pairs(self, z: Tensor, src: Tensor, dst: Tensor) -> Tensor:
        """Logits (B, C) of rows of ``z`` (n, d), each projected once: ``src`` (B,) with ``dst`` (B, C)."""
        if not is_compilable(z):
            return self.own(self.lin_src(z).index_select(0, src), functional.embedding(dst, self.lin_dst(z)))
        weight, bias = (
            torch.cat((getattr(self.lin_src, name), getattr(self.lin_dst, name)))
            for name in ("weight", "bias")
        )
        final = self.lin_final
        logits: Tensor = _PairLogits.apply(  # type: ignore[no-untyped-call]
            functional.linear(z, weight, bias).to(z.dtype), final.weight[0], final.bias, src, dst.contiguous()
        )
        return logits

    def shared(self, src: Tensor, dst: Tensor) -> Tensor:
        """Logits (B, C) of projected sources (B, d) with candidates (d, C) that all share.

        The (B, C, d) hidden layer is never whole in memory. Inference only.
        """
        return relu_dot(src, dst[None], self.lin_final.weight[0]).add_(self.lin_final.bias)


def relu_dot(own: Tensor, others: Tensor, weight: Tensor) -> Tensor:
    """out_ij = Σ_k weight_k max(own_ik + others_ikj, 0): (n, d) and (n or 1, d, m) → (n, m).

    Inference only.
    """
    if is_compilable(own):
        out = own.new_empty(len(own), others.shape[2])
        arrays = own.numpy(), others.numpy(), weight.detach().numpy(), out.numpy()
        _relu_dot(*arrays)
        return out
    others = others.expand(len(own), -1, -1)
    rows = max(1, NUMBERS_AT_ONCE // max(others[0].numel(), 1)) if len(own) else 1
    pieces = zip(torch.split(own[..., None], rows), torch.split(others, rows), strict=True)
    return torch.cat([weight @ torch.relu(mine + theirs) for mine, theirs in pieces])


class _PairLogits(torch.autograd.Function):
    """Of projections [as source ‖ as destination] (n, 2d): pairs are read where they are, and gradients
    added where they belong."""

    @staticmethod
    def forward(
        ctx: Any, projected: Tensor, weight: Tensor, bias: Tensor, src: Tensor, dst: Tensor
    ) -> Tensor:
        out = projected.new_empty(dst.shape)
        _pair_logits(*(tensor.detach().numpy() for tensor in (projected, weight, bias, src, dst, out)))
        ctx.save_for_backward(projected, weight, src, dst)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        projected, weight, src, dst = ctx.saved_tensors
        to_projected, to_weight = torch.zeros_like(projected), torch.zeros_like(weight)
        tensors = (projected, weight, src, dst, grad.contiguous(), to_projected, to_weight)
        _pair_gradients(*(tensor.detach().numpy() for tensor in tensors))
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
