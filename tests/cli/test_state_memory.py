"""A budget of memory for what keat-rank remembers: chosen in training, kept with the run, and told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command import assert_fails, keat

from keat.runs import open as open_run
from keat.serve.engine import Engine
from keat.serve.service_metrics import memory_metrics

HEADER, READ = "u,v,t\n", ("--src", "u", "--dst", "v", "--time", "t")
EVENTS = 9000


def rows(first: int, last: int) -> str:
    """Hardly any pair meets twice."""
    rng = np.random.default_rng(3)
    u, v = rng.integers(0, 100, (2, EVENTS))
    return "".join(f"a{u[k]},b{v[k]},{60 * k}\n" for k in range(first, last))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("budget")
    (folder / "log.csv").write_text(HEADER + rows(0, 6000))
    words = (*READ, "--epochs", "1", "--set", "hidden=8", "--out", folder / "run", "--eval-sample", "100")
    trained = keat("train", "keat-rank", folder / "log.csv", *words, "--state-memory", "1MB", "--json")
    assert trained.code == 0, trained
    memory = trained.json["state_memory"]
    assert memory["dropped"] > 500
    assert memory["bytes"] <= memory["budget"] == 1_000_000
    return folder / "run"


def test_it_is_kept_with_the_run_and_told_wherever_the_state_changes(run: Path) -> None:
    opened = open_run(run)
    before = opened.memory
    assert before is not None
    assert str(before) in (run / "report.html").read_text(encoding="utf-8")
    later = run.parent / "later.csv"
    later.write_text(HEADER + rows(6000, EVENTS))
    told = keat("update", run, later, "--json").json["state_memory"]
    assert told["dropped"] > before.dropped
    again = open_run(run).memory
    assert again is not None
    assert again._asdict() == told
    assert f"{told['dropped']:,} pairs were forgotten" in keat("update", run, later).out
    engine = Engine(run)
    assert memory_metrics(engine.state.model)["keat_dropped_pairs_total"][2] == told["dropped"]
    engine.close()


def test_what_is_no_budget_is_refused(run: Path) -> None:
    train = ("train", "keat-rank", run.parent / "log.csv", *READ, "--out", run.parent / "other")
    assert "'much' is no amount of memory" in assert_fails(keat(*train, "--state-memory", "much"))
    too_little = keat(*train, "--state-memory", "50kB")
    assert too_little.code == 1
    assert "200 nodes do not fit a state of 0.1 MB; give --state-memory at least 1MB." in too_little.err
