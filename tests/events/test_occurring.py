"""What occurs in a column is what numpy finds in all of it."""

from __future__ import annotations

import numpy as np
import pytest

from keat.events import occurring as module
from keat.events.occurring import distinct_times, occurring


@pytest.mark.parametrize("block", [1, 3, 1000])
def test_equals_numpys(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    rng = np.random.default_rng(0)
    for size in (0, 1, 2, 50):
        nodes = rng.integers(0, 20, size).astype(np.int32)
        found = occurring(nodes, 20)
        np.testing.assert_array_equal(found, np.unique(nodes))
        assert found.dtype == np.int32
        t = np.sort(rng.integers(0, 20, size))
        assert distinct_times(t) == len(np.unique(t))
