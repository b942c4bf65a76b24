"""Gaps between events of a node, and how far two splits are apart."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import MakeStream
from keat.analysis import gaps
from keat.analysis.gaps import FIRST, comparable_gaps, gap_summaries, gaps_of, ks_distance, looking_back
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


def test_an_event_looks_back_over_the_whole_stream(random_stream: MakeStream) -> None:
    stream = random_stream(1, events=500)
    parts = split(stream)
    last: dict[int, int] = {}
    expected = []
    for u, v, t in zip(stream.src.tolist(), stream.dst.tolist(), stream.t.tolist(), strict=True):
        for node in (u, v):
            expected.append(t - last[node] if node in last else FIRST)
            last[node] = t
    found = looking_back(parts)
    assert [len(found[name]) for name in parts._fields] == [2 * size for size in parts.sizes.values()]
    assert np.concatenate(list(found.values())).tolist() == expected


def test_summaries_of_each_split(random_stream: MakeStream) -> None:
    parts = split(random_stream(1, events=500))
    summaries = gap_summaries(parts)
    for name, values in looking_back(parts).items():
        summary, gaps = summaries[name], values[values != FIRST]
        assert summary is not None
        assert summary.count == len(gaps)
        assert summary.median == np.median(gaps)
        assert summary.p10 <= summary.median <= summary.p90
    assert summaries["train"] is not None
    assert summaries["train"].drift == 0


def poisson(seed: int, slower: float = 1.0, since: float = 0.7) -> EventStream:
    """2,000 sources with log-normal rates; from a share of the events on, time runs ``slower``."""
    rng = np.random.default_rng(seed)
    rates = rng.lognormal(0, 1.5, 2_000)
    events = 12_000
    src = rng.choice(2_000, events, p=rates / rates.sum())
    t = np.sort(rng.integers(0, 10_000_000, events)).astype(np.int64)
    turn = t[int(since * events)]
    t = np.where(t > turn, turn + (slower * (t - turn)).astype(np.int64), t)
    return EventStream.from_arrays(src, 2_000 + rng.integers(0, 2_000, events), t)


def drifts(stream: EventStream) -> dict[str, float]:
    return {name: found.drift for name, found in gap_summaries(split(stream)).items() if found is not None}


@pytest.mark.parametrize("seed", range(3))
def test_constant_rates_do_not_drift(seed: int) -> None:
    """Inside a split of 15 % long gaps do not fit: taken there alone, these would be far apart."""
    stream = poisson(seed)
    found = drifts(stream)
    assert found["train"] == 0
    assert max(found["val"], found["test"]) < 0.05
    parts = split(stream)
    assert ks_distance(*(np.sort(gaps_of(part)) for part in (parts.train, parts.val))) > 0.2


def test_rates_that_change_do() -> None:
    found = drifts(poisson(0, slower=4.0))
    assert min(found["val"], found["test"]) > 0.2
    late = drifts(poisson(0, slower=4.0, since=0.85))
    assert late["val"] < 0.05 < 0.2 < late["test"]


def test_every_compared_event_has_the_horizon_behind_it() -> None:
    parts = split(poisson(1))
    compared = comparable_gaps(parts)
    half = len(parts.train) // 2
    assert compared.horizon == parts.train.t[half] - parts.train.t[0]
    assert len(compared.gaps["train"]) == pytest.approx(len(parts.train), abs=4)  # two values an event
    assert all(values[-1] == compared.horizon + 1 for values in compared.gaps.values())  # first events


def test_where_no_node_returns_there_is_nothing_to_summarize() -> None:
    stream = EventStream.from_arrays(np.arange(40), np.arange(40, 80), np.arange(40))
    assert gap_summaries(split(stream)) == {"train": None, "val": None, "test": None}


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_blocks_do_not_matter(block: int, random_stream: MakeStream, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = split(random_stream(seed=1, events=300))
    wanted, summaries = looking_back(parts), gap_summaries(parts)
    monkeypatch.setattr(gaps, "BLOCK", block)
    found = looking_back(parts)
    for name in wanted:
        np.testing.assert_array_equal(found[name], wanted[name])
    assert gap_summaries(parts) == summaries
