"""Node tasks on the command line: labels made, trained, evaluated again from the run alone, asked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command import assert_fails, keat

SMALL = ("--set", "dim=16", "--set", "neighbors=4", "--epochs", "1", "--threads", "1", "--json")


@pytest.fixture(scope="module")
def contacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 weighted events of 8 people over 30 days, and which of them are of interest."""
    folder, rng = tmp_path_factory.mktemp("contacts"), np.random.default_rng(0)
    rows = ["src,dst,t,weight,odd"]
    for t in np.sort(rng.integers(0, 30 * 86_400, 600)).tolist():
        a, b = rng.permutation(8)[:2].tolist()
        rows.append(f"p{a},p{b},{t},{rng.integers(1, 9)},{int(rng.random() < 0.2)}")
    (folder / "contacts.csv").write_text("\n".join(rows) + "\n")
    (folder / "people.csv").write_text("\n".join(f"p{n},{'+1' if n % 3 else '-1'}" for n in range(8)) + "\n")
    return folder


@pytest.fixture(scope="module")
def shares(contacts: Path) -> Path:
    """A run of node properties."""
    folder = contacts / "shares"
    options = ("--period", "day", "--weight", "weight", "--messages", "v2", "--out", folder)
    trained = keat("train", "keat-tgn", contacts / "contacts.csv", *options, *SMALL).json
    assert set(trained["beside"]) == {"persistent-forecast", "moving-average"}
    assert 0 < trained["test"]["ndcg@10"] <= 1
    return folder


@pytest.fixture(scope="module")
def oddities(contacts: Path) -> Path:
    """A run of event labels."""
    folder = contacts / "oddities"
    options = ("--label", "odd", "--features", "weight", "--out", folder)
    trained = keat("train", "tgn", contacts / "contacts.csv", *options, *SMALL).json
    assert set(trained["beside"]) == {"counts"}
    low, high = trained["intervals"]["auc"]
    assert low <= trained["test"]["auc"] <= high
    return folder


def test_a_run_of_node_properties_knows_how_its_labels_were_made(contacts: Path, shares: Path) -> None:
    kept = json.loads((shares / "run.json").read_text())
    assert kept["spec"]["source"]["labels"]["period"] == "day"
    assert kept["spec"]["source"]["labels"]["weight"] == "weight"
    trained = json.loads((shares / "metrics.jsonl").read_text().splitlines()[0])["val"]["ndcg@10"]
    again = keat("evaluate", shares, contacts / "contacts.csv", "--split", "val", "--json").json
    assert again["task"] == "node-property"
    assert again["ndcg@10"] == pytest.approx(trained, abs=0.05)  # replayed, memory in other blocks
    legacy = keat("evaluate", shares, contacts / "contacts.csv", "--period", "day", "--protocol", "legacy")
    assert "contacts has 0 features for each event; this run was trained on 1." in assert_fails(legacy)


def test_forecasts_of_made_labels(contacts: Path) -> None:
    options = ("--period", "day", "--weight", "weight")
    results = keat("evaluate", "heuristics", contacts / "contacts.csv", *options, "--json").json["results"]
    assert [result["model"] for result in results] == ["persistent-forecast", "moving-average"]
    table = keat("evaluate", "heuristics", contacts / "contacts.csv", *options).out
    assert "moving-average" in table


def test_coming_shares(shares: Path) -> None:
    answer = keat("predict", shares, "--source", "p3", "--top", "3", "--json").json
    assert len(answer["shares"]) == 3
    assert {row["node"] for row in answer["shares"]} <= {f"p{n}" for n in range(8)}
    assert 0 < sum(row["share"] for row in answer["shares"]) < 1
    assert "How p3 will divide the period after" in keat("predict", shares, "--source", "p3").out


def test_suspect_events(oddities: Path, contacts: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("source,destination,time,weight\np1,p2,9000000,3\np2,p5,9000001,4\n")
    rows = keat("predict", oddities, "--pairs", tmp_path / "new.csv", "--json").json["pairs"]
    assert [row["source"] for row in rows] == ["p1", "p2"]
    assert rows[0]["score"] != rows[1]["score"]
    (tmp_path / "short.csv").write_text("source,destination\np1,p2\n")
    failed = keat("predict", oddities, "--pairs", tmp_path / "short.csv")
    assert "has no column 'weight'; it has source, destination" in assert_fails(failed)
    written = keat("predict", oddities, "--embeddings", tmp_path / "all.parquet", "--json").json
    assert written == {"rows": 8, "file": str(tmp_path / "all.parquet")}
    options = ("--label", "odd", "--features", "weight", "--json")
    again = keat("evaluate", oddities, contacts / "contacts.csv", *options).json
    assert set(again["intervals"]) == {"auc", "ap"}


def test_a_frozen_encoder(contacts: Path, tmp_path: Path) -> None:
    links = ("--features", "weight", "--out", tmp_path / "links")
    keat("train", "tgn", contacts / "contacts.csv", *links, *SMALL)
    options = (
        "--label",
        "odd",
        "--features",
        "weight",
        "--encoder",
        tmp_path / "links",
        "--out",
        tmp_path / "run",
    )
    assert keat("train", "tgn", contacts / "contacts.csv", *options, *SMALL).json["test"]["auc"] > 0
    wrong = keat("train", "tgn", contacts / "contacts.csv", "--encoder", tmp_path / "links", *SMALL)
    assert "An encoder is for node tasks: node-label or node-property" in assert_fails(wrong)


def test_an_attribute_of_the_coming_event(contacts: Path, tmp_path: Path) -> None:
    file, target = contacts / "contacts.csv", ("--target", "weight>5", "--known-after", "weight=60")
    beside = keat("evaluate", "heuristics", file, *target, "--json").json["results"]
    assert {"last-pair", "mean-source", "faded-mean-destination", "boosted-trees"} <= {
        each["model"] for each in beside
    }
    trained = keat("train", "tgn", file, *target, "--out", tmp_path / "run", *SMALL).json
    assert 0 <= trained["test"]["auc"] <= 1
    again = keat("evaluate", tmp_path / "run", file, "--json").json
    assert again["auc"] == pytest.approx(trained["test"]["auc"])
    said = assert_fails(keat("predict", tmp_path / "run", "--source", "1"))
    assert "Attributes of events are evaluated" in said
    assert "cannot go on with new files" in assert_fails(keat("update", tmp_path / "run", file))
    assert "has no column 'speed'" in assert_fails(keat("evaluate", "mean-pair", file, "--target", "speed"))


def test_labels_of_nodes_from_a_file(contacts: Path) -> None:
    options = ("--node-labels", contacts / "people.csv", "--positive", "-1", "--labelled", "dst")
    result = keat("evaluate", "counts", contacts / "contacts.csv", *options, "--json").json
    assert result["task"] == "node-label"
    assert 0 <= result["auc"] <= 1
    assert result["events"] > 0
    table = keat("evaluate", "counts", contacts / "contacts.csv", *options).out
    assert "95 % by the bootstrap" in table


WRONG = [
    (("--weight", "weight"), "A weight says how much an event counts within a period; give a period"),
    (("--period", "day", "--node-labels", "people.csv"), "give one"),
    (("--period", "blink"), "'blink' is not a period"),
    (("--period", "day", "--protocol", "lenient"), "Unknown protocol 'lenient'"),
    (("--task", "node-label"), "has no event labels; name their column (label)"),
    (("--task", "node-property"), "make them of its events by a period"),
    (("--node-labels", "people.csv"), "0 of 8 nodes of people.csv have the label 5"),
    (("--node-labels", "missing.csv"), "There is no file missing.csv; give a CSV of two columns"),
    (("--period", "day", "--eval-sample", "5"), "Only link tasks are sampled"),
]


@pytest.mark.parametrize(("options", "message"), WRONG, ids=lambda value: " ".join(value))
def test_what_does_not_go_together_is_said(
    options: tuple[str, ...], message: str, contacts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(contacts)
    failed = keat("evaluate", "heuristics", "contacts.csv", "--positive", "5", *options)
    assert message in assert_fails(failed)


def test_models_and_runs_of_another_kind_are_named(shares: Path, oddities: Path, contacts: Path) -> None:
    file = contacts / "contacts.csv"
    assert "counts predicts labels of events, but" in assert_fails(keat("evaluate", "counts", file))
    failed = keat("evaluate", shares, file, "--task", "link-ranking")
    assert "predicts node properties, but the task is link-ranking" in assert_fails(failed)
    failed = keat("evaluate", oddities, file, "--features", "weight", "--task", "link-ranking")
    assert "predicts labels of events, but the task is link-ranking" in assert_fails(failed)
    assert "use --source" in assert_fails(keat("predict", shares, "--pairs", file))
    assert "use --pairs" in assert_fails(keat("predict", oddities, "--source", "p1"))
