"""`keat analyze`: what runs are called, and help that says what it means."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command import keat

from keat.cli.analyze_command import shortest_names
from trained_runs import EVENTS, small, trained


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        (["/d/a/run"], ["run"]),
        (["/d/a/tgn", "/d/a/keat"], ["tgn", "keat"]),
        (["/d/a/run", "/d/b/run"], ["a/run", "b/run"]),
        (["/d/a/x/run", "/d/b/x/run", "/d/c/y"], ["a/x/run", "b/x/run", "d/c/y"]),
    ],
)
def test_runs_of_the_same_name_are_told_apart(runs: list[str], names: list[str]) -> None:
    assert shortest_names([Path(run) for run in runs]) == names


@pytest.mark.parametrize("command", [["analyze"], ["analyze", "moments"]])
def test_help_has_the_whole_formula(command: list[str]) -> None:
    assert "E(ψtⁿ) / E(tⁿ)" in " ".join(keat(*command, "--help").out.replace("│", " ").split())


def test_two_runs_called_run_are_two(tmp_path: Path) -> None:
    runs = []
    for name in ("a", "b"):
        shutil.copytree(trained(small()), tmp_path / name / "run")
        runs.append(tmp_path / name / "run")
    picture = tmp_path / "two.png"
    shown = keat("analyze", "attention", *runs, runs[0], "--data", f"payments:{EVENTS}", "--out", picture)
    assert shown.code == 0, shown.err
    assert picture.exists()
    for name in ("a/run", "b/run"):
        assert shown.out.count(f"│ {name} ") == 2  # once in each of two tables
