import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keat.state.pair_table import PairTable

events = st.lists(
    st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1), st.integers(0, 2**62)), max_size=60
)


@given(events, events)
def test_it_is_a_dict_of_pairs(first: list[tuple[int, int, int]], second: list[tuple[int, int, int]]) -> None:
    table, truth = PairTable(), dict[tuple[int, int], int]()
    for block in (first, second):
        columns = np.array(block, dtype=np.int64).reshape(-1, 3)
        table.put(columns[:, 0].astype(np.int32), columns[:, 1].astype(np.int32), columns[:, 2].copy())
        truth |= {(u, v): value for u, v, value in block}
    assert len(table) == len(truth)
    src = np.array([u for u, _ in truth] + [7], dtype=np.int32)
    dst = np.array([v for _, v in truth] + [7], dtype=np.int32)
    grid = table.get(src, dst, missing=-9)
    expected = [[truth.get((int(u), int(v)), -9) for v in dst] for u in src]
    assert grid.tolist() == expected
    own = table.get(src, dst[:, None], missing=-9)
    assert own[:, 0].tolist() == np.diag(np.array(expected, dtype=np.int64)).tolist()


def test_it_grows_far_beyond_its_first_size() -> None:
    table = PairTable()
    n = 200_000
    src, dst = np.arange(n, dtype=np.int32) % 977, np.arange(n, dtype=np.int32)
    for start in range(0, n, 30_000):
        part = slice(start, start + 30_000)
        table.put(src[part], dst[part], np.arange(n)[part])
    assert len(table) == n
    assert np.array_equal(table.get(src, dst[:, None], missing=-1)[:, 0], np.arange(n))


def test_clear_forgets() -> None:
    table = PairTable()
    one = np.array([1], dtype=np.int32)
    table.put(one, one, np.array([5]))
    table.clear()
    assert len(table) == 0
    assert table.get(one, one, missing=-1).tolist() == [[-1]]
