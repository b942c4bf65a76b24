"""What is worked out of the ledger for the page of evidence."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("studies", reason="studies/ is not on the path; run as python -m pytest")

from studies.evidence import ratio_of_spreads, report
from studies.study import RESULTS


def test_a_ratio_of_spreads_has_an_interval_that_holds_what_it_promises() -> None:
    drawn = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        found, low, high = ratio_of_spreads(
            drawn.normal(0.0, 2.0, 5).tolist(), drawn.normal(3.0, 1.0, 5).tolist()
        )
        assert low < found < high
        held += low < 2.0 < high
    assert 0.92 <= held / 400 <= 0.98


def test_the_page_has_the_tables_of_the_ledger() -> None:
    page = (RESULTS / "evidence.md").read_text(encoding="utf-8").splitlines()
    rows = [row for row in report(RESULTS / "ledger.jsonl").splitlines() if row.startswith("|")]
    assert len(rows) > 5
    assert [row for row in rows if row not in page] == []
