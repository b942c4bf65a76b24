"""The page of results is what the ledger says."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("benchmarks", reason="benchmarks/ is not on the path; run as python -m pytest")

from benchmarks.gearsage import show

RESULTS = Path(__file__).parents[3] / "docs" / "results"


def test_the_table_is_that_of_the_ledger() -> None:
    table = show(RESULTS / "dgraphfin.jsonl")
    assert len(table.splitlines()) > 10
    assert table in (RESULTS / "dgraphfin.md").read_text(encoding="utf-8")
