"""Which moments of p(Δ) a time encoding can see, and how a kernel damps them (appendices B and E).

Everything is a power series in Δ: E[f(Δ)] = Σ_k c_k E[Δ^k], so the coefficient c_k is the sensitivity of the
expected encoding to the k-th moment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from keat.errors import InputError

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats], Floats]


def cosine_coefficients(frequency: float, orders: int, phase: float = 0.0) -> Floats:
    """c_k of cos(ωΔ + b), k < orders: Re(e^{ib} (iω)^k)/k!.

    With b = 0 every odd one is 0, which is the paper's "blind to odd moments". A learned encoding has a b,
    and with it sees them all.
    """
    return _series(complex(0.0, frequency), orders, phase)


def decaying_cosine_coefficients(frequency: float, rate: float, orders: int) -> Floats:
    """c_k of e^{-λΔ} cos ωΔ: Re((-λ + iω)^k)/k!.

    Even and odd orders alike, but not quite all of them: where the angle of (-λ + iω)^k is a right one, c_k
    is 0. With λ = ω that is k = 2, 6, 10, …: this kernel hides the variance.
    """
    return _series(complex(-rate, frequency), orders, phase=0.0)


def _series(base: complex, orders: int, phase: float) -> Floats:
    """Polar, because (iω)^k as a product leaves rounding where the closed form has a 0."""
    k = np.arange(orders)
    quarter_turns = (math.atan2(base.imag, base.real) * k + phase) / (math.pi / 2)
    nearest = np.round(quarter_turns)
    right_angle = (nearest % 2 == 1) & (np.abs(quarter_turns - nearest) < 1e-12 * (1 + k))
    cosine = np.where(right_angle, 0.0, np.cos(quarter_turns * (math.pi / 2)))
    factorial = np.array([math.factorial(int(order)) for order in k], dtype=np.float64)
    return np.asarray(cosine * abs(base) ** k / factorial, dtype=np.float64)


def laplacian(sigma: float) -> Function:
    """ψ(t) = e^{-t/σ}."""
    return lambda t: np.exp(-t / sigma)


# -- R_n = E[ψ(t) t^n] / E[t^n] -----------------------------------------------------------------------


def exponential_ratio(rate: float, order: npt.ArrayLike) -> Floats:
    """R_n = (1 + a)^-(n+1) for t ~ Exp(1), ψ = e^{-at}."""
    return np.asarray((1.0 + rate) ** -(np.asarray(order, dtype=np.float64) + 1.0))


def moment_ratios(
    kernel: Function, log_density: Function, orders: Sequence[int], end: float = math.inf
) -> Floats:
    """R_n of a density on [0, end), by quadrature.

    R_n is the mean of ψ under the tilted law t^n p(t)/E[t^n]; weights are formed in logarithms, so no order
    overflows. Over all of [0, ∞) the trapezoidal rule in x = log t converges exponentially fast; a density
    that stops somewhere is summed by Gauss and Legendre's rule.
    """
    if math.isinf(end):
        x = np.linspace(-60.0, 12.0, 20_001)  # from 1e-26 to 1.6e5 times the density's own scale
        t, log_weight = np.exp(x), x
    else:
        point, weight = np.polynomial.legendre.leggauss(400)
        t, log_weight = end * (point + 1) / 2, np.log(weight)
    return _tilted_means(np.log(t), kernel(t), log_density(t) + log_weight, orders)


def sample_ratios(kernel: Function, gaps: npt.NDArray[np.integer], orders: Sequence[int]) -> Floats:
    """R_n of observed gaps. A sample is bounded, so R_n tends to ψ(largest gap), not to 0."""
    if not len(gaps):
        raise InputError("There are no gaps to look at: no node has two events; give a longer stream.")
    values, count = np.unique(np.asarray(gaps, dtype=np.float64), return_counts=True)
    with np.errstate(divide="ignore"):
        return _tilted_means(np.log(values), kernel(values), np.log(count), orders)


def _tilted_means(log_t: Floats, psi: Floats, log_mass: Floats, orders: Sequence[int]) -> Floats:
    """Σ ψ t^n p / Σ t^n p for each n."""
    means = []
    for order in orders:
        tilt = log_mass if order == 0 else log_mass + order * log_t  # 0·log 0 would be no number
        weight = np.exp(tilt - tilt.max())
        means.append(float(weight @ psi / weight.sum()))
    return np.array(means)


def limit_of_ratios(kernel: Function, end: float) -> float:
    """lim R_n = ψ(end of the support), since t^n p(t) gathers there.

    The theorem's limit 0 is the case of unbounded support *and* a ψ that falls to 0. Its strict decrease
    needs ψ to differ somewhere on the positive support: with all gaps equal (or 0), R_n is constant from
    n = 1 on.
    """
    return float(kernel(np.array([end]))[0])
