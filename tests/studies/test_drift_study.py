"""The worlds of the study of drift are what its page says, and models of both are asked the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("studies", reason="studies/ is not on the path; run as python -m pytest")

from studies.drift import GAPS, LONG, SHORT, _data
from studies.drift_worlds import DAY, SOURCES, WORLDS, Rule, drifting

from conftest import FindFile


def test_what_an_event_still_counts() -> None:
    age = np.array([0.0, 1.0, 3.0]) * DAY
    assert Rule(DAY).counts(age, DAY).tolist() == [1.0, 0.5, 0.125]
    assert Rule(DAY, power=True).counts(age, DAY).tolist() == [1.0, 0.5, 0.25]
    assert Rule(in_gaps=3.0).counts(age, DAY).tolist() == pytest.approx([1.0, 2 ** (-1 / 3), 0.5])
    assert Rule().counts(age, DAY).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("world", WORLDS)
def test_sources_act_as_often_as_they_should_and_answers_follow_the_rule(world: str) -> None:
    for gap in GAPS.values():
        stream, chance = drifting(WORLDS[world], gap, 1)
        assert (stream.t[-1] - stream.t[0]) / (len(stream) / SOURCES) == pytest.approx(gap, rel=0.01)
        assert stream.labels is not None
        assert np.mean(stream.labels) == pytest.approx(np.mean(chance), abs=0.02)
        likely = chance > 0.5
        assert np.mean(stream.labels[likely]) == pytest.approx(np.mean(chance[likely]), abs=0.02)
        assert (stream.features[:, 1] == stream.labels).all()


def test_a_source_that_starts_tosses_a_coin() -> None:
    stream, chance = drifting(WORLDS["lasts"], DAY, 2)
    _, first = np.unique(stream.src, return_index=True)
    assert set(chance[first]) == {0.5}


def test_events_that_are_left_out_change_what_is_known_and_not_what_is_asked(shared_file: FindFile) -> None:
    folder: Path = shared_file("ml_100k.parquet").parent
    full, thin = (_data("ml_100k", gaps, 1, folder).stream for gaps in (SHORT, LONG))
    assert full.labels is not None
    assert thin.labels is not None
    asked = np.flatnonzero(full.labels >= 0)
    assert len(thin) == len(asked)
    assert 0.24 < len(thin) / len(full) < 0.26
    for column in ("src", "dst", "t", "labels", "features"):
        assert (getattr(full, column)[asked] == getattr(thin, column)).all(), column
