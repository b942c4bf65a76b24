"""What the fading meter may know when it asks, and what it makes of a curve."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import keat
from keat.analysis.fading_meter import FadingCurve, half_lives_of
from keat.analysis.fading_questions import attribute_questions, link_questions
from keat.analysis.fading_verdict import judge
from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.events import EventStream
from keat.tasks.attribute_source import with_attribute

ROWS = 1_000


def late_flights(known_after: tuple[str, ...] = ()) -> Dataset:
    draw = np.random.default_rng(1)
    frame = pa.table(
        {
            "src": draw.integers(0, 5, ROWS),
            "dst": draw.integers(5, 9, ROWS),
            "t": 10 * np.arange(ROWS),
            "late": draw.integers(0, 2, ROWS),
        }
    )
    return with_attribute(keat.load(frame, features=["late"], unit="s"), "late", known_after)


def test_evidence_is_of_the_strict_past() -> None:
    data = late_flights()
    asked = attribute_questions(data.stream)
    labels = data.stream.labels
    assert labels is not None
    means = asked.faded(math.inf, "source")
    row = int(np.searchsorted(data.stream.t, asked.t[-1]))
    before = labels[:row][data.stream.src[:row] == data.stream.src[row]]
    first = labels[data.stream.t < asked.t[0]].mean()  # one more witness
    assert means[-1, 0] == pytest.approx((before.sum() + first) / (len(before) + 1))
    assert means[-1, 1] == pytest.approx(np.log1p(len(before)))


def test_what_is_known_late_counts_late() -> None:
    """A delay that is known after 95 s is that of an event of at least ten rows before."""
    asked = attribute_questions(late_flights(("late=95",)).stream)
    assert asked.pasts["source"].age.min() >= 0
    fresh = attribute_questions(late_flights().stream)
    known, all_there_is = (np.expm1(each.faded(math.inf, "source")[:, -1]) for each in (asked, fresh))
    assert (known <= all_there_is + 1e-9).all()
    assert (all_there_is - known).mean() == pytest.approx(9 / 5, rel=0.1)  # of 9 rows, those of its source


def test_a_changed_future_changes_no_question() -> None:
    data = late_flights()
    stream = data.stream
    changed = np.array(stream.features)
    changed[800:, -1] = 1 - changed[800:, -1]
    other = attribute_questions(replace(stream, features=changed))
    asked = attribute_questions(stream)
    early = asked.t <= stream.t[800]
    for of in asked.pasts:
        np.testing.assert_array_equal(asked.faded(500.0, of)[early], other.faded(500.0, of)[early])


def test_links_are_asked_beside_another_destination() -> None:
    draw = np.random.default_rng(2)
    src, dst = draw.integers(0, 20, 2_000), draw.integers(20, 50, 2_000)
    asked = link_questions(EventStream.from_arrays(src, dst, np.arange(2_000)))
    assert asked.truth.mean() == 0.5
    np.testing.assert_array_equal(asked.t[::2], asked.t[1::2])
    assert asked.without_features().shape == (len(asked.t), 1)
    assert asked.faded(100.0, "pair").shape == (len(asked.t), 1)  # how much there is, and no features
    half_lives = half_lives_of(asked)
    np.testing.assert_allclose(half_lives[:-1] / half_lives[1:], 2.0)


def curve(best: int, gain: float, past: float = 0.2) -> FadingCurve:
    """Twelve blocks that differ, and a loss that is lowest at one half-life."""
    half_lives = np.array([1_000.0 / 2.0**halved for halved in range(8)])
    shape = -((np.arange(8) - best) ** 2) / 100.0
    auc = np.concatenate(([0.5], [0.5 + past], 0.5 + past + gain + shape))
    blocks = np.random.default_rng(0).normal(scale=0.02, size=12)
    own = np.random.default_rng(1).normal(scale=0.001, size=(10, 12))
    return FadingCurve(half_lives, auc[:, None] + blocks + own, 1 - auc[:, None] + blocks, 10_000, 0.5)


def test_verdicts() -> None:
    fades = judge(curve(best=3, gain=0.05))
    assert fades.verdict == "fades"
    assert fades.half_life == pytest.approx(125.0)
    assert fades.width == pytest.approx(125.0 / math.log(2))
    assert fades.low <= 125.0 <= fades.high
    lasts = judge(curve(best=0, gain=-0.01))
    assert (lasts.verdict, lasts.at_an_end, lasts.width) == ("lasts", True, math.inf)
    assert judge(curve(best=3, gain=0.0, past=0.0)).verdict == "nothing there"


def test_too_few_events_are_refused() -> None:
    with pytest.raises(InputError, match="fading is measured from"):
        attribute_questions(late_flights().stream[:300])
