"""Answers as files: destinations of every source, events of a split by how they were scored, and scores of
events that are read as those of training were."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from command import ORDERS, assert_fails, keat, write_orders
from sklearn.metrics import roc_auc_score

SMALL = ("--set", "dim=8", "--set", "neighbors=3", "--epochs", "1", "--threads", "1")


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_orders(tmp_path_factory.mktemp("orders"))


@pytest.fixture(scope="module")
def run(orders: Path) -> Path:
    folder = orders.parent / "run"
    assert keat("train", "keat-tgn", orders, *ORDERS, *SMALL, "--out", folder, "--json").code == 0
    return folder


def test_destinations_of_every_source(run: Path, orders: Path, tmp_path: Path) -> None:
    file = tmp_path / "new" / "top.csv"
    ran = keat("predict", run, "--all-sources", "--top", "2", "--out", file)
    customers = {row["customer"] for row in rows_of(orders)}
    assert ran.out == f"{2 * len(customers)} rows in {file}\n"
    found = rows_of(file)
    assert list(found[0]) == ["source", "destination", "rank", "score", "share"]
    assert len(found) == 2 * len(customers)
    assert {row["source"] for row in found} == customers
    assert [row["rank"] for row in found] == ["1", "2"] * len(customers)
    one = keat("predict", run, "--source", "C-003", "--top", "2", "--json").json["destinations"]
    same = [row for row in found if row["source"] == "C-003"]
    assert [row["destination"] for row in same] == [row["destination"] for row in one]
    for mine, alone in zip(same, one, strict=True):
        assert float(mine["score"]) == pytest.approx(alone["score"], abs=1e-5)
        assert float(mine["share"]) == pytest.approx(alone["share"], abs=1e-5)
    told = keat("predict", run, "--all-sources", "--top", "2", "--out", tmp_path / "top.parquet", "--json")
    assert told.json == {"rows": len(found), "file": str(tmp_path / "top.parquet")}
    assert pq.read_table(tmp_path / "top.parquet")["source"].to_pylist() == [row["source"] for row in found]


@pytest.mark.parametrize("name", ["top.xlsx", "top", "top.csv.gz"])
def test_a_table_of_another_kind_is_refused_before_the_work(name: str, run: Path, tmp_path: Path) -> None:
    for words in (("predict", run, "--all-sources", "--out"), ("evaluate", run, "nowhere.csv", "--scores")):
        said = assert_fails(keat(*words, tmp_path / name))
        assert said == f"A table is not written as {name}; let its name end in .csv or .parquet."
    assert list(tmp_path.iterdir()) == []


def test_events_of_a_ranking_have_their_rank_the_worst_first(run: Path, orders: Path, tmp_path: Path) -> None:
    told = keat("evaluate", run, orders, *ORDERS, "--scores", tmp_path / "q.csv", "--json").json
    found, events = rows_of(tmp_path / "q.csv"), rows_of(orders)
    assert list(found[0]) == ["event", "source", "destination", "time", "rank"]
    assert len(found) == told["events"]
    ranks = [float(row["rank"]) for row in found]
    assert ranks == sorted(ranks, reverse=True)
    assert np.mean([1 / rank for rank in ranks]) == pytest.approx(told["mrr"], abs=1e-6)
    for row in found:
        event = events[int(row["event"])]
        assert (row["source"], row["destination"]) == (event["customer"], event["shop"])
        assert row["time"] == event["when"]
    shown = keat("evaluate", run, orders, *ORDERS, "--scores", tmp_path / "q.parquet").out
    assert shown.splitlines()[-1] == f"The scores: {tmp_path / 'q.parquet'}"


def test_a_sample_has_as_many_rows(run: Path, orders: Path, tmp_path: Path) -> None:
    options = (*ORDERS, "--eval-sample", "7", "--scores", tmp_path / "q.csv", "--json")
    assert keat("evaluate", run, orders, *options).json["events"] == 7
    events = [int(row["event"]) for row in rows_of(tmp_path / "q.csv")]
    assert len(set(events)) == 7
    assert min(events) >= 340  # of the test split


KINDS = ("card", "cash", "cheque")
READ = (
    *("--src", "who", "--dst", "whom", "--time", "when"),
    *("--features", "amount,kind", "--categorical", "kind", "--scale"),
)


@pytest.fixture(scope="module")
def payments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with a large amount, a kind and a label, which depends on both."""
    rng = np.random.default_rng(0)
    lines = ["who,whom,when,amount,kind,odd"]
    for k in range(600):
        amount, kind = int(rng.integers(100, 9000)), KINDS[int(rng.integers(3))]
        odd = int(amount > 5000 and kind != "card")
        lines.append(
            f"c{rng.integers(12)},s{rng.integers(6)},{1_700_000_000 + 600 * k},{amount},{kind},{odd}"
        )
    path = tmp_path_factory.mktemp("payments") / "payments.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def labelled(payments: Path) -> Path:
    folder = payments.parent / "run"
    options = (*READ, "--label", "odd", "--lr", "0.01", *SMALL, "--out", folder, "--json")
    assert keat("train", "tgn", payments, *options).code == 0
    return folder


def test_labelled_events_have_their_score_the_highest_first(
    labelled: Path, payments: Path, tmp_path: Path
) -> None:
    options = (*READ, "--label", "odd", "--scores", tmp_path / "q.csv", "--json")
    told = keat("evaluate", labelled, payments, *options).json
    found, events = rows_of(tmp_path / "q.csv"), rows_of(payments)
    assert list(found[0]) == ["event", "source", "destination", "time", "score", "label"]
    scores = [float(row["score"]) for row in found]
    assert scores == sorted(scores, reverse=True)
    assert [row["label"] for row in found] == [events[int(row["event"])]["odd"] for row in found]
    assert roc_auc_score([int(row["label"]) for row in found], scores) == pytest.approx(told["auc"], abs=1e-6)


def test_new_events_are_encoded_as_those_of_training(labelled: Path, tmp_path: Path) -> None:
    """Scaled and split into kinds with the numbers of training, and answered in the order of the file."""
    later = 1_800_000_000
    rows = [
        (later + 50, 8000, "cash"),
        (later, 8000, "card"),
        (later + 20, 200, "cash"),
        (later, 8000, "gold"),
    ]
    lines = [f"c1,s2,{when},{amount},{kind}\n" for when, amount, kind in rows]
    (tmp_path / "new.csv").write_text("who,whom,when,amount,kind\n" + "".join(lines))
    found = keat("predict", labelled, "--pairs", tmp_path / "new.csv", "--json").json["pairs"]
    assert [row["time"][-2:] for row in found] == ["50", "00", "20", "00"]
    assert all(0 <= row["probability"] <= 1 for row in found)
    assert len({row["score"] for row in found}) == 4
    for line, together in zip(lines, found, strict=True):  # neither the other rows nor their order matter
        (tmp_path / "one.csv").write_text("who,whom,when,amount,kind\n" + line)
        (alone,) = keat("predict", labelled, "--pairs", tmp_path / "one.csv", "--json").json["pairs"]
        assert alone["score"] == pytest.approx(together["score"], abs=1e-5)
        assert alone["time"] == together["time"]
    (tmp_path / "short.csv").write_text(f"who,whom,when,amount\nc1,s2,{later},5\n")
    assert "has no column 'kind'" in assert_fails(
        keat("predict", labelled, "--pairs", tmp_path / "short.csv")
    )
