"""The paper's pictures of blurring."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from drawn import assert_drawn
from keat.analysis.what_if import Sweep, attention_over_age, past_of
from keat.report.figures.attention_heatmaps import draw_heatmaps, draw_neighbor_curves
from trained_runs import payments, small, untrained

AGES = [0, 60, 3_600, 86_400, 864_000]


def test_pictures_of_blur(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    model = untrained(small())
    past = past_of(model, torch.tensor([3]), torch.tensor([int(payments().test.t[0])]))
    plain, modulated = (attention_over_age(model, past, AGES, kernel=kernel) for kernel in (False, True))
    assert (plain == plain[:, :1]).all()  # the published figure's flat panel: nothing there could move
    np.testing.assert_allclose(modulated.sum(axis=0), 1, atol=1e-5)
    np.testing.assert_allclose(modulated[:, 0], plain[:, 0], atol=1e-6)  # ψ(0) = 1
    shorter = Sweep("another", plain[:2], modulated[:2])
    sweeps = [Sweep("source 3", plain, modulated), shorter]
    draw_heatmaps(sweeps, AGES, "s", tmp_path / "h.png")
    assert_drawn(tmp_path / "h.png")
    draw_neighbor_curves(sweeps, AGES, "s", tmp_path / "n.png")
    assert_drawn(tmp_path / "n.png")
