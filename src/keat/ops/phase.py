"""The angle wΔ + b of a periodic encoding, and its cosine, accurate for any age Δ.

wΔ can be many turns: float32 rounds 10⁸ seconds to a multiple of 8, so for frequencies near 1 the angle is
noise. Here it is multiplied and wrapped in float64 and only then rounded; ``"legacy"`` multiplies in float32
as the reference implementations do.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.autograd.function import once_differentiable

from keat.ops.compiling import Floats, Integers, arrays, compiled_sums, is_compilable
from keat.ops.team import over_rows

Precision = Literal["exact", "legacy"]
TURN = 2 * math.pi
BLOCK = 100_000  # float64 numbers worked on at a time: they stay in the cache of one core


def angle(age: Tensor, frequency: Tensor, offset: Tensor, precision: Precision = "exact") -> Tensor:
    """The angle wΔ + b, (..., dim), in the dtype of ``offset``; less whole turns of wΔ where it is exact."""
    if precision == "legacy":
        return F.linear(age.unsqueeze(-1).to(offset.dtype), frequency.unsqueeze(1), offset)
    wrapped: Tensor = _Phase.apply(age, frequency, offset)  # type: ignore[no-untyped-call]
    return wrapped


def cosine(age: Tensor, frequency: Tensor, offset: Tensor) -> Tensor:
    """cos(wΔ + b), (..., dim)."""
    if not is_compilable(offset):
        return cosine_plainly(age, frequency, offset)
    encoded: Tensor = _Cosine.apply(age, frequency, offset)  # type: ignore[no-untyped-call]
    return encoded


def cosine_plainly(age: Tensor, frequency: Tensor, offset: Tensor) -> Tensor:
    return angle(age, frequency, offset).cos()


def cosine_and_sine(age: Tensor, frequency: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
    """cos(wΔ + b) and sin(wΔ + b), (..., dim) each; no gradient."""
    frequency, offset, shape = frequency.detach(), offset.detach(), (*age.shape, len(offset))
    if not is_compilable(offset):
        return cosine_and_sine_plainly(age, frequency, offset)
    turns = (part.to(torch.float64).numpy() / TURN for part in (frequency, offset))
    cosine, sine = offset.new_empty(shape), offset.new_empty(shape)
    waves = (wave.view(-1, len(offset)).numpy() for wave in (cosine, sine))
    over_rows(_waves, age.numel(), 20 * cosine.numel(), age.reshape(-1).numpy(), *turns, *waves)
    return cosine, sine


def cosine_and_sine_plainly(age: Tensor, frequency: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
    turned = angle(age, frequency, offset).detach()
    return turned.cos(), turned.sin()


class _Phase(torch.autograd.Function):
    """d/dw = Δ and d/db = 1 as ever: whole turns are constants."""

    @staticmethod
    def forward(ctx: Any, age: Tensor, frequency: Tensor, offset: Tensor) -> Tensor:
        column = age.reshape(-1, 1)
        ctx.save_for_backward(column)
        return _wrapped(column, frequency, offset).view(*age.shape, len(frequency))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor]:
        (column,) = ctx.saved_tensors
        flat = grad.reshape(-1, grad.shape[-1])
        return None, (column.to(grad.dtype).T @ flat).squeeze(0), flat.sum(0)


class _Cosine(torch.autograd.Function):
    """The sine, which the gradient needs, is all but free beside the cosine: training encodes every
    neighbour of every seed."""

    @staticmethod
    def forward(ctx: Any, age: Tensor, frequency: Tensor, offset: Tensor) -> Tensor:
        encoded, sine = cosine_and_sine(age, frequency, offset)
        ctx.save_for_backward(age, sine)
        return encoded

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor]:
        age, sine = ctx.saved_tensors
        by_frequency, by_offset = (grad.new_empty(grad.shape[-1]) for _ in range(2))
        known = arrays(age.reshape(-1), sine.flatten(0, -2), grad.flatten(0, -2))
        _cosine_gradient(*known, *arrays(by_frequency, by_offset))
        return None, by_frequency, by_offset


def _wrapped(age: Tensor, frequency: Tensor, offset: Tensor) -> Tensor:
    """wΔ + b less whole turns of wΔ, (N, dim), of ages in a column (N, 1)."""
    column = age.to(torch.float64)
    turns_per_unit = frequency.to(torch.float64) / TURN
    angle = offset.new_empty(len(column), len(frequency))
    rows = max(1, BLOCK // len(frequency))
    for block, ages in zip(torch.split(angle, rows), torch.split(column, rows), strict=True):
        torch.add(offset, block.copy_((ages * turns_per_unit).frac_()), alpha=TURN, out=block)
    return angle


@compiled_sums
def _sine(turns: Any) -> Any:
    """sin(2πx) for |x| ≤ ¼, to 10⁻¹²: nine terms of its Taylor series."""
    x = turns * (2 * np.pi)
    y = x * x
    p = -1 / 39916800 + y * (1 / 6227020800 + y * (-1 / 1307674368000 + y * (1 / 355687428096000)))
    return x * (1 + y * (-1 / 6 + y * (1 / 120 + y * (-1 / 5040 + y * (1 / 362880 + y * p)))))


@compiled_sums
def _waves(
    begin: int,
    end: int,
    age: Integers | Floats,
    frequency: npt.NDArray[np.float64],
    offset: npt.NDArray[np.float64],
    cosine: Floats,
    sine: Floats,
) -> None:
    """Of angles given in turns; by symmetry both come from the sine of a quarter turn."""
    turn = np.empty(len(frequency))
    for i in range(begin, end):
        ago = np.float64(age[i])
        for k in range(len(turn)):
            turns = ago * frequency[k] + offset[k]
            turn[k] = turns - math.floor(turns + 0.5)  # from -½ to ½
        for k in range(len(turn)):
            cosine[i, k] = _sine(0.25 - abs(turn[k]))
        for k in range(len(turn)):
            folded = 0.25 - abs(abs(turn[k]) - 0.25)
            sine[i, k] = _sine(folded if turn[k] > 0 else -folded)


@compiled_sums
def _cosine_gradient(
    age: Integers | Floats, sine: Floats, grad: Floats, by_frequency: Floats, by_offset: Floats
) -> None:
    by_frequency[:] = 0
    by_offset[:] = 0
    for i in range(len(age)):
        ago = by_offset.dtype.type(age[i])
        for k in range(len(by_offset)):
            slope = sine[i, k] * grad[i, k]
            by_offset[k] -= slope
            by_frequency[k] -= ago * slope
