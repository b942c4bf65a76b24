"""The error is what its definition says, whichever pieces the forecasts come in, and intervals cover it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from keat.calibration.calibration_error import BINS, Reliability, Sums

Floats = npt.NDArray[np.float64]


def judged(forecasts: Floats, hits: Floats, pieces: int = 1, equal: str = "counts") -> Reliability:
    sums = Sums(len(forecasts))
    for part in np.array_split(np.arange(len(forecasts)), pieces):
        sums.add(forecasts[part], hits[part])
    return sums.reliability("a test", equal=equal)


def one_each(seed: int, number: int, off: float = 0.0) -> tuple[Floats, Floats]:
    """Forecasts, and hits that come true so often, or less by ``off``."""
    rng = np.random.default_rng(seed)
    forecasts = rng.uniform(0.2, 1.0, (number, 1))
    return forecasts, (rng.random((number, 1)) < forecasts - off).astype(np.float64)


def test_it_equals_the_definition_over_sorted_forecasts() -> None:
    forecasts, hits = one_each(1, 30_000, off=0.1)
    groups = np.array_split(np.argsort(forecasts[:, 0]), BINS)
    expected = sum(abs(forecasts[g].sum() - hits[g].sum()) for g in groups) / 30_000
    found = judged(forecasts, hits)
    assert found.ece == pytest.approx(expected, abs=2e-3)
    assert len(found.bins) == BINS
    counts = [b.count for b in found.bins]
    assert sum(counts) == 30_000
    assert max(counts) < 1.5 * min(counts)


@pytest.mark.parametrize("off", [0.0, 0.05, 0.15])
def test_a_known_error_is_found_and_covered(off: float) -> None:
    found = judged(*one_each(2, 40_000, off))
    assert found.ece == pytest.approx(off, abs=0.012)
    assert found.interval[0] <= off <= found.interval[1] + 1e-3
    for b in found.bins:
        assert b.low <= b.observed <= b.high
        assert b.observed == pytest.approx(b.forecast - off, abs=0.05)


def test_pieces_do_not_matter() -> None:
    forecasts, hits = one_each(3, 1_000)
    one, many = judged(forecasts, hits), judged(forecasts, hits, pieces=37)
    assert many.ece == pytest.approx(one.ece)
    assert many.interval == pytest.approx(one.interval)
    assert [b.count for b in many.bins] == [b.count for b in one.bins]


def test_constant_forecasts_have_one_bin() -> None:
    found = judged(np.full((100, 1), 0.7), (np.arange(100) < 40).astype(np.float64)[:, None])
    assert found.ece == pytest.approx(0.3)
    (b,) = found.bins
    assert (b.forecast, b.observed) == pytest.approx((0.7, 0.4))
    assert b.count == 100


def test_all_shares_of_a_question_count_once() -> None:
    """Two candidates with 0.9 and 0.1, of which the second is always true: all of the mass is misplaced."""
    shares = np.tile([0.9, 0.1, 0.0], (50, 1))
    hits = np.tile([0.0, 1.0, 0.0], (50, 1))
    found = judged(shares, hits, equal="forecasts")
    assert found.ece == pytest.approx(1.8)
    assert sum(b.count for b in found.bins) == 100  # who has no share was no candidate


def test_zero_and_one_are_forecasts() -> None:
    forecasts = np.array([[0.0], [1.0], [1.0], [1.0]])
    found = judged(forecasts, np.array([[0.0], [1.0], [1.0], [0.0]]))
    assert found.ece == pytest.approx(0.25)
