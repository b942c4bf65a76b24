"""Cuts in time: no bucket is larger than promised, but for one that holds a single time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keat.events.preparing.time_cuts import TimeSample, cuts, is_one_time

TIMES = st.lists(st.one_of(st.integers(0, 8), st.integers(0, 2**63 - 1)), min_size=1, max_size=60)


@given(pieces=st.lists(TIMES, min_size=1, max_size=6), rows=st.integers(1, 300))
def test_buckets_are_within_their_bound(pieces: list[list[int]], rows: int) -> None:
    sample = TimeSample(rows)
    for piece in pieces:
        sample.add(np.array(piece, dtype=np.int64))
    begins = cuts(sample.all(), sample.samples_a_bucket())
    t = np.concatenate([np.array(piece, dtype=np.int64) for piece in pieces])
    assert (np.diff(begins) > 0).all()
    assert begins[0] == t.min()
    counts = np.bincount(np.searchsorted(begins, t, side="right") - 1, minlength=len(begins))
    most = (sample.samples_a_bucket() + len(pieces)) * sample.every
    for bucket, count in enumerate(counts):
        inside = t[np.searchsorted(begins, t, side="right") - 1 == bucket]
        assert count <= most or len(np.unique(inside)) == 1
        if is_one_time(begins, bucket):
            assert len(np.unique(inside)) <= 1
