"""Dropout for large layers on a CPU, where drawing one random number for each entry is most of the work."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from keat.state.compiled import Floats, compiled, is_compilable

CHANCES = 1 << 16  # 16 random bits an entry


class Dropout(nn.Module):
    """Entries are zero with probability p, to the nearest 1/65536, and the others divided by 1 - p.

    The random bits come from a generator of numpy's that torch's seeds, four entries to a 64-bit draw.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p in (0.0, 1.0) or not is_compilable(x):
            return functional.dropout(x, self.p, self.training)
        dropped: Tensor = _Drop.apply(x, round(self.p * CHANCES))  # type: ignore[no-untyped-call]
        return dropped

    def extra_repr(self) -> str:
        return f"p={self.p}"


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, threshold: int) -> Tensor:
        seed = int(torch.randint(2**63 - 1, ()))
        bits = np.random.SFC64(seed).random_raw((x.numel() + 3) // 4).view(np.uint16)
        ctx.bits, ctx.threshold = bits, threshold
        return _dropped(x, bits, threshold)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _dropped(grad, ctx.bits, ctx.threshold), None


def _dropped(x: Tensor, bits: npt.NDArray[np.uint16], threshold: int) -> Tensor:
    x = x.detach().contiguous()
    out = torch.empty_like(x)
    _drop(x.view(-1).numpy(), bits, threshold, CHANCES / (CHANCES - threshold), out.view(-1).numpy())
    return out


@compiled
def _drop(x: Floats, bits: npt.NDArray[np.uint16], threshold: int, scale: float, out: Floats) -> None:
    factor, nothing = x.dtype.type(scale), x.dtype.type(0)
    for i in range(len(x)):
        out[i] = x[i] * (factor if bits[i] >= threshold else nothing)
