"""What people call their files and nodes is shown as it is: no markup, no emoji, no formula."""

from __future__ import annotations

import html
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from command import assert_fails, keat

IDS = [
    r"$\frac{a_{$",
    "pay$5$now",
    r"a_b^c\{}",
    "[/b]bold",
    "user:x:42",
    "漢字",
    "*s*_t_",
    "a|b",
    ":dog:",
    "x",
]
COLUMNS = ("--features", "amount")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """500 events between such nodes, in a file and a folder that are called no better."""
    folder, rng = tmp_path_factory.mktemp("odd") / "my [b] :x: $a_{$", np.random.default_rng(0)
    folder.mkdir()
    rows = ["src,dst,t,amount"]
    for t in np.sort(rng.integers(1_700_000_000, 1_702_000_000, 500)).tolist():
        a, b = rng.permutation(len(IDS))[:2].tolist()
        rows.append(f"{IDS[a]},{IDS[b]},{t},{rng.integers(1, 9)}")
    (folder / "*o* [i].csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder / "*o* [i].csv"


@pytest.fixture(scope="module")
def run(log: Path) -> Path:
    """A run in a folder with an end tag in its path, which used to be an error after the training."""
    folder = log.parent / "r[/b]x"
    size = ("--set", "dim=8", "--set", "neighbors=4", "--epochs", "2", "--threads", "1")
    ran = keat("train", "keat-tgn", log, *COLUMNS, *size, "--out", folder)
    assert ran.code == 0, ran
    assert f"kept in {folder}\n" in ran.out
    assert f"The report: {folder / 'report.html'}\n" in ran.out
    return folder


def test_an_explanation_names_them(log: Path, run: Path, tmp_path: Path) -> None:
    place = tmp_path / "why [/] $x$"
    ran = keat("explain", run, log, *COLUMNS, "--event", "480", "--out", place)
    assert ran.code == 0, ran
    assert f"The picture: {place / 'explanation-1.png'}\n" in ran.out
    assert (place / "explanation-1.png").stat().st_size > 10_000
    told = keat("explain", run, log, *COLUMNS, "--event", "480", "--out", place, "--json").json
    (told,) = told["explanations"]
    met = {told["source"], told["destination"]} | {
        n["node"] for end in told["ends"] for n in end["neighbors"]
    }
    assert met <= set(IDS)
    assert {"[/b]bold", "user:x:42", r"$\frac{a_{$"} & met
    page = (place / "explanation-1.html").read_text(encoding="utf-8")
    for name in met:
        assert name in ran.out
        assert html.escape(name) in page


def test_pictures_of_runs_and_data(log: Path, run: Path, tmp_path: Path) -> None:
    asked: list[list[str | Path]] = [["attention", run, "--data", log], ["moments", log]]
    for what in asked:
        picture = tmp_path / "new $f$" / f"{what[0]}.png"
        ran = keat("analyze", *what, *COLUMNS, "--out", picture)
        assert ran.code == 0, ran
        assert f"The picture: {picture}\n" in ran.err
        assert picture.stat().st_size > 10_000


def test_messages_and_tables_name_them(run: Path) -> None:
    stranger = keat("predict", run, "--source", "user:smile:[/b]")
    assert "note: 'user:smile:[/b]' is new to this run" in stranger.err
    assert "Likely destinations of user:smile:[/b]" in stranger.out
    shown = keat("predict", run, "--source", "user:x:42").out
    assert "Likely destinations of user:x:42" in shown
    assert "[/b]bold" in shown
    assert "a|b" in shown
    failed = assert_fails(keat("evaluate", "edgebank", "no [/b] :x: file.csv"))
    assert "no [/b] :x: file.csv" in failed


def test_the_report_says_how_to_make_it_again(log: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from keat.report.html.report_page import command_line

    arguments = ["train", "keat-tgn", str(log), "--out", str(run)]
    monkeypatch.setattr(sys, "argv", ["keat", *arguments])
    assert shlex.split(command_line()) == ["keat", *arguments]  # spaces and dollars survive a shell
    text = (run / "report.md").read_text(encoding="utf-8")
    assert text.startswith("# keat-tgn on \\*o\\* [i]\n")
    assert shlex.quote(str(log)) in text
    page = (run / "report.html").read_text(encoding="utf-8")
    assert html.escape(shlex.quote(str(log))) in page


def test_help_shows_the_name_of_an_extra() -> None:
    assert "(keat[ray])" in keat("reproduce", "--help").out
