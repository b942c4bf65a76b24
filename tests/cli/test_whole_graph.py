"""GEARSage by the command."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import assert_fails, keat

from keat.datasets.dgraphfin_generator import write_dgraphfin


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dgraphfin") / "graph.npz"
    write_dgraphfin(path, 2_000, 3_000, seed=1)
    return path


def test_a_run_is_trained_and_evaluated_again(graph: Path, tmp_path: Path) -> None:
    trained = keat("train", "keat-gearsage", graph, "--epochs", "2", "--out", tmp_path / "run", "--json").json
    assert trained["epochs_now"] == 2
    assert 0 <= trained["test"]["auc"] <= 1
    again = keat("evaluate", tmp_path / "run", graph, "--json").json
    assert again["auc"] == pytest.approx(trained["test"]["auc"])
    assert again["task"] == "graph-label"
    shown = keat("evaluate", tmp_path / "run", graph, "--split", "val")
    assert f"{trained['val']['auc']:.4f}" in shown.out
    more = keat("train", "keat-gearsage", graph, "--epochs", "3", "--out", tmp_path / "run", "--resume")
    assert more.code == 0
    assert "best epoch" in more.out


def test_a_kernel_that_does_not_exist(graph: Path, tmp_path: Path) -> None:
    said = assert_fails(keat("train", "gearsage", graph, "--kernel", "laplace", "--out", tmp_path / "run"))
    assert "laplacian" in said
