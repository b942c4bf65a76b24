"""Times in words: one by one and by the column."""

from __future__ import annotations

import numpy as np
import pytest

from keat.events import TimeUnit
from keat.runs.moments import parsed, spoken, spoken_column

NOON = 1_707_134_400  # 2024-02-05 12:00:00


@pytest.mark.parametrize(
    ("unit", "times"),
    [
        ("s", [NOON, NOON + 1]),
        ("ms", [NOON * 1_000, NOON * 1_000 + 250]),
        ("us", [NOON * 10**6, NOON * 10**6 + 1]),
        ("ns", [NOON * 10**9, NOON * 10**9 + 120]),
        ("day", [19_758, 19_759]),
        ("year", [1986, 2006]),
        ("s", [0, 12]),  # counted from a beginning
        ("s", [NOON, 10**15]),  # beyond the calendar
        ("s", []),
    ],
)
def test_a_column_is_written_as_its_times_are_one_by_one(unit: TimeUnit, times: list[int]) -> None:
    column = spoken_column(np.array(times, dtype=np.int64), unit)
    assert column.to_pylist() == [spoken(t, unit) for t in times]


def test_what_is_written_can_be_read_again() -> None:
    for unit, t in (("s", NOON), ("ms", NOON * 1_000 + 250), ("us", NOON * 10**6 + 7), ("day", 19_758)):
        assert parsed(spoken(t, unit), unit) == t  # type: ignore[arg-type]
    assert spoken(NOON, "s") == "2024-02-05 12:00:00"
    assert spoken(NOON * 1_000 + 250, "ms") == "2024-02-05 12:00:00.250"
