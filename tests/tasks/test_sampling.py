import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from keat.tasks.sampling import sample_distinct


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_distinct_allowed_and_complete(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    limit = rng.integers(1, 60, rows)
    banned = rng.random((rows, 60)) < rng.random((rows, 1))
    banned &= np.arange(60) < limit[:, None]
    free = limit - banned.sum(axis=1)
    need = np.array([rng.integers(0, f + 1) for f in free])
    drawn = sample_distinct(rng, limit, need, *np.nonzero(banned))
    assert drawn.shape == (rows, need.max())
    for i in range(rows):
        own = drawn[i, : need[i]]
        assert len(set(own.tolist())) == need[i]
        assert np.all((own >= 0) & (own < limit[i]))
        assert not banned[i, own].any()
        assert np.all(drawn[i, need[i] :] == -1)


def test_every_allowed_value_is_equally_likely() -> None:
    rows = 40_000
    for limit, need in ((6, 3), (40, 3)):  # the first is drawn by shuffling, the second by redrawing
        rng = np.random.default_rng(3)
        banned_row = np.arange(rows)
        drawn = sample_distinct(rng, np.full(rows, limit), np.full(rows, need), banned_row, np.full(rows, 2))
        for column in range(need):  # each place of the row by itself: the order is random too
            counts = np.bincount(drawn[:, column], minlength=limit)
            assert counts[2] == 0
            expected = rows / (limit - 1)
            chi2 = float(np.sum((np.delete(counts, 2) - expected) ** 2) / expected)
            assert chi2 < (limit - 2) + 5 * np.sqrt(2 * (limit - 2))
