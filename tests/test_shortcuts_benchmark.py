"""Both sides of benchmarks/shortcuts.py answer alike, for every model that it has."""

from __future__ import annotations

import pytest
import torch

from every_model import smaller
from keat.datasets.payments import simulate_payments

pytest.importorskip("benchmarks", reason="benchmarks/ is not on the path; run as python -m pytest")

from benchmarks import shortcuts
from benchmarks.shortcuts import SIDES, Side, compare
from benchmarks.shortcuts_plain import plainly

STREAM = simulate_payments(2_400, cardholders=40, merchants=30, seed=1)


@pytest.mark.parametrize("name", SIDES)
def test_both_ways_give_the_same_scores(name: str) -> None:
    """`compare` holds them to each other in every block."""
    told = compare(SIDES[name], smaller(SIDES[name].config), STREAM, 1)
    assert min(told["ms"], told["plain_ms"]) > 0


def test_another_score_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortcuts, "plainly", lambda *given: plainly(*given) + 0.01)
    with pytest.raises(AssertionError, match="not close"):
        compare(Side("tgn"), smaller(SIDES["tgn"].config), STREAM, 0)


def test_times_are_those_of_the_processor() -> None:
    result, seconds = shortcuts.timed(torch.ones, 3)
    assert result.sum() == 3
    assert seconds >= 0
