"""The picture of reliability: a dot for each bin, a bar where it is calibrated, and the numbers beside it."""

from __future__ import annotations

import numpy as np

from keat.calibration.calibration_error import Reliability, Sums
from keat.calibration.collectors import Judgement
from keat.calibration.probability import Platt
from keat.calibration.temperature import Temperature
from keat.report.sections.reliability_section import reliability_section


def found(of: str, off: float) -> Reliability:
    rng, sums = np.random.default_rng(1), Sums(2_000)
    said = rng.random((2_000, 1))
    sums.add(said, (rng.random((2_000, 1)) < said - off).astype(np.float64))
    return sums.reliability(of, equal="counts")


def test_a_picture_for_each_forecast_and_the_numbers() -> None:
    made = Temperature(1.2, 1.3, 1.1, candidates=1_862, sampled=False, questions=4_000)
    before, after = (found("the best candidate", off) for off in (0.3, 0.0))
    section = reliability_section(Judgement(made, (before, before), (after, after)))
    assert section is not None
    assert section.body.count('<svg viewBox="0 0 320') == 2
    assert section.body.count("<circle") == 2 * (len(before.bins) + len(after.bins))
    assert f"ECE {after.ece:.3f}" in section.body
    assert "among the 1,862 candidates" in section.hint
    errors, bins = section.tables
    assert list(errors.rows[0][1:3]) == [f"{before.ece:.4f}", f"{after.ece:.4f}"]
    assert len(bins.rows) == len(after.bins)
    assert "<table" in section.html()


def test_sampled_candidates_are_said() -> None:
    made = Temperature(1.0, 1.0, 1.0, candidates=101, sampled=True, questions=10)
    section = reliability_section(Judgement(made, (found("a", 0.1),), (found("a", 0.0),)))
    assert section is not None
    assert "101 sampled candidates" in section.hint


def test_probabilities_have_one_picture_and_no_calibration_none() -> None:
    probability = found("the probability", 0.0)
    section = reliability_section(Judgement(Platt(1.0, 0.0), (probability,), (probability,)))
    assert section is not None
    assert section.body.count("<figure>") == 1
    assert reliability_section(None) is None
