"""Probabilities: monotone, never 0 or 1, and the curve that validates better is taken."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from keat.calibration.probability import (
    Isotonic,
    Platt,
    fit_isotonic,
    fit_platt,
    fit_probability,
    log_loss,
)
from keat.errors import InputError

Floats = npt.NDArray[np.float64]
LOOK = np.linspace(-60, 60, 400)


@given(
    st.integers(1, 60).flatmap(
        lambda n: st.tuples(
            arrays(np.float64, n, elements=st.floats(-50, 50)), arrays(np.bool_, n, elements=st.booleans())
        )
    )
)
def test_every_fit_is_monotone_and_never_certain(drawn: tuple[Floats, npt.NDArray[np.bool_]]) -> None:
    for fit in (fit_platt, fit_isotonic, fit_probability):
        found = fit(*drawn).probabilities(LOOK)
        assert (np.diff(found) >= -1e-15).all()
        assert ((found >= 0) & (found <= 1)).all()
        told = fit(*drawn).probabilities(drawn[0])
        assert ((told > 0) & (told < 1)).all()


def sample(seed: int, number: int, slope: float, intercept: float) -> tuple[Floats, npt.NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 3, number)
    return logits, rng.random(number) < expit(slope * logits + intercept)


def test_a_known_curve_is_recovered() -> None:
    found = fit_probability(*sample(1, 20_000, 0.4, -2.0))
    assert isinstance(found, Platt)
    assert found.slope == pytest.approx(0.4, abs=0.02)
    assert found.intercept == pytest.approx(-2.0, abs=0.06)


def test_steps_are_isotonic() -> None:
    """No logistic curve has three levels, whatever its slope."""
    rng = np.random.default_rng(2)
    logits = rng.normal(0, 3, 5_000)
    truth = rng.random(5_000) < np.select([logits < -1, logits < 2], [0.05, 0.5], 0.6)
    found = fit_probability(logits, truth)
    assert isinstance(found, Isotonic)
    assert found.probabilities(np.array([-3.0, 0.5, 4.0])) == pytest.approx([0.05, 0.5, 0.6], abs=0.05)
    assert log_loss(found.probabilities(logits), truth) < log_loss(
        fit_platt(logits, truth).probabilities(logits), truth
    )


def test_knots_are_all_of_the_isotonic_curve() -> None:
    logits, truth = sample(3, 300, 1.0, 0.0)
    whole = IsotonicRegression(y_min=1 / 302, y_max=301 / 302, out_of_bounds="clip").fit(logits, truth)
    assert fit_isotonic(logits, truth).probabilities(LOOK) == pytest.approx(whole.predict(LOOK), abs=1e-12)


@pytest.mark.parametrize("size", [1.0, 1e6, 1e30])
def test_logits_of_any_size(size: float) -> None:
    logits, truth = sample(4, 2_000, 1.0, 0.5)
    told = fit_platt(size * logits, truth).probabilities(size * logits)
    assert told == pytest.approx(fit_platt(logits, truth).probabilities(logits), abs=1e-6)


def test_logits_that_mislead_are_worth_the_base_rate() -> None:
    logits, truth = sample(5, 3_000, -1.0, 1.0)
    found = fit_platt(logits, truth)
    assert found.slope == 0
    assert found.probabilities(logits) == pytest.approx(np.full(3_000, truth.mean()), abs=1e-3)


@pytest.mark.parametrize("kind", [True, False])
def test_one_kind_only_is_likely_and_not_certain(kind: bool) -> None:
    told = fit_probability(np.arange(50.0), np.full(50, kind)).probabilities(np.array([0.0, 25.0, 80.0]))
    assert (told > 0.9).all() if kind else (told < 0.1).all()
    assert ((told > 0) & (told < 1)).all()


def test_the_choice_looks_at_parts_it_was_not_fitted_to() -> None:
    """Isotonic is always closer to what it was fitted to; of little, it only learns the noise."""
    logits, truth = sample(6, 60, 1.0, 0.0)
    assert log_loss(fit_isotonic(logits, truth).probabilities(logits), truth) < log_loss(
        fit_platt(logits, truth).probabilities(logits), truth
    )
    assert isinstance(fit_probability(logits, truth), Platt)


@pytest.mark.parametrize(
    ("logits", "values"),
    [((), ()), ((0.0, 1.0), (0.5,)), ((1.0, 0.0), (0.1, 0.2)), ((0.0, 1.0), (0.3, 0.2)), ((0.0,), (1.0,))],
)
def test_knots_that_are_none(logits: tuple[float, ...], values: tuple[float, ...]) -> None:
    with pytest.raises(InputError):
        Isotonic(logits, values)
