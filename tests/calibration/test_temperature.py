"""Shares sum to one, keep the order, forget what all logits share; the true temperature is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keat.calibration.temperature import Contest, Temperature, fit_temperature, plain
from keat.errors import InputError

Floats = npt.NDArray[np.float64]
ANY = Temperature(1.3, 1.9, 0.8, candidates=5, sampled=False, questions=7)
temperatures = st.builds(
    lambda t, leading, trailing: replace(ANY, temperature=t, leading=leading, trailing=trailing),
    *[st.floats(0.05, 20.0)] * 3,
)
logits = arrays(np.float64, (4, 6), elements=st.floats(-50, 50))


@given(temperatures, logits)
def test_shares_sum_to_one_and_keep_the_order(made: Temperature, scores: Floats) -> None:
    shares = made.shares(scores)
    assert shares.sum(axis=1) == pytest.approx(np.ones(4))
    assert (shares >= 0).all()
    ordered = np.take_along_axis(shares, np.argsort(scores, axis=1), axis=1)
    assert (np.diff(ordered, axis=1) >= -1e-15).all()


@given(temperatures, logits, st.floats(-1e4, 1e4))
def test_what_all_candidates_share_changes_nothing(made: Temperature, scores: Floats, by: float) -> None:
    assert made.shares(scores + by) == pytest.approx(made.shares(scores), abs=1e-8)


@given(logits)
def test_equal_temperatures_are_the_softmax(scores: Floats) -> None:
    made = replace(ANY, temperature=2.0, leading=2.0, trailing=2.0)
    weights = np.exp(scores / 2 - (scores / 2).max(axis=1, keepdims=True))
    assert made.shares(scores) == pytest.approx(weights / weights.sum(axis=1, keepdims=True), abs=1e-12)


@pytest.mark.parametrize("size", [1e30, 1e300])
def test_large_logits_do_no_harm(size: float) -> None:
    shares = ANY.shares(np.array([[size, -size, 0.0], [size, size, -np.inf]]))
    assert shares == pytest.approx(np.array([[1, 0, 0], [0.5, 0.5, 0]]))


def drawn(seed: int, temperature: float, questions: int = 4000, candidates: int = 40) -> list[Contest]:
    """Questions whose true candidates are drawn by their shares at a temperature, in pieces."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 3, (questions, candidates))
    noise = rng.gumbel(size=scores.shape)
    true = (scores / temperature + noise).argmax(axis=1)
    return [Contest(scores[k : k + 500], true[k : k + 500]) for k in range(0, questions, 500)]


def surprise(made: Temperature, contests: list[Contest]) -> float:
    """Mean negative log-likelihood, in plain words."""
    shares = np.concatenate([made.shares(part.logits) for part in contests])
    true = np.concatenate([part.true for part in contests])
    return float(-np.log(shares[np.arange(len(true)), true]).mean())


@pytest.mark.parametrize("temperature", [0.25, 1.0, 3.0])
def test_a_known_temperature_is_recovered(temperature: float) -> None:
    contests = drawn(1, temperature)
    found = fit_temperature(contests, sampled=False)
    assert found is not None
    assert found.temperature == pytest.approx(temperature, rel=0.03)
    truth = replace(found, temperature=temperature, leading=temperature, trailing=temperature)
    for part in contests:
        assert found.shares(part.logits) == pytest.approx(truth.shares(part.logits), abs=0.02)
    assert surprise(found, contests) <= surprise(truth, contests)
    assert (found.candidates, found.questions, found.sampled) == (40, 4000, False)


def test_leaders_that_are_told_too_sure_get_a_temperature_of_their_own() -> None:
    """Truth by two temperatures: one cannot fit both, and two are found."""
    rng = np.random.default_rng(2)
    scores = rng.normal(0, 2, (6000, 300))
    truth = replace(ANY, temperature=1.0, leading=2.0, trailing=0.8)
    true = (np.log(truth.shares(scores)) + rng.gumbel(size=scores.shape)).argmax(axis=1)
    contests = [Contest(scores, true)]
    found = fit_temperature(contests, sampled=False)
    assert found is not None
    assert found.leading > 1.5 * found.trailing
    one = replace(found, leading=found.temperature, trailing=found.temperature)
    assert surprise(found, contests) < surprise(one, contests) < surprise(plain(found), contests)
    assert surprise(found, contests) == pytest.approx(surprise(truth, contests), abs=0.01)


def test_no_choice_nearby_is_likelier() -> None:
    contests = drawn(3, 1.7, questions=1000)
    found = fit_temperature(contests, sampled=False)
    assert found is not None
    least = surprise(found, contests)
    for name in ("leading", "trailing"):
        for factor in (0.95, 1.05):
            other = replace(found, **{name: factor * getattr(found, name)})
            assert surprise(other, contests) > least


def test_logits_in_another_unit_have_a_temperature_in_that_unit() -> None:
    contests = drawn(4, 1.0, questions=1000)
    found = fit_temperature(contests, sampled=False)
    scaled = fit_temperature([Contest(1e6 * part.logits + 7, part.true) for part in contests], sampled=False)
    assert found is not None
    assert scaled is not None
    assert scaled.temperature == pytest.approx(1e6 * found.temperature, rel=1e-3)
    assert scaled.shares(1e6 * contests[0].logits) == pytest.approx(
        found.shares(contests[0].logits), abs=1e-3
    )


def test_who_does_not_compete_has_no_share_and_no_say() -> None:
    contests = drawn(5, 2.0, questions=1000)
    wider = [
        Contest(np.concatenate((part.logits, np.full((len(part.true), 3), -np.inf)), axis=1), part.true)
        for part in contests
    ]
    one, other = fit_temperature(contests, sampled=False), fit_temperature(wider, sampled=False)
    assert one is not None
    assert other is not None
    assert other.temperature == pytest.approx(one.temperature)
    assert other.leading == pytest.approx(one.leading, rel=1e-3)
    assert (other.shares(wider[0].logits)[:, 40:] == 0).all()


@pytest.mark.parametrize("place", ["first", "last"])
def test_the_always_right_are_almost_certain_and_the_always_wrong_tell_nothing(place: str) -> None:
    scores = np.random.default_rng(6).normal(size=(200, 8))
    true = scores.argmax(axis=1) if place == "first" else scores.argmin(axis=1)
    found = fit_temperature([Contest(scores, true)], sampled=True)
    assert found is not None
    shares = found.shares(scores)
    assert np.isfinite(shares).all()
    low, high = (0.95, 0.995) if place == "first" else (1 / 8, 1 / 8 + 0.02)
    assert low <= shares.max(axis=1).mean() <= high
    assert found.sampled


def test_few_questions_make_nobody_certain() -> None:
    """The true one was always level with others who led, so that nothing told the surest choice from it."""
    scores = np.full((120, 40), -0.4)
    scores[:, :10] = 0.0
    found = fit_temperature([Contest(scores, np.arange(120) % 10)], sampled=False)
    assert found is not None
    assert found.shares(scores[0])[:10] == pytest.approx(np.full(10, 0.1), abs=0.002)
    assert found.shares(np.linspace(0.0, -0.1, 40)).max() < 0.25


@pytest.mark.parametrize(
    "scores", [np.zeros((3, 4)), np.full((3, 4), -np.inf), np.full((3, 4), np.inf), np.zeros((0, 4))]
)
def test_nothing_to_learn_from(scores: Floats) -> None:
    assert fit_temperature([Contest(scores, np.zeros(len(scores), dtype=np.int64))], sampled=False) is None
    assert fit_temperature([], sampled=False) is None


@pytest.mark.parametrize(
    "change",
    [{"temperature": 0.0}, {"leading": np.inf}, {"trailing": np.nan}, {"questions": 0}, {"sampled": 1}],
)
def test_what_is_no_temperature_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(InputError):
        replace(ANY, **change)  # type: ignore[arg-type]
