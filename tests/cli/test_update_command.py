"""`keat update`, and predictions from everything that was seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command import assert_fails, keat

HEADER = "customer,shop,when\n"


def orders(first: int, last: int, seed: int = 0) -> list[str]:
    """One order every ten minutes of 2024."""
    rng = np.random.default_rng(seed)
    start = np.datetime64("2024-01-01T00:00:00")
    customer, shop = rng.integers(0, 15, 600), rng.integers(0, 6, 600)
    when = [str(start + np.timedelta64(600 * k, "s")).replace("T", " ") for k in range(600)]
    return [f"C-{customer[k]:03},shop {shop[k]},{when[k]}\n" for k in range(first, last)]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "orders.csv").write_text(HEADER + "".join(orders(0, 400)))
    words = ("--src", "customer", "--dst", "shop", "--time", "when", "--epochs", "1", "--set", "hidden=8")
    assert keat("train", "keat-rank", tmp_path / "orders.csv", *words, "--out", tmp_path / "run").code == 0
    return tmp_path / "run"


def test_a_run_is_updated_and_answers_from_all_it_has_seen(run: Path, tmp_path: Path) -> None:
    said = keat("predict", run, "--source", "C-003", "--top", "2").out
    assert "At 2024-01-03 18:30:01" in said  # right after the last order of the file
    (tmp_path / "today.csv").write_text(
        HEADER + "".join(orders(400, 600)) + "N-1,shop 9,2024-01-05 09:00:00\n"
    )
    first = keat("update", run, tmp_path / "today.csv", "--json").json
    assert (first["events"], first["newcomers"], first["known"]) == (201, 2, 0)
    again = keat("update", run, tmp_path / "today.csv", "--json").json
    assert (again["events"], again["known"]) == (0, 201)
    assert "2024-01-05 09:00:00" in keat("update", run, tmp_path / "today.csv").out
    rows = keat("predict", run, "--source", "N-1", "--time", "2024-01-06", "--json").json["destinations"]
    assert "shop 9" in [row["destination"] for row in rows]


def test_the_past_is_refused_and_nothing_is_lost(run: Path, tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text(HEADER + "C-001,shop 1,2023-12-31 10:00:00\n")
    assert "1 rows of old are older than 2024-01-03 18:30:00" in assert_fails(
        keat("update", run, tmp_path / "old.csv")
    )
    clamped = keat("update", run, tmp_path / "old.csv", "--late", "clamp", "--json").json
    assert (clamped["events"], clamped["clamped"]) == (1, 1)
    assert "did you mean 'clamp'" in assert_fails(keat("update", run, tmp_path / "old.csv", "--late", "clam"))
    assert "is before 2024-01-03" in assert_fails(
        keat("predict", run, "--source", "C-001", "--time", "2024-01-02")
    )


def test_a_run_reads_a_file_as_it_read_that_of_training(run: Path, tmp_path: Path) -> None:
    """Columns are named again only where they are called otherwise."""
    asked = ("--refresh", "1", "--json")
    named = ("--src", "customer", "--dst", "shop", "--time", "when")
    plain = keat("evaluate", run, tmp_path / "orders.csv", *asked).json
    told = keat("evaluate", run, tmp_path / "orders.csv", *named, *asked).json
    other = tmp_path / "other.csv"
    other.write_text("u,v,t\n" + "".join(orders(0, 400)))
    renamed = keat("evaluate", run, other, "--src", "u", "--dst", "v", "--time", "t", *asked).json
    assert plain["mrr"] == told["mrr"] == renamed["mrr"]
    assert_fails(keat("evaluate", run, other, *asked))
