"""The hash table of pairs finds every pair, at every moment of its doubling, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keat.cooccurrence import pair_index
from keat.cooccurrence.pair_index import (
    BITS,
    BORDER,
    empty_index,
    go_on_doubling,
    has_slots,
    index_of,
    put,
    row_at,
    slot_of,
    with_slots,
)
from keat.ops import compiled

Array = npt.NDArray[Any]
RECORD = np.dtype([("key", np.int64)])


@compiled
def add(index: Array, layout: Array, pairs: Array, first: int, last: int) -> int:
    """As observing does; returns the first pair for which there was no slot."""
    for row in range(first, last):
        go_on_doubling(index, layout, row)
        if not has_slots(index, layout, row):
            return row
        key = pairs[row].key
        put(index, slot_of(index, layout, pairs, key), key, row)
    return last


@compiled
def find(index: Array, layout: Array, pairs: Array, keys: Array) -> Array:
    rows = np.empty(len(keys), dtype=np.int64)
    for i in range(len(keys)):
        rows[i] = row_at(index, slot_of(index, layout, pairs, keys[i]))
    return rows


def records(keys: Array) -> Array:
    pairs = np.zeros(len(keys), RECORD)
    pairs["key"] = keys
    return pairs


def keys_of(hashes: Array) -> Array:
    """The pairs with these hashes: every step of the hash can be taken back."""
    back = [np.uint64(pow(int(factor), -1, 1 << 64)) for factor in pair_index._MULTIPLIERS]
    mixed = hashes.astype(np.uint64) * back[1]
    keys: Array = ((mixed ^ (mixed >> np.uint64(32))) * back[0]).astype(np.int64)
    return keys


def check_growth(keys: Array, at: list[int]) -> tuple[Array, Array]:
    """Add pair after pair; ``at`` some numbers of them look for those that are there and those to come."""
    pairs, done = records(keys), 0
    index, layout = empty_index()
    for end in [*sorted(at), len(keys)]:
        while done < end:
            done = add(index, layout, pairs, done, end)
            if done < end:
                index, layout = with_slots(index, layout, pairs, done)
        found = find(index, layout, pairs, keys)
        assert (found[:done] == np.arange(done)).all()
        assert (found[done:] == -1).all()
        assert np.count_nonzero(index) == done
    return index, layout


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), number=st.integers(0, 5000), at=st.lists(st.integers(0, 5000), max_size=8))
def test_every_pair_is_found_at_every_moment(seed: int, number: int, at: list[int]) -> None:
    rng = np.random.default_rng(seed)
    keys = np.unique(rng.integers(0, 1 << 62, number) if seed % 2 else np.arange(number) * 3 + (seed << 32))
    rng.shuffle(keys)
    check_growth(keys, [min(moment, len(keys)) for moment in at])


def test_around_every_boundary_of_the_first_doublings() -> None:
    keys = np.random.default_rng(0).permutation(np.arange(1200, dtype=np.int64) << 7)
    _, layout = check_growth(keys, [*range(505, 600), *range(1020, 1110)])
    assert layout.tolist() == [12, 1 << 12]


def test_a_doubling_is_over_before_the_next() -> None:
    keys = np.arange(40_000, dtype=np.int64)
    pairs, done, doublings = records(keys), 0, 0
    index, layout = empty_index()
    while done < len(keys):
        done = add(index, layout, pairs, done, len(keys))
        if done < len(keys):
            assert layout[BORDER] == 1 << layout[BITS]
            index, layout = with_slots(index, layout, pairs, done)
            doublings += 1
    assert doublings == 7
    assert len(index) == (1 << 17) + pair_index.BEHIND


def test_a_table_made_at_once_has_as_many_slots_as_one_that_grew() -> None:
    keys = np.random.default_rng(1).integers(0, 1 << 62, 3000)
    grew, layout = check_growth(keys, [])
    at_once, its_layout = index_of(records(keys), len(keys))
    assert layout.tolist() == its_layout.tolist()
    assert len(grew) == len(at_once)
    assert (find(at_once, its_layout, records(keys), keys) == np.arange(3000)).all()


@pytest.mark.parametrize("place", [0, 1 << 40, (1 << 64) - 3000])
def test_pairs_of_one_slot_are_slow_and_found(place: int) -> None:
    """As if somebody chose ids to that end: all belong to the first slot, to one amid, or to the last, behind
    which there is not room for all."""
    hashes = np.uint64(place) + np.arange(2000, dtype=np.uint64)
    keys = keys_of(hashes)
    assert len(np.unique(keys)) == 2000
    index, _ = check_growth(keys, [600, 1030, 1500])
    behind = len(index) - (1 << 12)
    assert behind > 1900 if place > 1 << 40 else behind == pair_index.BEHIND


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), crowds=st.lists(st.integers(0, 63), min_size=1, max_size=5))
def test_crowds_are_found_at_every_moment(seed: int, crowds: list[int]) -> None:
    """Clusters of pairs around a few slots, across which the border has to go."""
    rng = np.random.default_rng(seed)
    centres = np.array(crowds, dtype=np.uint64) << np.uint64(58)
    hashes = rng.choice(centres, 1500) + rng.integers(0, 1 << 56, 1500).astype(np.uint64)
    keys = keys_of(np.unique(hashes))
    rng.shuffle(keys)
    check_growth(keys, [*range(500, 560), 700, 1040, 1100])
