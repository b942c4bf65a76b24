"""Where each question has one candidate, only paths to it are followed: the same to the bit."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from keat.cooccurrence import KernelCooccurrence
from keat.cooccurrence.one_candidate import read_one_each

NODES, EVENTS = 14, 400


def drawn(seed: int) -> tuple[KernelCooccurrence, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return KernelCooccurrence(NODES, 20.0, [2.0, 20.0, 300.0], ring=5, fanout=4, edition=1 + seed % 3), rng


def pairs(rng: np.random.Generator, number: int, begin: int, *, bipartite: bool) -> tuple[np.ndarray, ...]:
    """Few nodes and few times; some nodes are new."""
    half = NODES // 2 if bipartite else 0
    src = rng.integers(0, half or NODES, number).astype(np.int32)
    dst = rng.integers(half, NODES + 3, number).astype(np.int32)
    return src, dst, begin + np.sort(rng.integers(0, number // 3 + 1, number))


@pytest.mark.parametrize("bipartite", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_numbers_are_the_same_to_the_bit(seed: int, bipartite: bool) -> None:
    past, rng = drawn(seed)
    past.observe(*pairs(rng, EVENTS, 0, bipartite=bipartite))
    src, dst, t = pairs(rng, 200, EVENTS, bipartite=bipartite)
    for observed in (0, 120, 200):
        one, other = copy.deepcopy(past), copy.deepcopy(past)
        found = read_one_each(one, src, dst, t, observed)
        happened = src[:observed], dst[:observed], t[:observed]
        wanted, done = other.read_in_turn(src, t, dst[:, None], *happened)
        other.observe(*(column[done:] for column in happened))
        np.testing.assert_array_equal(found.source, wanted.source.numpy())
        np.testing.assert_array_equal(found.pair, wanted.pair.numpy()[:, 0])
        assert np.count_nonzero(found.pair) > 1_000
        for name, value in one.state().items():
            np.testing.assert_array_equal(value.numpy(), other.state()[name].numpy(), err_msg=name)
