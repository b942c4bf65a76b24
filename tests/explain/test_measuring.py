"""Numbers of whole runs, and the pictures of theory and blur."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from keat.analysis.gaps import gaps_of
from keat.analysis.what_if import past_of
from keat.explain import explain_pair
from keat.explain.blur_figures import Sweep, attention_over_age, draw_heatmaps, draw_neighbor_curves
from keat.explain.measuring import measure_run
from keat.explain.picture import write_picture
from keat.explain.theory_figures import draw_logit_variance, draw_moments
from keat.runs.run_subject import subject_of
from trained_runs import payments, small, trained, untrained

AGES = [0, 60, 3_600, 86_400, 864_000]


def assert_drawn(path: Path) -> None:
    """A picture with something on it, and no figure left open."""
    plt = pytest.importorskip("matplotlib.pyplot")
    image = plt.imread(path)
    assert (image[..., :3] < 0.9).any(axis=2).mean() > 0.01
    assert plt.get_fignums() == []


def test_a_run_with_a_kernel_and_one_without() -> None:
    keat, plain = (
        measure_run(subject_of(trained(small(kernel=kernel))), payments())
        for kernel in ("laplacian", "identity")
    )
    assert plain.blur == plain.blur_without_kernel
    assert plain.blur.kernel_response == 0 < keat.blur.kernel_response
    assert plain.variance.ratio == pytest.approx(1.0)
    moments = keat.variance.moments
    assert keat.variance.plain == pytest.approx(moments.plain(), rel=1e-6)  # X + Y needs no assumption
    assert 0 < moments.mean_psi < 1
    assert keat.variance.neighbors > 100
    told = json.loads(json.dumps(keat.to_json()))
    assert told["variance"]["closed_form"]["plain"] == pytest.approx(keat.variance.plain)
    assert told["blur"]["meter"] == keat.blur.meter
    assert keat.faithfulness > 0


def test_it_is_the_same_every_time() -> None:
    folder = trained(small())
    assert measure_run(subject_of(folder), payments()) == measure_run(subject_of(folder), payments())


def test_pictures_of_the_theory(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    train = payments().train
    draw_moments(tmp_path / "m.png", {"payments": (gaps_of(train), 86_400.0)})
    assert_drawn(tmp_path / "m.png")
    draw_logit_variance(
        tmp_path / "v.png", {"run": measure_run(subject_of(trained(small())), payments()).variance}
    )
    assert_drawn(tmp_path / "v.png")


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
