"""Dropout whose mask is a function of a seed and the place of a number, and so is never stored.

Drawing a mask with torch's generator takes longer on a CPU than the matrix products it is put between.
Here every place is hashed by a few integer instructions that run in vectors, in the forward pass and again
in the backward pass. The seed comes from torch's generator, one draw for a whole tensor. On other devices
torch's own dropout is used, with its random numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from keat.ops.compiling import Floats, compiled, is_compilable


def dropout(x: Tensor, share: float, training: bool) -> Tensor:
    """Zeroes a share of all numbers at random and scales the others by 1 / (1 - share), in training only."""
    if not training or share == 0:
        return x
    if not is_compilable(x):
        return functional.dropout(x, share)
    dropped: Tensor = _Dropout.apply(x, share, draw_seed())  # type: ignore[no-untyped-call]
    return dropped


def add_dropped(x: Tensor, y: Tensor, share: float, training: bool) -> Tensor:
    """x + dropout(y), both (n, d)."""
    if not training or share == 0 or not (is_compilable(x) and x.dtype == y.dtype):
        return x + dropout(y, share, training)
    added: Tensor = _AddDropped.apply(x, y, share, draw_seed())  # type: ignore[no-untyped-call]
    return added


def draw_seed() -> int:
    return int(torch.randint(1 << 62, ()))


def drop_(x: Tensor, share: float, seed: int, first: int = 0) -> Tensor:
    """Drop numbers of contiguous ``x`` in place, as if it stood at ``first`` of a longer tensor."""
    flat = x.detach().view(-1).numpy()
    _drop(flat, first, *_words(share, seed), flat.dtype.type(1 / (1 - share)))
    return x


def drop_plainly(x: Tensor, share: float, seed: int, first: int = 0) -> Tensor:
    """The same for a copy, number by number in 32 bits: murmur's finalizer of the seed and the place."""
    low, high, limit = (np.uint64(word) for word in _words(share, seed))
    bits = np.uint64(0xFFFFFFFF)
    h = (np.arange(first, first + x.numel(), dtype=np.uint64) * np.uint64(0x9E3779B1) + low) & bits
    h = ((h ^ (h >> np.uint64(16))) * np.uint64(0x85EBCA6B)) & bits
    h = ((h ^ high ^ (h >> np.uint64(13))) * np.uint64(0xC2B2AE35)) & bits
    kept = torch.from_numpy((h ^ (h >> np.uint64(16))) >= limit).view(x.shape)
    return x * kept.to(x.dtype) * (1 / (1 - share))


def _words(share: float, seed: int) -> tuple[np.uint32, np.uint32, np.uint32]:
    return np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32), np.uint32(share * (1 << 32))


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, share: float, seed: int) -> Tensor:
        ctx.share, ctx.seed = share, seed
        return drop_(x.detach().clone(memory_format=torch.contiguous_format), share, seed)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad = grad.clone(memory_format=torch.contiguous_format)
        return drop_(grad, ctx.share, ctx.seed), None, None


class _AddDropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, share: float, seed: int) -> Tensor:
        ctx.share, ctx.seed = share, seed
        x, y = x.detach().contiguous(), y.detach().contiguous()
        out = torch.empty_like(x)
        one, other, both = (part.view(-1).numpy() for part in (x, y, out))
        _add_dropped(one, other, both, *_words(share, seed), one.dtype.type(1 / (1 - share)))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        dropped = drop_(grad.clone(memory_format=torch.contiguous_format), ctx.share, ctx.seed)
        return grad, dropped, None, None


@compiled
def _kept(place: int, low: np.uint32, high: np.uint32, limit: np.uint32) -> np.bool:
    """Murmur's finalizer of the seed and the place, in 32 bits; kept where it is at least ``limit``."""
    h = np.uint32(np.uint32(place) * np.uint32(0x9E3779B1) + low)
    h = np.uint32((h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    h = np.uint32((h ^ high ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    return np.uint32(h ^ (h >> np.uint32(16))) >= limit


@compiled
def _drop(
    x: Floats, first: int, low: np.uint32, high: np.uint32, limit: np.uint32, scale: np.floating[Any]
) -> None:
    nothing = scale - scale
    for i in range(len(x)):
        x[i] *= scale if _kept(first + i, low, high, limit) else nothing


@compiled
def _add_dropped(
    x: Floats,
    y: Floats,
    out: Floats,
    low: np.uint32,
    high: np.uint32,
    limit: np.uint32,
    scale: np.floating[Any],
) -> None:
    nothing = scale - scale
    for i in range(len(x)):
        out[i] = x[i] + y[i] * (scale if _kept(i, low, high, limit) else nothing)
