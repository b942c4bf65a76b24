"""`keat predict` asked what it cannot answer: one sentence, and never a number that is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import assert_fails, keat

import keat as keat_library
from keat.datasets.dgraphfin_generator import write_dgraphfin
from keat.runs.epochs import kept_file, load_tensors, read_history
from trained_runs import payments, small, trained

LAST = 1_000_000


@pytest.fixture(scope="module")
def fraud(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of labels of events, with a feature, that has seen events up to about `LAST`."""
    folder, rng = tmp_path_factory.mktemp("fraud"), np.random.default_rng(1)
    rows = ["src,dst,t,amount,odd"]
    for t in np.linspace(0, LAST / 0.85, 500).astype(int).tolist():
        a, b = rng.permutation(8)[:2].tolist()
        rows.append(f"p{a},p{b},{t},{rng.integers(1, 9)},{int(rng.random() < 0.3)}")
    (folder / "log.csv").write_text("\n".join(rows) + "\n")
    options = ("--label", "odd", "--features", "amount", "--set", "dim=8", "--epochs", "1", "--threads", "1")
    assert keat("train", "tgn", folder / "log.csv", *options, "--out", folder / "run", "--json").json
    return folder / "run"


EVENTS = [
    ("missing", "p1,p2,9000000,", "column 'amount', data row 2: the value is missing"),
    ("infinite", "p1,p2,9000000,inf", "column 'amount', data row 2: inf is not a finite float32"),
    ("no number", "p1,p2,9000000,nan", "column 'amount', data row 2: the value is missing"),
    ("beyond float32", "p1,p2,9000000,1e300", "column 'amount', data row 2: 1e+300 is not a finite float32"),
    ("text", "p1,p2,9000000,much", "column 'amount', data row 2: 'much' is not a number"),
    ("past", "p1,p2,17,3", "data row 2: 17 (s) is before"),
    ("beyond 64 bits", f"p1,p2,{2**63},3", "data row 2: 9.223372036854776e+18 does not fit 64-bit integers"),
    ("no time", "p1,p2,,3", "column 'time', data row 2: the value is missing; every event needs a time"),
    ("a word", "p1,p2,soon,3", "column 'time', data row 2: 'soon' is not a time"),
    ("a date", "p1,p2,2024-01-05,3", "data row 2: '2024-01-05' is not written as the times before it are"),
]


@pytest.mark.parametrize(("row", "message"), [row[1:] for row in EVENTS], ids=[row[0] for row in EVENTS])
def test_events_that_have_no_score(row: str, message: str, fraud: Path, tmp_path: Path) -> None:
    file = tmp_path / "new.csv"
    file.write_text(f"source,destination,time,amount\np1,p2,9000000,3\n{row}\n")
    for more in ([], ["--json"]):
        assert message in assert_fails(keat("predict", fraud, "--pairs", file, *more))


def test_events_of_now_and_of_the_far_future_have(fraud: Path, tmp_path: Path) -> None:
    last = keat_library.open(fraud).last_time
    (tmp_path / "new.csv").write_text(f"src,dst,t,amount\np1,p2,{last},3\np1,p2,{2**63 - 1},3\n")
    rows = keat("predict", fraud, "--pairs", tmp_path / "new.csv", "--json").json["pairs"]
    assert [row["time"] for row in rows] == [f"{last} (s)", f"{2**63 - 1} (s)"]


def test_a_finer_clock_is_cut_with_a_note(fraud: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("src,dst,t,amount\np1,p2,9000000,3\np1,p2,9000000.5,3\n")
    ran = keat("predict", fraud, "--pairs", tmp_path / "new.csv", "--json")
    assert [row["time"] for row in ran.json["pairs"]] == ["9000000 (s)"] * 2
    assert ran.notes[-1] == "note: Times of new are finer than those of the run ('s'), so they are cut."


TIMES = [
    (str(2**63), "is no time"),
    (str(10**30), "is no time"),
    ("-5", "is no time"),
    ("soon", "is no time; write a date like 2024-05-31 13:45:00, or a whole number in the stream's unit"),
    ("0", "seen events"),
    ("1970-01-01", "seen events"),
]


@pytest.mark.parametrize(("time", "message"), TIMES)
def test_times_out_of_range(time: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("source,destination\n3,130\n")
    ask = {
        "predict": (("--source", "3"), ("--pairs", tmp_path / "pairs.csv")),
        "explain": (("--src", "3", "--dst", "130", "--out", tmp_path),),
    }
    for verb, questions in ask.items():
        for question in questions:
            assert message in assert_fails(keat(verb, trained(small()), *question, "--time", time))
    assert {path.name for path in tmp_path.iterdir()} == {"pairs.csv"}


def test_the_end_of_time_has_a_score(tmp_path: Path) -> None:
    time = ("--time", str(2**63 - 1))
    rows = keat("predict", trained(small()), "--source", "3", *time, "--json").json["destinations"]
    assert len(rows) == 10
    ran = keat("explain", trained(small()), "--src", "3", "--dst", "130", *time, "--out", tmp_path, "--json")
    assert ran.json["explanations"][0]["t"] == 2**63 - 1


def test_a_model_that_lost_its_mind_is_said(tmp_path: Path) -> None:
    """Parameters that are no numbers: a sentence, no NaN."""
    from safetensors.torch import save_file

    run = tmp_path / "run"
    run.mkdir()
    for file in trained(small()).iterdir():
        (run / file.name).write_bytes(file.read_bytes())
    best = kept_file(run, "best", read_history(run))
    assert best is not None
    tensors = load_tensors(best)
    save_file({k: v * float("nan") if "weight" in k else v for k, v in tensors.items()}, best)
    said = assert_fails(keat("predict", run, "--source", "3", "--json"))
    assert "is no number" in said or "damaged" in said


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("graph")
    write_dgraphfin(folder / "graph.npz", 2_000, 3_000, seed=1)
    options = ("--epochs", "2", "--out", folder / "run", "--json")
    assert keat("train", "keat-gearsage", folder / "graph.npz", *options).json["epochs_now"] == 2
    return {"run": folder / "run", "file": folder / "graph.npz"}


def test_suspects_of_a_whole_graph(graph: dict[str, Any]) -> None:
    found = keat("predict", graph["run"], "--graph", graph["file"], "--top", "5", "--json").json
    test = np.load(graph["file"])["test_mask"]
    assert found["of"] == len(test)
    assert {row["node"] for row in found["nodes"]} <= set(test.tolist())
    scores = [row["score"] for row in found["nodes"]]
    assert scores == sorted(scores, reverse=True)
    every = keat("predict", graph["run"], "--graph", graph["file"], "--top", "99999999", "--json").json
    assert len(every["nodes"]) == len(test)
    frauds = np.load(graph["file"])["y"][[row["node"] for row in every["nodes"]]] == 1
    below = [(~frauds[place:]).sum() for place in np.flatnonzero(frauds)]
    auc = sum(below) / (frauds.sum() * (~frauds).sum())
    again = keat("evaluate", graph["run"], graph["file"], "--json").json
    assert auc == pytest.approx(again["auc"], abs=1e-3)  # the same ranking, but for ties
    shown = keat("predict", graph["run"], "--graph", graph["file"], "--top", "1").out
    assert f"{scores[0]:.4f}" in shown


def test_runs_say_what_they_can_do(graph: dict[str, Any], fraud: Path) -> None:
    for question in (("--source", "3"), ("--pairs", "x.csv"), ("--embeddings", "x.parquet")):
        assert "use --graph FILE" in assert_fails(keat("predict", graph["run"], *question))
    failed = keat("predict", trained(small()), "--graph", graph["file"])
    assert "is no run of a whole graph; ask it with --source or --pairs" in assert_fails(failed)
    failed = keat("explain", graph["run"], "--src", "3", "--dst", "4")
    assert "labels the nodes of a whole graph, and can be asked for the most suspect of them" in assert_fails(
        failed
    )
    failed = keat("explain", fraud, "--src", "p3", "--dst", "p4")
    assert "reads features of an event (amount); give them" in assert_fails(failed)
    failed = keat("analyze", "attention", fraud, "--data", f"payments:{len(payments().stream)}")
    assert "labels events, and can be asked for their scores" in failed.err.splitlines()[-1]
