"""Gaps between events of a node, and how far two splits are apart."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import MakeStream
from keat.analysis.gaps import gap_summaries, gaps_of, ks_distance
from keat.events import EventStream
from keat.events.splitting import split


def test_gaps_equal_a_plain_loop(random_stream: MakeStream) -> None:
    stream = random_stream(0)
    last: dict[int, int] = {}
    expected = []
    for u, v, t in zip(stream.src.tolist(), stream.dst.tolist(), stream.t.tolist(), strict=True):
        for node in (u, v):
            if node in last:
                expected.append(t - last[node])
            last[node] = t
    assert sorted(gaps_of(stream).tolist()) == sorted(expected)


@pytest.mark.parametrize("seed", range(5))
def test_distance_equals_scipys(seed: int) -> None:
    ks_2samp = pytest.importorskip("scipy.stats").ks_2samp
    rng = np.random.default_rng(seed)
    a, b = np.sort(rng.integers(0, 30, 200)), np.sort(rng.integers(5, 45, 77))
    assert ks_distance(a, b) == pytest.approx(ks_2samp(a, b).statistic)
    assert ks_distance(a, a) == 0
    assert ks_distance(a, a + 1000) == 1


def test_summaries_of_each_split(random_stream: MakeStream) -> None:
    parts = split(random_stream(1, events=500))
    summaries = gap_summaries(parts)
    for name, part in parts._asdict().items():
        summary, gaps = summaries[name], gaps_of(part)
        assert summary is not None
        assert summary.count == len(gaps)
        assert summary.median == np.median(gaps)
        assert summary.p10 <= summary.median <= summary.p90
    assert summaries["train"] is not None
    assert summaries["train"].drift == 0


def test_where_no_node_returns_there_is_nothing_to_summarize() -> None:
    stream = EventStream.from_arrays(np.arange(40), np.arange(40, 80), np.arange(40))
    assert gap_summaries(split(stream)) == {"train": None, "val": None, "test": None}
