"""`keat analyze`: what runs are called, and help that says what it means."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
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


def test_fading_names_a_half_life_and_a_command(tmp_path: Path) -> None:
    picture, events = tmp_path / "fading.png", tmp_path / "events.csv"
    draw = np.random.default_rng(0)
    state = np.zeros(3, dtype=np.int64)
    lines = ["who,what,when,up,level"]
    for moment in range(1_800):  # what a node says is what it said a moment ago
        node = draw.integers(0, 3)
        state[node] = state[node] if draw.random() < 0.9 else 1 - state[node]
        lines.append(f"{node},{draw.integers(10, 14)},{60 * moment},{state[node]},{draw.random():.3f}")
    events.write_text("\n".join(lines))
    words = ("analyze", "fading", events, "--src", "who", "--dst", "what", "--time", "when")
    asked = ("--target", "up>0.5", "--known-after", "up=1", "--features", "level")
    shown = keat(*words, *asked, "--out", picture, "--json")
    assert shown.code == 0, shown.err
    found = shown.json
    assert found["verdict"] == "fades"
    assert found["half_life"] < 3_600
    assert found["width_seconds"] == pytest.approx(found["half_life"] / np.log(2))
    assert len(found["auc"]["faded"]) == len(found["half_lives"])
    assert "--target 'up>0.5' --known-after up=1 --kernel" in found["command"]
    assert "--src who" in found["command"]
    assert "--features level" in found["command"]
    assert picture.exists()
