"""Pictures of the theory, on paper and of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from drawn import assert_drawn
from keat.analysis.gaps import gaps_of
from keat.explain.run_measures import measure_run
from keat.report.figures.theory import draw_logit_variance, draw_moments
from keat.runs.run_subject import subject_of
from trained_runs import payments, small, trained


def test_pictures_of_the_theory(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    train = payments().train
    draw_moments(tmp_path / "m.png", {"payments": (gaps_of(train), 86_400.0)})
    assert_drawn(tmp_path / "m.png")
    draw_logit_variance(
        tmp_path / "v.png", {"run": measure_run(subject_of(trained(small())), payments()).variance}
    )
    assert_drawn(tmp_path / "v.png")
