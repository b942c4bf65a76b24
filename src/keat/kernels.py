"""Temporal kernels ψ: the age of an event → the weight of its edge evidence.

A kernel takes ages in the stream's own unit (int64 or float, negative ages count as 0), divides by σ in
float64, and returns ψ with one more axis at the end: 1 where all heads share it, else ``heads``.
σ comes from the training split and travels with the checkpoint; ``width``, the λ of the formulas, is a
multiple of it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from keat.errors import KeatError, unknown_name


@dataclass(frozen=True, slots=True)
class Guarantees:
    """What holds for every value of a kernel's parameters, up to float rounding."""

    lower: float
    upper: float
    decreasing: bool  # never rises with age
    at_zero: float | None  # ψ(0), None where it is learned


@dataclass(frozen=True, slots=True, eq=False)
class Exponentials:
    """ψ_h(Δ) = constant_h + Σ_m weight_hm · exp(−rate_hm Δ), which splits: exp(−r(a+b)) = exp(−ra) exp(−rb).

    ``rate`` is per unit of the stream's time, float64. A kernel without decaying terms has M = 0.
    """

    weight: Tensor  # (H, M), or (1, M) where all heads share it
    rate: Tensor  # (H, M)
    constant: Tensor  # (H,)


class Kernel(nn.Module, ABC):
    """ψ(Δ), a weight for evidence of age Δ ≥ 0."""

    guarantees = Guarantees(lower=0.0, upper=1.0, decreasing=True, at_zero=1.0)
    sigma: Tensor

    def __init__(self, sigma: float, width: float = 1.0, heads: int = 1) -> None:
        super().__init__()
        if not (math.isfinite(sigma) and sigma > 0):
            raise KeatError(
                f"σ must be positive and finite, but is {sigma}; estimate it from a longer stream or set it."
            )
        if not width > 0:
            raise KeatError(
                f"The kernel width must be positive, but is {width}; it is a multiple of σ, 'inf' for none."
            )
        self.width = float(width)
        self.heads = heads
        self.register_buffer("sigma", torch.tensor(sigma, dtype=torch.float64))

    def scaled(self, age: Tensor) -> Tensor:
        """x = max(Δ, 0)/σ, (..., 1); float64 until the division is done."""
        x = age.to(torch.float64).clamp(min=0) / self.sigma
        return x.to(self._dtype()).unsqueeze(-1)

    @abstractmethod
    def forward(self, age: Tensor) -> Tensor:
        """ψ of each age, (..., 1) or (..., heads)."""

    def exponentials(self) -> Exponentials | None:
        """ψ as a sum of exponentials, or None where it is not one."""
        return None

    def _dtype(self) -> torch.dtype:
        return next((p.dtype for p in self.parameters()), torch.get_default_dtype())

    def _finite_width(self) -> float:
        if math.isinf(self.width):
            raise KeatError(
                "A learned kernel needs a finite width to start from; for no kernel at all use 'identity'."
            )
        return self.width

    def extra_repr(self) -> str:
        return f"sigma={float(self.sigma):g}, width={self.width:g}"


class Identity(Kernel):
    """ψ = 1: the plain model."""

    guarantees = Guarantees(lower=1.0, upper=1.0, decreasing=True, at_zero=1.0)

    def forward(self, age: Tensor) -> Tensor:
        return torch.ones((*age.shape, 1), dtype=self._dtype(), device=age.device)

    def exponentials(self) -> Exponentials:
        nothing = self.sigma.new_empty(1, 0)
        return Exponentials(weight=nothing, rate=nothing, constant=self.sigma.new_ones(1))

    def extra_repr(self) -> str:
        return ""


class Laplacian(Kernel):
    """ψ = exp(−Δ/(λσ)): the share lost per unit of time is the same at every age. λ = ∞ is exactly 1."""

    def forward(self, age: Tensor) -> Tensor:
        return torch.exp(-self.scaled(age) / self.width)

    def exponentials(self) -> Exponentials:
        rate = (1.0 / (self.sigma.double() * self.width)).view(1, 1)
        return Exponentials(weight=torch.ones_like(rate), rate=rate, constant=rate.new_zeros(1))


class RBF(Kernel):
    """ψ = exp(−Δ²/(λσ)²), without a factor 2: flat near 0, then a steep fall. λ = ∞ is exactly 1."""

    def forward(self, age: Tensor) -> Tensor:
        return torch.exp(-(self.scaled(age) / self.width).square())


class MLP(Kernel):
    """ψ = sigmoid(w₂·tanh(w₁u + b₁) + b₂), u = log(1 + Δ/(λσ)): any shape, also a rising one, within [0, 1].

    ``bounded=False`` leaves the sigmoid out: the paper's MLP(Δ) to the letter, with nothing to keep it
    positive or below 1. Both start at ψ(0) = 0.9. The logarithm keeps ages of many σ in the network's range.
    """

    hidden: ClassVar[int] = 16

    def __init__(self, sigma: float, width: float = 1.0, heads: int = 1, bounded: bool = True) -> None:
        super().__init__(sigma, width, heads)
        self._finite_width()
        self.bounded = bounded
        lower, upper = (0.0, 1.0) if bounded else (-math.inf, math.inf)
        self.guarantees = Guarantees(lower, upper, decreasing=False, at_zero=None)
        self.inner = nn.Linear(1, self.hidden)
        self.outer = nn.Linear(self.hidden, 1)
        start = math.log(0.9 / (1 - 0.9)) if bounded else 0.9
        with torch.no_grad():
            self.outer.bias.copy_(start - self.outer.weight @ torch.tanh(self.inner.bias))

    def forward(self, age: Tensor) -> Tensor:
        u = torch.log1p(self.scaled(age) / self.width)
        psi: Tensor = self.outer(torch.tanh(self.inner(u)))
        return torch.sigmoid(psi) if self.bounded else psi


class LearnableLaplacian(Kernel):
    """ψ_h = exp(−Δ/(λ_h σ)), log λ_h learned, one per head, all starting at ``width``."""

    def __init__(self, sigma: float, width: float = 1.0, heads: int = 1) -> None:
        super().__init__(sigma, width, heads)
        self.log_width = nn.Parameter(torch.full((heads,), math.log(self._finite_width())))

    def forward(self, age: Tensor) -> Tensor:
        return torch.exp(-self.scaled(age) * torch.exp(-self.log_width))

    def exponentials(self) -> Exponentials:
        rate = (torch.exp(-self.log_width.double()) / self.sigma.double()).unsqueeze(1)  # (H, 1)
        return Exponentials(weight=torch.ones_like(rate), rate=rate, constant=rate.new_zeros(len(rate)))


class Mixture(Kernel):
    """ψ_h = Σ_m w_hm exp(−Δ/(λ_hm σ)), w = softmax, λ learned: fast and slow decay at once, heavy tails.

    The widths start on a ladder, ``width`` × (¼, 1, 4, 16), with equal weights.
    """

    ladder: ClassVar[tuple[float, ...]] = (0.25, 1.0, 4.0, 16.0)

    def __init__(self, sigma: float, width: float = 1.0, heads: int = 1) -> None:
        super().__init__(sigma, width, heads)
        widths = self._finite_width() * torch.tensor(self.ladder)
        self.log_width = nn.Parameter(widths.log().repeat(heads, 1))
        self.weight_logit = nn.Parameter(torch.zeros(heads, len(self.ladder)))

    def forward(self, age: Tensor) -> Tensor:
        decay = torch.exp(-self.scaled(age).unsqueeze(-1) * torch.exp(-self.log_width))  # (..., H, M)
        return (decay * self.weight_logit.softmax(-1)).sum(-1)

    def exponentials(self) -> Exponentials:
        rate = torch.exp(-self.log_width.double()) / self.sigma.double()
        weight = self.weight_logit.double().softmax(-1)
        return Exponentials(weight=weight, rate=rate, constant=rate.new_zeros(len(rate)))


class MonotoneMLP(Kernel):
    """ψ_h = exp(−Σ_j c_hj (s(a_j u + b_j) − s(b_j))), u = log(1 + Δ/(λσ)), s = softplus, a, c > 0.

    A learned shape that keeps the criteria of a decay: ψ(0) = 1, never rising, never negative.
    """

    hidden: ClassVar[int] = 16

    def __init__(self, sigma: float, width: float = 1.0, heads: int = 1) -> None:
        super().__init__(sigma, width, heads)
        self._finite_width()
        self.slope = nn.Parameter(torch.linspace(-1.0, 2.0, self.hidden))  # a = softplus(slope)
        self.bend = nn.Parameter(torch.linspace(1.0, -4.0, self.hidden))  # b: where each unit bends
        self.strength = nn.Parameter(torch.full((heads, self.hidden), -2.0))  # c = softplus(strength)

    def forward(self, age: Tensor) -> Tensor:
        u = torch.log1p(self.scaled(age) / self.width)  # (..., 1)
        risen = F.softplus(u * F.softplus(self.slope) + self.bend) - F.softplus(
            self.bend
        )  # (..., hidden), ≥ 0
        return torch.exp(-F.linear(risen, F.softplus(self.strength)))


class Gated(Laplacian):
    """ψ_h = (1 − g_h) + g_h exp(−Δ/(λσ)), g_h = sigmoid, learned per head, starting at ½.

    With g → 0 it is the plain model, which training can therefore always return to. A share 1 − g of the
    evidence never fades, so ψ stays above 1 − g.
    """

    def __init__(self, sigma: float, width: float = 1.0, heads: int = 1) -> None:
        super().__init__(sigma, width, heads)
        self.gate_logit = nn.Parameter(torch.zeros(heads))

    def forward(self, age: Tensor) -> Tensor:
        faded = 1 - super().forward(age)  # in this order an infinite width gives exactly 1
        return 1 - torch.sigmoid(self.gate_logit) * faded

    def exponentials(self) -> Exponentials:
        gate = torch.sigmoid(self.gate_logit.double())  # (H,)
        rate = super().exponentials().rate.expand(len(gate), 1)
        return Exponentials(weight=gate.unsqueeze(1), rate=rate, constant=1 - gate)


KERNELS: dict[str, Callable[[float, float, int], Kernel]] = {
    "identity": Identity,
    "laplacian": Laplacian,
    "rbf": RBF,
    "mlp": MLP,
    "mlp-unbounded": partial(MLP, bounded=False),
    "learnable": LearnableLaplacian,
    "mixture": Mixture,
    "monotone": MonotoneMLP,
    "gated": Gated,
}


def create_kernel(name: str, sigma: float, width: float = 1.0, heads: int = 1) -> Kernel:
    """The kernel of that name; ``heads`` matters to those that learn one shape per head."""
    if name not in KERNELS:
        raise unknown_name("kernel", name, KERNELS)
    return KERNELS[name](sigma, width, heads)
