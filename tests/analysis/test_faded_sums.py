"""Faded sums are those of a plain loop over the strictly earlier rows of the same key."""

from __future__ import annotations

import numpy as np
import pytest

from keat.analysis.faded_sums import Floats, PastOfKeys, Whole


def plainly(
    key: Whole, t: Whole, asked_key: Whole, asked_t: Whole, values: Floats, half_life: float
) -> Floats:
    found = np.zeros((len(asked_key), values.shape[1]))
    for row, (of, now) in enumerate(zip(asked_key, asked_t, strict=True)):
        for other in range(len(key)):
            if key[other] == of and t[other] < now:
                found[row] += values[other] * 2.0 ** (-(now - t[other]) / half_life)
    return found


@pytest.mark.parametrize("half_life", [0.5, 7.0, 1e4, np.inf])
@pytest.mark.parametrize("keys", [1, 5, 40])
def test_sums_are_those_of_a_loop(keys: int, half_life: float) -> None:
    """Rows in any order, many at one time, questions about keys that have no row."""
    draw = np.random.default_rng(keys)
    key, t = draw.integers(0, keys, 90), draw.integers(0, 30, 90) + 10**9
    asked_key, asked_t = draw.integers(0, keys + 3, 60), draw.integers(-5, 40, 60) + 10**9
    values = draw.normal(size=(90, 3))
    found = PastOfKeys(key, t, asked_key, asked_t).sums(values, half_life)
    np.testing.assert_allclose(
        found, plainly(key, t, asked_key, asked_t, values, half_life), rtol=1e-10, atol=1e-12
    )


def test_nothing_was_before_the_first() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    asked = np.array([3, 4])
    past = PastOfKeys(nothing, nothing, asked, asked)
    assert not past.has.any()
    np.testing.assert_array_equal(past.sums(np.zeros((0, 2)), 5.0), np.zeros((2, 2)))


def test_what_comes_later_changes_nothing() -> None:
    draw = np.random.default_rng(0)
    key, t = draw.integers(0, 4, 200), np.sort(draw.integers(0, 100, 200))
    early = t < 50
    asked_key, asked_t = np.arange(4), np.full(4, 50)
    values = draw.normal(size=(200, 1))
    whole = PastOfKeys(key, t, asked_key, asked_t).sums(values, 9.0)
    half = PastOfKeys(key[early], t[early], asked_key, asked_t).sums(values[early], 9.0)
    np.testing.assert_array_equal(whole, half)
