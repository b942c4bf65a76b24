from __future__ import annotations

import pytest

from keat.events import TimeUnit, humanize


@pytest.mark.parametrize(
    ("amount", "unit", "said"),
    [
        (80_111.6, "s", "22.3 h"),
        (0, "ms", "0 ms"),
        (90, "s", "1.5 min"),
        (2.5e6, "us", "2.5 s"),
        (1_500, "ns", "1.5 µs"),
        (3, "day", "3 days"),
        (86_400, "s", "1 day"),
        (1, "year", "1 year"),
        (1, "s", "1 s"),
        (800, "day", "2.19 years"),
        (20, "year", "20 years"),
        (0.25, "ns", "2.5e-10 s"),
    ],
)
def test_durations_as_a_person_says_them(amount: float, unit: TimeUnit, said: str) -> None:
    assert humanize(amount, unit) == said
