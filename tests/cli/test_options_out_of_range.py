"""Options of every verb but train, as large, small and odd as they can be typed: a result or a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Ran, keat

from trained_runs import small, trained

P = "payments:1000"
HUGE = str(10**30)
EDGE = str(2**63 - 1)
RUN = object()  # stands for the folder of a run
Words = tuple[object, ...]

REFUSED: list[Words] = [
    ("predict", RUN, "--source", "3", "--top", HUGE),
    ("predict", RUN, "--source", "3", "--time", str(2**63)),
    ("predict", RUN, "--source", "3", "--time", "0"),
    ("predict", RUN, "--source", "x"),
    ("predict", RUN, "--pairs", "nowhere.csv"),
    ("predict", RUN, "--pairs", "."),
    ("predict", RUN, "--embeddings", "."),
    ("predict", RUN, "--graph", "nowhere.npz"),
    ("evaluate", "edgebank", P, "--refresh", HUGE),
    ("evaluate", "edgebank", P, "--negatives", "random", "--num-negatives", HUGE),
    ("evaluate", "edgebank", P, "--negatives", "random", "--seed", str(2**64)),
    ("evaluate", "edgebank", P, "--eval-sample", HUGE),
    ("evaluate", "edgebank", P, "--split", "[/b]"),
    ("evaluate", "edgebank", P, "--task", ":x:"),
    ("evaluate", "persistent-forecast", P, "--period", HUGE),
    ("evaluate", "persistent-forecast", P, "--period", EDGE),
    ("evaluate", RUN, P, "--task", "node-label"),
    ("explain", RUN, "--src", "3", "--dst", "40", "--older", EDGE),
    ("explain", RUN, "--src", "3", "--dst", "40", "--older", f"{HUGE}y"),
    ("explain", RUN, "--src", "3", "--dst", "40", "--time", str(2**63)),
    ("explain", RUN, "--src", "3", "--dst", "x"),
    ("explain", RUN, P, "--event", EDGE),
    ("explain", RUN, P, "--event", HUGE),
    ("explain", RUN, P, "--worst", HUGE),
    ("explain", RUN, "--src", "3", "--dst", "40", "--out", "file.csv"),
    ("analyze", "moments", "--out", "x.foo"),
    ("analyze", "moments", "--out", "."),
    ("analyze", "moments", "--out", "file.csv/x.png"),
    ("analyze", "attention", "nowhere", "--data", P),
    ("reproduce", "figure-moments", "--out", "x.foo"),
    ("reproduce", "figure-moments", "--out", "file.csv/x.png"),
    ("reproduce", "table-params", "--seeds", HUGE),
    ("reproduce", "table-params", "--jobs", HUGE),
    ("reproduce", "list", "--ledger", "."),
    ("reproduce", "list", "--ledger", "file.csv"),
    ("demo", "--events", HUGE),
    ("demo", "--seed", str(2**64)),
    ("demo", "--epochs", HUGE),
    ("demo", "--events", "1000", "--out", "file.csv"),
    ("data", "info", ""),
    ("data", "get", "../x"),
]
ANSWERED: list[Words] = [
    ("predict", RUN, "--source", "3", "--top", EDGE),
    ("predict", RUN, "--source", "3", "--time", EDGE),
    ("evaluate", "edgebank", P, "--refresh", EDGE),
    ("evaluate", "edgebank", P, "--negatives", "random", "--num-negatives", EDGE),
    ("evaluate", "edgebank", P, "--negatives", "random", "--seed", EDGE),
    ("evaluate", "edgebank", P, "--eval-sample", EDGE),
    ("explain", RUN, "--src", "3", "--dst", "40", "--older", str(2**61)),
    ("analyze", "moments", "--out", "new/x.png"),
    ("analyze", "moments", "--out", "without-a-suffix"),
]


def run_keat(words: Words, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Ran:
    monkeypatch.chdir(folder)
    (folder / "file.csv").write_text("src,dst\na,b\n")
    return keat(*(trained(small()) if word is RUN else str(word) for word in words))


def said(words: Words) -> str:
    return " ".join("RUN" if word is RUN else str(word) for word in words)


@pytest.mark.parametrize("words", REFUSED, ids=said)
def test_refused_in_a_sentence(words: Words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run_keat(words, tmp_path, monkeypatch)
    assert ran.code in (1, 2), ran
    assert ran.out == ""
    assert "inside keat" not in ran.err
    assert "Traceback" not in ran.err
    last = ran.err.splitlines()[-1]
    assert ran.code == 2 or (last.startswith("error: ") and last.endswith((".", "?")))
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {"file.csv", "explained", "keat-out"}  # folders are made before the work, and stay empty
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "file.csv"]
    assert (tmp_path / "file.csv").read_text() == "src,dst\na,b\n"


@pytest.mark.parametrize("words", ANSWERED, ids=said)
def test_answered(words: Words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run_keat((*words, "--json"), tmp_path, monkeypatch)
    assert ran.code == 0, ran
    assert ran.json
