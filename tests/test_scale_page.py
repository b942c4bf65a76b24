"""The page about scale has the rows that follow from its ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("benchmarks", reason="benchmarks/ is not on the path; run as python -m pytest")

from benchmarks.scale import read_lines
from benchmarks.scale_table import report, work_of

DOCS = Path(__file__).parents[1] / "docs"
LINES = read_lines(DOCS / "results" / "scale.jsonl")


def test_the_tables_are_those_of_the_ledger() -> None:
    page = (DOCS / "understand" / "scale.md").read_text(encoding="utf-8").splitlines()
    rows = [row for row in report(LINES).splitlines() if row.startswith("|")]
    assert len(rows) > 15
    assert [row for row in rows if row not in page] == []


def test_a_step_has_one_line_and_all_but_the_simulation_had_a_limit() -> None:
    assert len({(line["events"], line["step"]) for line in LINES}) == len(LINES)
    assert {line["limit"] for line in LINES if line["step"] != "simulate"} == {8 * 10**9}


def test_work_grows_with_the_stream_and_what_is_before_the_slices_is_the_history() -> None:
    measured = {"events": 100, "observing_processor_seconds": 2.0, "bytes_per_event": 50.0}
    work, state = work_of(1000, measured)
    assert state == 50_000
    assert (work.before, work.observing) == pytest.approx((17.0, 3.0))
    assert work.answering > work.observing
