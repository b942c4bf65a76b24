"""Counts and fading sums against their definition, and what a kept state is refused for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from conftest import MakeStream
from keat.clock import Clock
from keat.errors import InputError
from keat.state import CountTables, FadingCounts, left_over

NODES, WIDTH = 20, 12.5


@pytest.mark.parametrize("clock", [Clock(), Clock(3, 7)])
@pytest.mark.parametrize("width", [WIDTH, math.inf])
def test_everything_is_its_definition(width: float, clock: Clock, random_stream: MakeStream) -> None:
    stream = random_stream(2, times=60)
    counts = FadingCounts(1, width, clock)  # room is made as nodes come
    for part in stream.blocks(37):
        counts.observe(part)
    tables: CountTables = counts.tables
    ages = (stream.t[-1] - stream.t) * clock.multiply / clock.divide
    weights = np.exp(-ages / width)
    assert tables.total[0] == pytest.approx(weights.sum())
    times = np.unique(stream.t)
    nodes = np.arange(NODES, dtype=np.int32)
    rows = counts.rows(nodes, nodes)
    for u in range(NODES):
        for v in range(NODES):
            met = (stream.src == u) & (stream.dst == v)
            row = rows[u, v]
            assert (row >= 0) == met.any()
            assert counts.of_pairs(rows, 0)[u, v] == met.sum()
            if row >= 0:
                last = stream.t[met].max()
                assert counts.of_pairs(rows, 1)[u, v] == last
                assert counts.of_pairs(rows, 2)[u, v] == 1 + np.searchsorted(times, last)
                faded = tables.pair_sums[row] * left_over(tables, last, stream.t[-1])
                assert faded == pytest.approx(weights[met].sum())
        for role, own, other in ((0, stream.src, stream.dst), (1, stream.dst, stream.src)):
            had = own == u
            assert counts.of_nodes(nodes, role, 0)[u] == had.sum()
            assert counts.of_nodes(nodes, role, 3)[u] == len(np.unique(other[had]))
            if had.any():
                faded = tables.node_sums[u, role] * left_over(tables, stream.t[had].max(), stream.t[-1])
                assert faded == pytest.approx(weights[had].sum())
    assert counts.of_nodes(np.array([5000]), 0, 0).tolist() == [0]
    assert counts.sources().tolist() == np.unique(stream.src).tolist()
    assert counts.destinations().tolist() == np.unique(stream.dst).tolist()
    assert (len(counts), counts.last_time()) == (len(stream), stream.t[-1])


BROKEN = {
    "the same pair is there twice": lambda state: state["ends"].copy_(
        state["ends"][:1].expand_as(state["ends"])
    ),
    "speaks of other than": lambda state: state["clock"].fill_(1),
    "holds a count below 0": lambda state: state["pair_counts"].fill_(-1),
    "holds a sum below 0": lambda state: state["node_sums"].fill_(-0.5),
    "not finite": lambda state: state["pair_sums"].fill_(math.nan),
    "must stay below": lambda state: state["ends"].fill_(9_999),
}


@pytest.mark.parametrize("sentence", BROKEN)
def test_a_state_that_cannot_be_is_refused(sentence: str, random_stream: MakeStream) -> None:
    counts = FadingCounts(NODES)
    counts.observe(random_stream(3))
    state = counts.save()
    BROKEN[sentence](state)
    with pytest.raises(InputError, match=sentence):
        counts.load(state)
