"""The pages of results say what the ledgers say, and a study that is asked again answers the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("studies", reason="studies/ is not on the path; run as python -m pytest")

from studies.fading_lines import FadingCell, FadingFound
from studies.study import RESULTS, StudyLedger

from conftest import FindFile
from studies import (
    coarse_clocks,
    defaults,
    demo,
    dgraphfin,
    drift,
    fading,
    fading_meter,
    node_labels,
    parallel_training,
    rank_groups,
    rank_training,
    trade,
)

CLOCKS = StudyLedger(RESULTS / "coarse_clocks.jsonl", coarse_clocks.ClockCell, coarse_clocks.ClockFound)
DEFAULTS = StudyLedger(RESULTS / "defaults.jsonl", defaults.DefaultsCell, defaults.DefaultsFound)
DEMO = StudyLedger(RESULTS / "demo.jsonl", demo.DemoCell, demo.DemoFound)
CONTACTS = StudyLedger(RESULTS / "dgraphfin.jsonl", dgraphfin.ContactsCell, dgraphfin.ContactsFound)
DRIFT = StudyLedger(RESULTS / "drift.jsonl", drift.DriftCell, drift.DriftFound)
FADING = StudyLedger(RESULTS / "fading.jsonl", FadingCell, FadingFound)
METER = StudyLedger(RESULTS / "fading_meter.jsonl", fading_meter.MeterCell, fading_meter.MeterFound)
LABELS = StudyLedger(RESULTS / "node_labels.jsonl", node_labels.LabelCell, node_labels.LabelFound)
GROUPS = StudyLedger(RESULTS / "rank_groups.jsonl", rank_groups.GroupCell, rank_groups.GroupFound)
WORKERS = StudyLedger(
    RESULTS / "parallel_training.jsonl", parallel_training.WorkersCell, parallel_training.WorkersFound
)
TRAINING = StudyLedger(
    RESULTS / "rank_training.jsonl", rank_training.TrainingCell, rank_training.TrainingFound
)
TRADE = StudyLedger(RESULTS / "trade.jsonl", trade.TradeCell, trade.TradeFound)

REPORTS: dict[str, tuple[StudyLedger[Any, Any], Callable[[Any], str]]] = {
    "coarse_clocks": (CLOCKS, coarse_clocks.report),
    "defaults": (DEFAULTS, defaults.report),
    "demo": (DEMO, demo.report),
    "dgraphfin": (CONTACTS, dgraphfin.report),
    "drift": (DRIFT, drift.report),
    "fading": (FADING, fading.report),
    "fading_meter": (METER, fading_meter.report),
    "node_labels": (LABELS, node_labels.report),
    "parallel_training": (WORKERS, parallel_training.report),
    "rank_groups": (GROUPS, rank_groups.report),
    "rank_training": (TRAINING, rank_training.report),
    "trade": (TRADE, trade.report),
}
ROOT = RESULTS.parents[1]
COMMANDS = sorted(
    {
        command
        for page in (ROOT / "docs").rglob("*.md")
        for command in re.findall(r"python -m (?:studies|benchmarks)\.[a-z_]+[^`\n]*", page.read_text())
    }
)
NOT_ON_THE_PAGE = {  # told in words: one seed alone
    "demo": ("tgn, ", "keat-tgn, "),
}


@pytest.mark.parametrize("name", REPORTS)
def test_the_tables_are_those_of_the_ledger(name: str) -> None:
    ledger, report = REPORTS[name]
    page = (RESULTS / f"{name}.md").read_text(encoding="utf-8").splitlines()
    rows = [row for row in report(ledger.lines()).splitlines() if row.startswith("|")]
    left_out = tuple(f"| {start}" for start in NOT_ON_THE_PAGE.get(name, ()))
    assert len(rows) > 5
    assert [row for row in rows if row not in page and not (left_out and row.startswith(left_out))] == []


@pytest.mark.parametrize("name", REPORTS)
def test_a_ledger_is_read_whole(name: str) -> None:
    ledger, _ = REPORTS[name]
    lines = ledger.lines()
    assert len(lines) == len(ledger.path.read_text(encoding="utf-8").splitlines())
    assert len({line.key for line in lines}) == len(lines)


def test_the_demo_answers_the_same() -> None:
    cell = demo.DemoCell(arm="poptrack", seed=0)
    (line,) = (line for line in DEMO.lines() if line.cell == cell)
    assert demo.ask(cell, Path()).test == pytest.approx(line.found.test)


def test_the_contacts_answer_the_same(tmp_path: Path) -> None:
    cell = dgraphfin.ContactsCell(world="fading", side=dgraphfin.Side("degree"), seed=1)
    (line,) = (line for line in CONTACTS.lines() if line.cell == cell)
    found = dgraphfin.ask(cell, tmp_path)
    assert (found.val, found.test, found.data) == (line.found.val, line.found.test, line.found.data)


@pytest.mark.filterwarnings("ignore::keat.errors.Notice")  # of large values
def test_trade_answers_the_same(shared_file: FindFile, tmp_path: Path) -> None:
    cell = trade.TradeCell(study="trade", cell=trade.Arm("persistent-forecast"), seed=1)
    (line,) = (line for line in TRADE.lines() if line.cell == cell)
    found = trade.ask(cell, shared_file("trade.parquet").parent, tmp_path)
    assert (found.val, found.test) == pytest.approx((line.found.val, line.found.test))


def test_coarse_clocks_answer_the_same(shared_file: FindFile) -> None:
    cell = coarse_clocks.ClockCell(source="icews14", model="edgebank")
    (line,) = (line for line in CLOCKS.lines() if line.cell == cell)
    found = coarse_clocks.ask(cell, shared_file("icews14.parquet").parent)
    assert (found.ap, found.mrr) == pytest.approx((line.found.ap, line.found.mrr))
    assert found.longest_tie == line.found.longest_tie


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_pages_name_a_study_and_its_options(command: str) -> None:
    """And not one that has moved or an option that is gone."""
    module, *options = command.removeprefix("python -m ").split()
    source = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    shared = (
        ROOT
        / {"studies": "studies/study.py", "benchmarks": "benchmarks/benchmark_command.py"}[
            module.split(".")[0]
        ]
    )
    common = shared.read_text(encoding="utf-8")
    assert [name for name in options if name.startswith("--") and f'"{name}"' not in source + common] == []
