"""Drift is told when there is some, and not when there is none."""

from __future__ import annotations

import numpy as np

from keat.serve.live_drift import Drift, DriftMeasure, stability_index

DAY = 86_400


def fed(drift: Drift, begin: int, shift: float, slow: int, seed: int, row: int = 50) -> None:
    """Two days of events of 20 sources."""
    draw = np.random.default_rng(seed)
    t = np.sort(draw.integers(begin, begin + 2 * DAY, 4_000 // slow)).astype(np.int64)
    for start in range(0, len(t), row):
        some = t[start : start + row]
        src = draw.integers(0, 20, len(some)).astype(np.int32)
        logits = (draw.normal(size=len(some)) + shift).astype(np.float32)
        drift.take(src, some, int(some[-1]), logits)
        drift.take_loss(int(some[-1]), np.logaddexp(0, -logits.astype(np.float64)))


def measured(drift: Drift) -> dict[str, DriftMeasure]:
    return {one.name: one for one in drift.report(7).measures}


def test_nothing_is_said_before_enough_is_known() -> None:
    drift = Drift("s")
    assert {one.level for one in drift.report(0).measures} == {"unknown"}
    drift.take(np.array([0], np.int32), np.array([5]), 5, np.array([0.5], np.float32))
    report = drift.report(1)
    assert not report.drifts
    assert all("too few events" in one.sentence for one in report.measures)


def test_a_stream_that_stays_the_same() -> None:
    drift = Drift("s")
    fed(drift, 0, 0.0, 1, 1)
    fed(drift, 2 * DAY, 0.0, 1, 2)
    report = drift.report(1)
    assert not report.drifts
    for one in report.measures:
        assert one.level == "none"
        assert one.index is not None
        assert one.index < 0.05
        assert abs(sum(one.usual) - 1) < 1e-9
        assert abs(sum(one.latest) - 1) < 1e-9
        assert len(one.usual) == len(one.edges) + 1


def test_scores_and_loss_that_move() -> None:
    drift = Drift("s")
    fed(drift, 0, 0.0, 1, 1)
    fed(drift, 2 * DAY, -1.0, 1, 2)
    found = measured(drift)
    assert found["gaps"].level == "none"
    for name in ("scores", "loss"):
        assert found[name].level == "large"
        assert "a new model may be due" in found[name].sentence
    assert found["loss"].latest_mean > found["loss"].usual_mean  # type: ignore[operator]


def test_gaps_that_grow() -> None:
    drift = Drift("s")
    fed(drift, 0, 0.0, 1, 1)
    fed(drift, 2 * DAY, 0.0, 3, 2)
    fed(drift, 4 * DAY, 0.0, 3, 3)
    found = measured(drift)
    assert found["gaps"].level in ("some", "large")
    assert "min instead of" in found["gaps"].sentence
    assert found["scores"].level == "none"


def test_it_goes_on_from_what_was_kept() -> None:
    one, other = Drift("s"), Drift("s")
    for drift in (one, other):
        fed(drift, 0, 0.0, 1, 1)
    again = Drift("s", other.kept())
    again.last_seen = other.last_seen
    for drift in (one, again):
        fed(drift, 2 * DAY, 0.5, 1, 2)
    assert one.report(1) == again.report(1)


def test_a_model_that_is_exchanged_begins_anew() -> None:
    drift = Drift("s")
    fed(drift, 0, 0.0, 1, 1)
    drift.forget_scores()
    found = measured(drift)
    assert found["scores"].level == found["loss"].level == "unknown"
    assert found["gaps"].usual_events > 0


def test_one_row_or_many_count_the_same() -> None:
    one, other = Drift("s"), Drift("s")
    fed(one, 0, 0.0, 1, 1, row=10_000)
    fed(other, 0, 0.0, 1, 1, row=10_000)
    assert one.report(0) == other.report(0)
    short, long = Drift("s"), Drift("s")
    t, src = np.arange(300, dtype=np.int64), np.arange(300, dtype=np.int32) % 7
    logits = np.linspace(-3, 3, 300).astype(np.float32)
    long.take(src, t, 299, logits)
    for at in range(300):
        short.take(src[at : at + 1], t[at : at + 1], at, logits[at : at + 1])
    for a, b in zip(short.report(0).measures, long.report(0).measures, strict=True):
        assert a.usual == b.usual


def test_the_index() -> None:
    even = np.full(10, 1_000.0)
    assert stability_index(even, even) == 0
    half = even.copy()
    half[:5] = 500
    p, q = 0.1, 0.1 * np.array([0.5] * 5 + [1.0] * 5) / 0.75
    assert abs(stability_index(even, half) - ((q - p) * np.log(q / p)).sum()) < 0.01
