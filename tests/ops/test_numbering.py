"""Distinct nodes and their last events, against torch's own."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from keat.ops import Numbering

IDS = st.lists(st.integers(0, 30), max_size=60)


@given(st.lists(IDS, min_size=1, max_size=4))
def test_distinct_ids_in_order_of_appearance(calls: list[list[int]]) -> None:
    numbering = Numbering()  # one for all calls: nothing may stay behind
    for ids in calls:
        table, where = numbering.distinct(torch.tensor(ids, dtype=torch.int64))
        assert table.tolist() == list(dict.fromkeys(ids))
        assert table[where].tolist() == ids


def test_last_event_of_each_end() -> None:
    rng = np.random.default_rng(0)
    src, dst = (torch.from_numpy(rng.integers(0, 9, 50)) for _ in range(2))
    nodes, last = Numbering().last_events(src, dst, torch.arange(100, 150))
    expected: dict[int, int] = {}
    for i, ends in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        expected |= dict.fromkeys(ends, 100 + i)
    assert dict(zip(nodes.tolist(), last.tolist(), strict=True)) == expected
