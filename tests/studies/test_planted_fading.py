"""The fading meter names the half-life that was planted, within a factor of two."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("studies", reason="studies/ is not on the path; run as python -m pytest")

from studies.planted_fading import DAY, planted

from keat.analysis.fading_meter import measure_fading
from keat.analysis.fading_questions import attribute_questions
from keat.analysis.fading_verdict import Fading, judge

EVENTS = 8_000  # as in the study; with 5,000 that of 6 h is named more than twice too long


def measured(half_life: float) -> Fading:
    return judge(measure_fading(attribute_questions(planted(half_life, 1, EVENTS).before("test"))))


@pytest.mark.parametrize("days", [0.25, 1.0, 4.0])
def test_evidence_that_fades(days: float) -> None:
    found = measured(days * DAY)
    assert found.verdict == "fades"
    assert 0.5 < found.half_life / (days * DAY) < 2.0
    assert found.low < found.half_life < found.high


def test_evidence_that_lasts() -> None:
    assert measured(math.inf).verdict == "lasts"


def test_no_evidence() -> None:
    assert measured(0.0).verdict == "nothing there"
