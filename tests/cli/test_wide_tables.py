"""Tables at any width of the terminal: every number whole, every word there, no line too long."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from command import keat
from rich.cells import cell_len
from rich.console import Console

from keat.cli import console
from keat.cli.wide_tables import tables_within
from trained_runs import small, trained

COLUMNS = ["with", "row", "age", "Δ", "ψ", "node", "ψ·edge", "α %", "older", "Σ over events to 17"]
NAMES = ["corner café, the one that has a long name", "user:x:42[/b]" * 3]
NUMBERS = [
    ["9123", "1.01d", "22.7h", "0.98", "-0.02", "−0.01", "12·88", "−0.0231", "12.3456789"],
    ["12", "3.56d", "0.4s", "0.98", "-0.02", "-0.00", "5·95", "−10.021", "1e-05"],
]
ROWS = [[name, *numbers] for name, numbers in zip(NAMES, NUMBERS, strict=True)]


def drawn(width: int, columns: list[str], rows: list[list[str]], text_columns: int = 1) -> str:
    paper = Console(file=io.StringIO(), width=width, markup=False, emoji=False)
    for table in tables_within(width, columns, rows, text_columns):
        paper.print(table)
    assert isinstance(paper.file, io.StringIO)
    return paper.file.getvalue()


@pytest.mark.parametrize("width", [24, 40, 60, 80, 100, 300])
def test_numbers_are_whole_and_lines_fit(width: int) -> None:
    shown = drawn(width, COLUMNS, ROWS)
    assert "…" not in shown
    assert max(map(cell_len, shown.splitlines())) <= width
    words = shown.split()
    for row in ROWS:
        for number in row[1:]:
            assert number in words
    assert shown.count("café") >= 1  # a long name is broken, and all of it is there
    assert "name" in shown


@pytest.mark.parametrize(("width", "tables", "lined"), [(300, 1, True), (90, 1, False), (60, 2, False)])
def test_first_the_frame_goes_then_the_table_is_folded(width: int, tables: int, lined: bool) -> None:
    shown = drawn(width, COLUMNS, ROWS)
    assert len(re.findall(r"^(?:┃ )?with ", shown, re.MULTILINE)) == tables  # words stand in each
    assert ("┃" in shown) == lined


def test_words_are_broken_before_numbers_are() -> None:
    shown = drawn(50, ["evidence", "what is known", "effect"], [["meetings", "met " * 30, "−0.1234"]], 2)
    assert "−0.1234" in shown
    assert shown.count("met") == 30


def test_a_sentence_among_numbers_is_broken_too() -> None:
    shown = drawn(60, ["name", "number", "note"], [["a", "0.123", "whatever " * 20], ["b", "0.5", ""]])
    assert shown.count("whatever") == 20
    assert max(map(cell_len, shown.splitlines())) <= 60


@pytest.mark.parametrize("width", [60, 80])
def test_an_explanation_has_all_its_numbers(
    width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console.out, "_width", width)
    question = ("explain", trained(small()), "--src", "3", "--dst", "130", "--out", tmp_path)
    ran = keat(*question)
    assert ran.code == 0, ran
    told = keat(*question, "--json").json
    assert "…" not in ran.out
    words = ran.out.split()
    for end in told["explanations"][0]["ends"]:
        for neighbor in end["neighbors"]:
            for name in ("score_if_older", "score_without"):
                assert f"{neighbor[name]:.3f}".replace("-", "−") in words
