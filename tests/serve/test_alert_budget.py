"""The most suspicious events of an hour: never more than the budget, however they come in batches."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from keat.serve.alert_budget import AlertBudget

HOUR, MINUTE = 3_600, 60


def slowly(a_hour: int, t: npt.NDArray[np.int64], suspicion: npt.NDArray[np.float32]) -> list[int]:
    """The rule, as it is told: every event looks back at all others."""
    found: list[int] = []
    for place, now in enumerate(t.tolist()):
        allowed = min(a_hour, a_hour * (now - int(t[0])) // HOUR)
        since = now - now % MINUTE - HOUR
        hour = [float(suspicion[at]) for at in range(place) if t[at] - t[at] % MINUTE > since]
        above = sum(one >= suspicion[place] for one in hour)
        recent = sum(t[at] > now - HOUR for at in found)
        if allowed and above < allowed and recent < allowed:
            found.append(place)
    return found


@settings(max_examples=60)
@given(
    gaps=st.lists(st.sampled_from([0, 1, 30, 61, 400, 4_000]), min_size=1, max_size=120),
    a_hour=st.integers(1, 6),
    seed=st.integers(0, 1_000),
    cuts=st.lists(st.integers(0, 120), max_size=6),
)
def test_it_is_the_rule_however_events_are_cut(
    gaps: list[int], a_hour: int, seed: int, cuts: list[int]
) -> None:
    t = 1_700_000_000 + np.cumsum(gaps).astype(np.int64)
    draw = np.random.default_rng(seed)
    suspicion = draw.integers(0, 8, len(t)).astype(np.float32) if seed % 2 else draw.normal(size=len(t))
    suspicion = suspicion.astype(np.float32)
    bounds = sorted({0, len(t), *(cut for cut in cuts if cut < len(t))})
    budget, found = AlertBudget(a_hour, "s"), []
    for start, stop in pairwise(bounds):
        found += [start + at for at in budget.take(t[start:stop], suspicion[start:stop])]
        budget = AlertBudget(a_hour, "s", budget.window())  # as a restart would
    assert found == slowly(a_hour, t, suspicion)


def test_a_calm_stream_has_about_the_budget_and_no_hour_more() -> None:
    draw = np.random.default_rng(0)
    t = np.sort(draw.integers(0, 50 * HOUR, 40_000)).astype(np.int64)
    suspicion = draw.normal(size=len(t)).astype(np.float32)
    found = t[AlertBudget(20, "s").take(t, suspicion)]
    most = max(
        np.searchsorted(found, now, side="right") - np.searchsorted(found, now - HOUR, side="right")
        for now in found
    )
    assert most <= 20
    assert 0.8 * 20 * 49 < len(found) <= 20 * 50


def test_a_change_of_level_floods_nobody() -> None:
    """Everything is twice as suspicious from one moment on: the budget holds."""
    t = np.arange(0, 10 * HOUR, 10, dtype=np.int64)
    suspicion = np.where(t > 5 * HOUR, 10.0, 0.0) + np.random.default_rng(1).normal(size=len(t))
    found = t[AlertBudget(5, "s").take(t, suspicion.astype(np.float32))]
    after = found[found > 5 * HOUR]
    assert np.count_nonzero(after < 6 * HOUR) <= 5


def test_without_a_budget_nothing_is_an_alert() -> None:
    t = np.arange(10_000, dtype=np.int64)
    assert AlertBudget(0, "s").take(t, t.astype(np.float32)) == []


def test_units_longer_than_an_hour() -> None:
    """Days: a window is a day, with as much as its hours have together."""
    budget = AlertBudget(2, "day")
    assert budget.most == 48
    assert budget.seconds == 86_400
    assert AlertBudget(2, "ms").span == 3_600_000
