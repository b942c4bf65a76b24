"""Time encodings φ: the age of an event → a vector.

Ages come in the stream's own unit, int64 (or float). Periodic encodings take the angle wΔ + b from
`keat.ops`, which is exact however long the age, or, with ``precision="legacy"``, as in the references.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import get_args

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from keat.errors import unknown_name
from keat.ops import Precision, angle, cosine, cosine_and_sine


def geometric_frequencies(dim: int) -> Tensor:
    """10⁰ … 10⁻⁹: from one unit of time to a billion, evenly in the logarithm."""
    return 10.0 ** -torch.linspace(0, 9, dim)


class TimeEncoder(nn.Module, ABC):
    """φ(Δ), a vector of ``dim`` numbers for an age Δ."""

    def __init__(self, dim: int, precision: Precision = "exact") -> None:
        super().__init__()
        if precision not in get_args(Precision):
            raise unknown_name("precision", precision, get_args(Precision))
        self.dim = dim
        self.precision: Precision = precision

    @abstractmethod
    def forward(self, age: Tensor) -> Tensor:
        """(...) → (..., dim)"""

    def extra_repr(self) -> str:
        return f"dim={self.dim}, precision={self.precision}"


class Cosine(TimeEncoder):
    """φ(Δ) = cos(wΔ + b).

    w, b ~ U(−1, 1) as in TGN, or with ``geometric`` w = 10⁰ … 10⁻⁹, b = 0 as in TGAT;
    ``trainable=False`` freezes both (GraphMixer).
    """

    def __init__(
        self, dim: int, precision: Precision = "exact", geometric: bool = False, trainable: bool = True
    ) -> None:
        super().__init__(dim, precision)
        self.lin = nn.Linear(1, dim)  # a holder of w and b under the names the reference gives them
        if geometric:
            nn.init.zeros_(self.lin.bias)
            with torch.no_grad():
                self.lin.weight.copy_(geometric_frequencies(dim).unsqueeze(1))
        self.lin.requires_grad_(trainable)

    @property
    def frequency(self) -> Tensor:
        return self.lin.weight.squeeze(1)  # (dim,)

    @property
    def offset(self) -> Tensor:
        return self.lin.bias  # (dim,)

    def forward(self, age: Tensor) -> Tensor:
        if self.precision == "legacy":
            return angle(age, self.frequency, self.offset, self.precision).cos()
        return cosine(age, self.frequency, self.offset)

    def quadrature(self, age: Tensor) -> tuple[Tensor, Tensor]:
        """cos(wΔ + b) and sin(wΔ + b), which `rotation` turns into the encoding of a later moment:

        φ(Δ + δ) = cos(wΔ + b) cos(wδ) − sin(wΔ + b) sin(wδ).
        """
        return cosine_and_sine(age, self.frequency, self.offset)

    def rotation(self, delay: Tensor) -> tuple[Tensor, Tensor]:
        """cos(wδ) and sin(wδ), (..., dim) each."""
        return cosine_and_sine(delay, self.frequency, torch.zeros_like(self.offset))


class _Fourier(nn.Module):
    """z_o = c_o + Σ_i Σ_{k=1..5} A_oik cos(k y_i) + B_oik sin(k y_i), y = wΔ + b."""

    order = 5

    def __init__(self, dim: int, precision: Precision) -> None:
        super().__init__()
        self.precision = precision
        self.frequency = nn.Parameter(geometric_frequencies(dim))
        self.offset = nn.Parameter(torch.zeros(dim))
        # A and B side by side: one matrix over all cosines, then all sines, of a row.
        self.coefficient = nn.Parameter(torch.randn(dim, 2 * dim * self.order) / math.sqrt(dim * self.order))
        self.constant = nn.Parameter(torch.zeros(dim))

    def forward(self, age: Tensor) -> Tensor:
        y = angle(age, self.frequency, self.offset, self.precision)  # (..., dim)
        harmonic = torch.arange(1, self.order + 1, device=y.device, dtype=y.dtype)
        turned = (y.unsqueeze(-1) * harmonic).flatten(-2)  # (..., dim·order)
        waves = torch.cat([turned.cos(), turned.sin()], dim=-1)
        return F.linear(waves, self.coefficient, self.constant)


class _Spline(nn.Module):
    """z_o = Σ_i U_oi tanh(y_i) + Σ_i Σ_m S_oim B_m(y_i), y = wΔ + b.

    B_m are the 8 cubic B-splines on 5 equal intervals of [−1, 1]. On equal intervals they are one bump,
    shifted: with v the distance from its centre in intervals, B = (max(2−v, 0)³ − 4 max(1−v, 0)³)/6.
    """

    intervals = 5
    bumps = intervals + 3

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.frequency = nn.Parameter(geometric_frequencies(dim))
        self.offset = nn.Parameter(torch.zeros(dim))
        self.base = nn.Parameter(torch.randn(dim, dim) / math.sqrt(dim))
        self.coefficient = nn.Parameter(torch.randn(dim, dim * self.bumps) / math.sqrt(dim * self.bumps))

    def forward(self, age: Tensor) -> Tensor:
        y = age.unsqueeze(-1).to(self.offset.dtype) * self.frequency + self.offset  # (..., dim)
        return F.linear(y.tanh(), self.base) + F.linear(self._bumps(y).flatten(-2), self.coefficient)

    def _bumps(self, y: Tensor) -> Tensor:
        interval = 2 / self.intervals
        centre = torch.arange(self.bumps, device=y.device, dtype=y.dtype) - 1  # in intervals from −1
        v = ((y.unsqueeze(-1) + 1) / interval - centre).abs()  # (..., dim, bumps)
        return ((2 - v).clamp(min=0) ** 3 - 4 * (1 - v).clamp(min=0) ** 3) / 6


class LeTE(TimeEncoder):
    """A learned function of wΔ + b: a Fourier part and a spline part of ``fourier_share`` of the dimensions.

    With both parts the output is scale ⊙ LayerNorm([fourier ‖ spline]), with one it is that part.
    """

    def __init__(self, dim: int, precision: Precision = "exact", fourier_share: float = 0.5) -> None:
        super().__init__(dim, precision)
        fourier_dim = round(fourier_share * dim)
        self.parts = nn.ModuleList()
        if fourier_dim > 0:
            self.parts.append(_Fourier(fourier_dim, precision))
        if fourier_dim < dim:
            self.parts.append(_Spline(dim - fourier_dim))
        if len(self.parts) == 2:
            self.scale = nn.Parameter(torch.ones(dim))
            self.norm = nn.LayerNorm(dim)

    def forward(self, age: Tensor) -> Tensor:
        encoded = torch.cat([part(age) for part in self.parts], dim=-1)
        return self.scale * self.norm(encoded) if len(self.parts) == 2 else encoded


TIME_ENCODERS: dict[str, Callable[[int, Precision], TimeEncoder]] = {
    "cosine": Cosine,
    "cosine-geometric": partial(Cosine, geometric=True),
    "fixed": partial(Cosine, geometric=True, trainable=False),
    "lete": LeTE,
    "lete-fourier": partial(LeTE, fourier_share=1.0),
    "lete-spline": partial(LeTE, fourier_share=0.0),
}


def create_time_encoder(name: str, dim: int, precision: Precision = "exact") -> TimeEncoder:
    """The time encoder of that name, with the phase taken exactly or as the references do ("legacy")."""
    if name not in TIME_ENCODERS:
        raise unknown_name("time encoder", name, TIME_ENCODERS)
    return TIME_ENCODERS[name](dim, precision)
