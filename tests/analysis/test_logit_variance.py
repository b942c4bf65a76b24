"""Variances of logits: closed forms beside the same thing computed from numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from keat.analysis.logit_variance import (
    LogitMoments,
    correlated_reduction,
    is_guaranteed,
    measure,
    variance_reduction,
)

RNG = np.random.default_rng(0)


def is_reduced(sigma_x: float, sigma_y: float, rho: float, psi: float) -> bool:
    """The exact condition for one ψ < 1: σ_Y(1+ψ) ≥ -2ρσ_X. It always holds where ρ ≥ 0."""
    return sigma_y * (1 + psi) >= -2 * rho * sigma_x


def logits(n: int = 500) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    x = RNG.normal(size=n)
    y = 0.6 * x + RNG.normal(size=n) + 1.5
    return x, y, RNG.random(n), RNG.integers(0, 60, n)


@pytest.mark.parametrize("psi", [0.0, 0.3, 1.0])
def test_one_psi_for_all_is_the_theorem(psi: float) -> None:
    x, y, _, group = logits()
    found = measure(x, y, np.full_like(x, psi), group)
    m = found.moments
    assert found.plain == pytest.approx(m.plain())
    expected = variance_reduction(m.sigma_x, m.sigma_y, m.rho, psi)
    assert found.plain - found.modulated == pytest.approx(float(expected))
    assert found.modulated == pytest.approx(m.modulated())  # no spread of ψ: the two forms are one


def test_a_spread_of_psi_adds_variance() -> None:
    """Every (x, y) with every ψ: exactly independent, so the closed form holds to rounding."""
    pairs = list(product(zip(*logits(40)[:2], strict=True), [0.05, 0.4, 0.9, 1.0]))
    x, y, psi = (np.array(column) for column in zip(*((a, b, p) for (a, b), p in pairs), strict=True))
    found = measure(x, y, psi, np.zeros(len(x), dtype=int))
    assert found.modulated == pytest.approx(found.moments.modulated())
    assert found.moments.modulated() > found.moments.modulated_by_a_constant()


def test_equal_edges_get_unequal_logits() -> None:
    """σ_Y = 0: the theorem says no change, but old and new edges now differ, as they are meant to."""
    same = LogitMoments(sigma_x=1.0, sigma_y=0.0, rho=0.0, mean_y=2.0, mean_psi=0.5, sigma_psi=0.3)
    assert same.modulated_by_a_constant() == same.plain() == 1.0
    assert same.modulated() == pytest.approx(1.0 + 0.09 * 4)


def test_the_conditions() -> None:
    for sigma_x, sigma_y, rho, psi in product([0.1, 1.0], [0.1, 1.0], [-1.0, -0.3, 0.0, 0.8], [0.1, 0.9]):
        reduction = float(variance_reduction(sigma_x, sigma_y, rho, psi))
        assert is_reduced(sigma_x, sigma_y, rho, psi) == (reduction >= 0)
        if is_guaranteed(sigma_x, sigma_y, psi):
            assert reduction >= 0
    assert not is_guaranteed(1.0, 0.1, 0.5)  # sufficient, not necessary:
    assert is_reduced(1.0, 0.1, 0.0, 0.5)
    assert not is_reduced(1.0, 0.1, -1.0, 0.5)


def test_within_a_neighbourhood() -> None:
    x, y, psi, group = logits()
    found = measure(x, y, psi, group)
    by_hand = [(x + psi * y)[group == g] - (x + psi * y)[group == g].mean() for g in np.unique(group)]
    assert found.modulated_within == pytest.approx(float(np.concatenate(by_hand).var()))
    shifted = measure(x + 7.0 * group, y, psi, group)  # a softmax does not see what all neighbours share
    assert shifted.ratio_within == pytest.approx(found.ratio_within)
    assert shifted.ratio != pytest.approx(found.ratio)


def test_correlated_neighbours() -> None:
    """Against the variance of the average itself, w'Cw, for an arbitrary covariance of (X, Y)."""
    n = 6
    root = RNG.normal(size=(2 * n, 2 * n))
    covariance = root @ root.T
    psi = RNG.random(n)
    plain = np.full(2 * n, 1 / n)
    modulated = np.concatenate((np.full(n, 1 / n), psi / n))
    exact = plain @ covariance @ plain - modulated @ covariance @ modulated
    cov_yy, cov_xy = covariance[n:, n:], covariance[:n, n:]
    assert correlated_reduction(cov_yy, cov_xy, psi) == pytest.approx(float(exact))
    exchanged = correlated_reduction(cov_yy, cov_xy.T, psi)  # the indices as they are in print
    assert exchanged != pytest.approx(float(exact))


def test_non_negative_covariances_reduce() -> None:
    for _ in range(20):
        cov_yy, cov_xy, psi = RNG.random((5, 5)), RNG.random((5, 5)), RNG.random(5)
        assert correlated_reduction(cov_yy + cov_yy.T, cov_xy, psi) >= 0


def test_the_printed_conditions_are_not_enough() -> None:
    """Independent neighbours meet every printed condition; ρ = -0.9 within one still raises the variance."""
    sigma_x, sigma_y, rho, n = 1.0, 0.2, -0.9, 4
    cov_yy, cov_xy = sigma_y**2 * np.eye(n), rho * sigma_x * sigma_y * np.eye(n)
    found = correlated_reduction(cov_yy, cov_xy, np.full(n, 0.5))
    assert found == pytest.approx(float(variance_reduction(sigma_x, sigma_y, rho, 0.5)) / n)
    assert found < 0
