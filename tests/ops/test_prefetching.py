"""Fetching ahead changes nothing, and a row that is not there does no harm."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest

from keat.ops import compiled, prefetch

RECORD = np.dtype([("key", np.int64), ("sums", np.float32, (30,))], align=True)


@compiled
def total(records: npt.NDArray[Any], ahead: int) -> int:
    found = 0
    for row in range(len(records)):
        prefetch(records, row + ahead, 8, 3)
        found += records[row].key
    return found


@pytest.mark.parametrize("ahead", [0, 3, -7, 1 << 40])
def test_sums_are_the_same(ahead: int) -> None:
    records = np.zeros(1000, RECORD)
    records["key"] = np.arange(1000)
    before = records.copy()
    assert total(records, ahead) == 499_500
    assert (records == before).all()


def test_the_code_says_so() -> None:
    anew: Any = numba.njit(getattr(total, "py_func"))  # noqa: B009, code from a cache cannot be looked at
    anew(np.zeros(1, RECORD), 1)
    (code,) = anew.inspect_llvm().values()
    assert code.count("call void @llvm.prefetch") >= 3
