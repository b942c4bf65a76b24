"""An array that grows holds what it held, and zeros behind it, whether it was copied or not."""

from __future__ import annotations

import copy
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keat.state import growing, lengthened, zeros

RECORD = np.dtype([("a", np.int64), ("b", np.float32, (3,))], align=True)


@pytest.fixture
def few_addresses() -> Iterator[None]:
    """As under ``ulimit -v``: not enough for an array to be given any ahead."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def grown(lengths: list[int]) -> np.ndarray:
    array = zeros((lengths[0], 4), np.int64)
    for length in lengths:
        before = len(array)
        array[:] = np.arange(array.size).reshape(array.shape)
        array = lengthened(array, length)
        assert len(array) >= length
        assert (array[:before] == np.arange(4 * before).reshape(-1, 4)).all()
        assert not array[before:].any()
    return array


@given(st.lists(st.integers(0, 400_000), min_size=1, max_size=6))
def test_any_lengths(lengths: list[int]) -> None:
    """On both sides of what counts as large."""
    grown(lengths)


def test_a_large_array_grows_where_it_is() -> None:
    array = zeros((growing.LARGE // 32, 4), np.int64)
    longer = lengthened(array, 3 * len(array))
    assert longer.ctypes.data == array.ctypes.data
    assert len(lengthened(longer, len(longer) + 1)) <= len(longer) + growing.STEP // 32


def test_records_grow() -> None:
    array = zeros((300_000,), RECORD)
    array["a"] = 7
    longer = lengthened(array, 300_001)
    assert longer.dtype == RECORD
    assert (longer["a"][:300_000] == 7).all()
    assert not longer["b"].any()


def test_what_was_before_can_grow_again() -> None:
    """Two that come of one array do not share what is new."""
    array = zeros((growing.LARGE // 8,), np.int64)
    one, two = lengthened(array, len(array) + 1), lengthened(array, len(array) + 1)
    one[len(array) :] = 5
    assert not two[len(array) :].any()


def test_a_part_that_grows_is_a_copy() -> None:
    array = zeros((growing.LARGE // 8,), np.int64)
    array[:] = 3
    longer = lengthened(array[:10], 20)
    assert longer[:20].tolist() == [3] * 10 + [0] * 10
    longer[:] = 9
    assert (array == 3).all()


def test_a_copy_is_an_array_of_its_own() -> None:
    array = zeros((growing.LARGE // 8,), np.int64)
    other = copy.deepcopy(array)
    other[:] = 1
    assert not array.any()
    assert not lengthened(other, len(other) + 1)[len(other) :].any()


@pytest.mark.usefixtures("few_addresses")
def test_without_addresses_to_spare_growing_copies() -> None:
    array = grown([200_000, 250_000])
    assert len(array) == 300_000  # half as many again


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_addresses_ahead_do_not_count_where_data_are_limited() -> None:
    """Under ``ulimit -d`` an array grows where it is up to the limit, and says so when it is reached."""
    code = """
import resource
import subprocess
import sys
from keat.state import lengthened, zeros
held = int(open("/proc/self/status").read().split("VmData:")[1].split()[0]) << 10
resource.setrlimit(resource.RLIMIT_DATA, (held + (64 << 20),) * 2)
array = zeros((1 << 20,), "i8")
longer = lengthened(array, 6 << 20)  # a copy beside it would not fit
assert longer.ctypes.data == array.ctypes.data
longer[:] = 1
try:
    lengthened(longer, 12 << 20)[:] = 1
except MemoryError:
    print("no more")
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "no more\n"
