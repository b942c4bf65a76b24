"""`keat train` says how far its numbers can be trusted, and `keat predict` gives numbers to be read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from command import keat

from keat.calibration.temperature import Temperature
from keat.models.rank import KeatRank
from keat.runs.run import open_kept

SMALL = ("--set", "hidden=8", "--set", "ring=4", "--set", "fanout=2", "--epochs", "1", "--threads", "1")


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """A listwise run, whose scores only compare candidates, and what training it said."""
    folder = tmp_path_factory.mktemp("ranked") / "run"
    ran = keat("train", "keat-rank", "payments:800", "--loss", "listwise", *SMALL, "--out", folder, "--json")
    return folder, ran.json


def test_training_measures_calibration_on_test(ranked: tuple[Path, dict[str, object]]) -> None:
    folder, told = ranked
    calibration = told["calibration"]
    assert isinstance(calibration, dict)
    assert calibration["kind"] == "temperature"
    for found in calibration["ece"].values():
        assert found["interval"][0] <= found["value"]
        assert 0 <= found["value"] <= 2
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Can the numbers be trusted?" in page
    assert "the best candidate: ECE" in page
    assert "Expected calibration error" in (folder / "report.md").read_text(encoding="utf-8")


def test_destinations_have_shares_of_one(ranked: tuple[Path, dict[str, object]]) -> None:
    folder, _ = ranked
    rows = keat("predict", folder, "--source", "3", "--top", "100000", "--json").json["destinations"]
    assert set(rows[0]) == {"source", "destination", "rank", "score", "share"}
    model = open_kept(folder).model
    assert isinstance(model, KeatRank)
    assert len(rows) == len(model.destinations())
    shares = [row["share"] for row in rows]
    assert sum(shares) == pytest.approx(1.0)
    assert shares == sorted(shares, reverse=True)
    few = keat("predict", folder, "--source", "3", "--top", "3", "--json").json["destinations"]
    assert few == rows[:3]  # among all destinations, however many are shown
    shown = keat("predict", folder, "--source", "3", "--top", "3").out
    assert "share" in shown
    assert "probability" not in shown
    assert "calibrated on validation" in " ".join(shown.split())


def test_an_older_run_has_scores_only(ranked: tuple[Path, dict[str, object]], tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(ranked[0], run)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        del line["calibration"]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rows = keat("predict", run, "--source", "3", "--json").json["destinations"]
    assert set(rows[0]) == {"source", "destination", "rank", "score"}
    assert "has no calibration" in " ".join(keat("predict", run, "--source", "3").out.split())


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("log"), np.random.default_rng(1)
    rows = ["src,dst,t,odd"]
    for t in range(500):
        a, b = rng.permutation(8)[:2].tolist()
        rows.append(f"p{a},p{b},{t * 1000},{int(rng.random() < 0.3)}")
    (folder / "log.csv").write_text("\n".join(rows) + "\n")
    return folder / "log.csv"


@pytest.mark.parametrize(
    "options", [("--label", "odd"), ("--task", "link-classification")], ids=["label", "link"]
)
def test_pairs_have_a_calibrated_probability(options: tuple[str, ...], log: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    short = ("--set", "dim=8", "--epochs", "1", "--threads", "1", "--out", run, "--json")
    told = keat("train", "tgn", log, *options, *short).json["calibration"]
    assert told["kind"] in ("platt", "isotonic")
    assert list(told["ece"]) == ["the probability"]
    (tmp_path / "pairs.csv").write_text("s,d\np1,p2\np3,p4\n")
    rows = keat("predict", run, "--pairs", tmp_path / "pairs.csv", "--json").json["pairs"]
    made = open_kept(run).calibration
    assert made is not None
    assert not isinstance(made, Temperature)
    assert made.kind == told["kind"]
    expected = made.probabilities(np.array([row["score"] for row in rows]))
    assert [row["probability"] for row in rows] == expected.tolist()
    assert "probability" in keat("predict", run, "--pairs", tmp_path / "pairs.csv").out
