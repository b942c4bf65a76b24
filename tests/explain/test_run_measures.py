"""Numbers of whole runs, and the pictures of theory and blur."""

from __future__ import annotations

import json

import pytest

from keat.explain.run_measures import measure_run
from keat.runs.run_subject import subject_of
from trained_runs import payments, small, trained


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
