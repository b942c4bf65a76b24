"""Runs of equal rows, against counting them one by one."""

from __future__ import annotations

import numpy as np
import pytest

from keat.tasks.sorted_rows import begins_run, starts_of_runs


@pytest.mark.parametrize("rows", [0, 1, 2, 60])
def test_a_run_begins_where_a_row_is_another(rows: int) -> None:
    rng = np.random.default_rng(rows)
    table = sorted(map(tuple, rng.integers(0, 3, (rows, 3)).tolist()))
    columns = [np.array([row[k] for row in table], dtype=np.int64) for k in range(3)]
    expected = [number == 0 or table[number - 1] != row for number, row in enumerate(table)]
    assert begins_run(*columns).tolist() == expected


def test_starts_are_those_of_unique() -> None:
    t = np.array([3, 3, 4, 7, 7, 7])
    np.testing.assert_array_equal(starts_of_runs(t), np.unique(t, return_index=True)[1])
    assert starts_of_runs(t[:0]).tolist() == []
