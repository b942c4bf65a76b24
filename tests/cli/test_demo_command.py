"""`keat demo`: three trained models, two tables and a picture."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from command import assert_fails, keat

from keat.models.registry import LINK_MODELS
from keat.models.tgn import TGNConfig
from keat.runs.run_file import read_run_file

PNG = b"\x89PNG\r\n\x1a\n"


def test_the_demo_prints_tables_and_draws(tmp_path: Path) -> None:
    ran = keat("demo", "--events", "2000", "--epochs", "1", "--out", tmp_path / "new" / "folder")
    assert ran.code == 0
    assert ran.err.startswith("Simulating 2,000 card payments (seed 0) …\nTraining tgn …\nepoch   1  loss")
    assert ran.out.count("│ keat-tgn ") == 2
    assert ran.out.count("payments, test split: link-ranking") == 2
    assert ran.out.count("│ local-global ") == 2
    picture = tmp_path / "new" / "folder" / "demo.png"
    assert f"The picture: {picture}" in ran.out
    assert picture.read_bytes().startswith(PNG)


def test_as_json(tmp_path: Path) -> None:
    command = ("demo", "--events", "1000", "--seed", "3", "--epochs", "1", "--out", tmp_path, "--json")
    value = keat(*command).json
    heuristics = [name for name, entry in LINK_MODELS.items() if entry.heuristic]
    shown = [*heuristics, "tgn", "keat-tgn", "keat-rank"]
    expected = [(name, refresh) for refresh in (200, 1) for name in shown]
    again = keat(*command)
    assert "epoch" not in again.err  # trained already
    assert [result["mrr"] for result in again.json["results"]] == [
        result["mrr"] for result in value["results"]
    ]
    assert [(result["model"], result["refresh"]) for result in value["results"]] == expected
    assert Path(value["picture"]).read_bytes().startswith(PNG)


def test_the_two_networks_differ_in_the_kernel_alone(tmp_path: Path) -> None:
    assert keat("demo", "--events", "1000", "--epochs", "1", "--out", tmp_path, "--json").code == 0
    plain, fading = (read_run_file(tmp_path / f"{name}-1000-0") for name in ("tgn", "keat-tgn"))
    assert isinstance(plain.spec.config, TGNConfig)
    assert isinstance(fading.spec.config, TGNConfig)
    assert (plain.spec.config.kernel, fading.spec.config.kernel) == ("identity", "laplacian")
    same = replace(fading.spec, model="tgn", config=replace(fading.spec.config, kernel="identity"))
    assert (plain.spec, plain.facts) == (same, fading.facts)


def test_without_matplotlib_the_numbers_come_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = keat("demo", "--events", "1000", "--epochs", "1", "--out", tmp_path, "--json")
    assert ran.json["picture"] is None
    assert "pip install 'keat[report]'" in ran.notes[0]
    assert list(tmp_path.glob("*.png")) == []


def test_a_folder_that_cannot_be_made_is_said_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    message = assert_fails(keat("demo", "--out", tmp_path / "file" / "folder"))
    assert "is a file and no folder; choose another place" in message
