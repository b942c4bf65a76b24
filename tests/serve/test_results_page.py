"""The page on how fast a service is has the numbers of its ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

serve = pytest.importorskip("benchmarks.serve", reason="run as python -m pytest, from the checkout")
RESULTS = Path(__file__).parents[2] / "docs" / "results"


def test_the_table_is_that_of_the_ledger() -> None:
    lines = [json.loads(line) for line in (RESULTS / "serve.jsonl").read_text(encoding="utf-8").splitlines()]
    text = (RESULTS / "serve.md").read_text(encoding="utf-8")
    missing = [row for row in serve.table_of(lines).splitlines() if row not in text]
    assert missing == []
    newest = {(line["model"], line["what"]): line for line in lines}.values()
    assert all(line["machine"].rpartition(" ")[2] in text for line in newest)  # the commits
