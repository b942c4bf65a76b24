"""Explanations as pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from drawn import assert_drawn
from keat.explain import explain_pair
from keat.report.explained.explained_picture import write_picture
from trained_runs import payments, small, untrained


def test_a_picture_of_an_explanation(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    event = payments().test
    model = untrained(small())
    write_picture(
        explain_pair(model, int(event.src[0]), int(event.dst[0]), int(event.t[0]), older=10),
        tmp_path / "x.png",
    )
    assert_drawn(tmp_path / "x.png")
    model.state._recent.clear()
    write_picture(explain_pair(model, 1, 2, 10**9, older=10), tmp_path / "nothing.png")
    assert_drawn(tmp_path / "nothing.png")
