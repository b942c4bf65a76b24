"""Moments seen and damped, each against its closed form, and where the theorem's conditions fail."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from keat.analysis.moments import (
    Floats,
    cosine_coefficients,
    decaying_cosine_coefficients,
    exponential_ratio,
    limit_of_ratios,
    moment_ratios,
    sample_ratios,
)

ORDERS = range(31)


def kernel_coefficients(rate: float, orders: int) -> Floats:
    """c_k of e^{-λΔ}: (-λ)^k/k!."""
    return np.array([(-rate) ** k / math.factorial(k) for k in range(orders)])


def product_coefficients(first: Floats, second: Floats) -> Floats:
    """c_k of the product of two series, as appendix B.2 multiplies them: Σ_m a_m b_{k-m}."""
    return np.convolve(first, second)[: min(len(first), len(second))]


def expectation(coefficients: Floats, moments: Floats) -> float:
    """Σ_k c_k E[Δ^k], where the series converges; for t ~ Exp(1), whose moments are k!, that takes
    |ω| < 1, with a kernel |-λ + iω| < 1."""
    return float(coefficients @ moments[: len(coefficients)])


def exponential_moments(orders: int) -> Floats:
    """E[t^k] = k! of t ~ Exp(1)."""
    return np.array([math.factorial(k) for k in range(orders)], dtype=np.float64)


def gamma_ratio(rate: float, order: npt.ArrayLike, shape: float) -> Floats:
    """R_n = (1 + a)^-(n+k) for t ~ Gamma(k, 1), ψ = e^{-at}."""
    return np.asarray((1.0 + rate) ** -(np.asarray(order, dtype=np.float64) + shape))


def test_a_cosine_sees_even_moments_only() -> None:
    seen = cosine_coefficients(0.7, 12)
    assert (seen[1::2] == 0).all()
    assert (seen[::2] != 0).all()
    np.testing.assert_allclose(seen[:5], [1, 0, -(0.7**2) / 2, 0, 0.7**4 / 24], rtol=1e-14)


def test_with_a_phase_it_sees_them_all() -> None:
    """cos(ωΔ + b) = cos b cos ωΔ - sin b sin ωΔ: the learned encoding of TGN is not blind."""
    assert (cosine_coefficients(0.7, 12, phase=0.3) != 0).all()


@pytest.mark.parametrize(("frequency", "rate"), [(0.7, 0.2), (0.1, 1.5), (2.0, 0.5)])
def test_with_a_kernel_it_sees_odd_ones_too(frequency: float, rate: float) -> None:
    closed = decaying_cosine_coefficients(frequency, rate, 14)
    multiplied = product_coefficients(kernel_coefficients(rate, 14), cosine_coefficients(frequency, 14))
    np.testing.assert_allclose(multiplied, closed, rtol=1e-9, atol=1e-15)
    assert (closed[1::2] != 0).all()


def test_but_a_rate_equal_to_the_frequency_hides_the_variance() -> None:
    seen = decaying_cosine_coefficients(0.4, 0.4, 12)
    np.testing.assert_array_equal(np.flatnonzero(seen == 0), [2, 6, 10])


def test_expectations_add_up() -> None:
    """t ~ Exp(1): E cos ωt = 1/(1 + ω²) and E e^{-λt} cos ωt = (1 + λ)/((1 + λ)² + ω²)."""
    moments = exponential_moments(120)
    w, rate = 0.5, 0.3
    assert expectation(cosine_coefficients(w, 120), moments) == pytest.approx(1 / (1 + w**2), abs=1e-12)
    damped = expectation(decaying_cosine_coefficients(w, rate, 120), moments)
    assert damped == pytest.approx((1 + rate) / ((1 + rate) ** 2 + w**2), abs=1e-12)
    assert abs(expectation(cosine_coefficients(1.2, 120), moments)) > 1e6  # beyond the series' radius, 1


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0, 2.0])
def test_ratios_of_an_exponential(rate: float) -> None:
    found = moment_ratios(lambda t: np.exp(-rate * t), lambda t: -t, ORDERS)
    np.testing.assert_allclose(found, exponential_ratio(rate, ORDERS), rtol=1e-10)
    assert (np.diff(found) < 0).all()


@pytest.mark.parametrize("shape", [0.5, 3.0])
def test_ratios_of_a_gamma(shape: float) -> None:
    found = moment_ratios(lambda t: np.exp(-0.5 * t), lambda t: (shape - 1) * np.log(t) - t, ORDERS)
    np.testing.assert_allclose(found, gamma_ratio(0.5, ORDERS, shape), rtol=1e-9)


def test_bounded_support_stops_the_fall_above_zero() -> None:
    """t ~ U(0, 1): R_n = (n+1) γ(n+1, a)/a^(n+1), which tends to e^-a."""
    n = np.array([0, 1, 5, 30, 300])
    found = moment_ratios(lambda t: np.exp(-t), np.zeros_like, n.tolist(), end=1.0)
    lower = np.array([_incomplete(int(k)) for k in n])
    np.testing.assert_allclose(found, lower, rtol=1e-10)
    limit = limit_of_ratios(lambda t: np.exp(-t), 1.0)
    assert limit == pytest.approx(math.exp(-1))
    assert 0 < found[-1] - limit < 2e-3


def _incomplete(n: int) -> float:
    """(n+1) ∫₀¹ t^n e^-t dt by its own series, Σ_k (-1)^k (n+1)/(k! (n+1+k))."""
    return math.fsum((-1) ** k * (n + 1) / (math.factorial(k) * (n + 1 + k)) for k in range(25))


def test_a_kernel_with_a_floor_does_not_fall_to_zero_either() -> None:
    def gated(t: Floats) -> Floats:
        return np.asarray(0.5 + 0.5 * np.exp(-t))

    found = moment_ratios(gated, lambda t: -t, [0, 60])
    assert found[1] == pytest.approx(0.5 + 0.5 * exponential_ratio(1.0, 60))


def test_gaps_of_a_sample() -> None:
    gaps = np.array([1, 1, 2, 5, 9])

    def psi(t: Floats) -> Floats:
        return np.asarray(np.exp(-t / 4))

    for order in (0, 1, 7):
        plain = (psi(gaps.astype(float)) * gaps.astype(float) ** order).mean() / (gaps**order).mean()
        assert sample_ratios(psi, gaps, [order])[0] == pytest.approx(plain)
    far = sample_ratios(psi, gaps, [0, 10, 1000, 100_000])
    assert (np.diff(far[:3]) < 0).all()
    assert far[-1] == pytest.approx(limit_of_ratios(psi, 9.0))


@pytest.mark.parametrize("gaps", [[3, 3, 3], [0, 3, 3]])
def test_where_gaps_do_not_differ_nothing_decreases(gaps: list[int]) -> None:
    found = sample_ratios(lambda t: np.exp(-t), np.array(gaps), [1, 2, 9])
    np.testing.assert_allclose(found, math.exp(-3))
