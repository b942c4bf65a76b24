"""`keat reproduce` as a user types it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from command import assert_fails, keat
from small_plan import small_plan


@pytest.fixture(autouse=True)
def _workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no --out is given, reports go into the working directory."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def plan(tmp_path: Path) -> list[str | Path]:
    return small_plan(tmp_path)


def test_a_recipe_is_run_once_and_shown(plan: list[str | Path]) -> None:
    first = keat(*plan)
    assert first.code == 0
    assert "5 to go" in first.err
    again = keat(*plan, "--json")
    assert "0 to go" in again.err
    (table,) = again.json["tables"]
    assert [row["label"] for row in table["rows"]] == ["EdgeBank", "TGN", "KEAT"]
    assert [row["seeds"] for row in table["rows"]] == [1, 2, 2]
    assert table["rows"][1]["test"] in first.out
    page = keat(*plan, "--markdown")
    assert page.out.startswith("| model | seeds |")
    assert table["rows"][2]["test"] in page.out


def test_the_list_names_all_and_says_what_is_missing() -> None:
    entries = {entry["name"]: entry for entry in keat("reproduce", "list", "--json").json["entries"]}
    assert {"table-link", "table-kernels", "table-params", "figure-moments"} <= entries.keys()
    assert "tgbl-flight" in entries["table-flight"]["state"]


def test_the_list_has_titles_and_commands_that_can_be_copied(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 20)
    folder.mkdir()
    small_plan(folder)
    file, ledger = f"wikipedia={folder / 'mine.parquet'}", folder / "ledger.jsonl"
    shown = keat("reproduce", "list", "--data", file, "--ledger", ledger).out.splitlines()
    assert "figure-moments: Decay of moments" in shown
    assert f"  keat reproduce table-link {shlex.join(['--data', file, '--ledger', str(ledger)])}" in shown


def test_parameters_equal_the_papers() -> None:
    for row in keat("reproduce", "table-params", "--json").json["rows"]:
        assert row["total"] == row["paper's total"]


def test_moments_equal_their_closed_form(tmp_path: Path) -> None:
    value = keat("reproduce", "figure-moments", "--out", tmp_path / "m.png", "--json").json
    for row in value["rows"]:
        assert row["R_n"] == pytest.approx((1 + row["a"]) ** -(row["n"] + 1), abs=1e-6)
    assert (tmp_path / "m.png").exists()


def test_mistakes_get_a_sentence(plan: list[str | Path]) -> None:
    assert "--data tgbl-flight=FILE" in assert_fails(keat("reproduce", "table-flight"))
    assert "did you mean 'table-link'" in assert_fails(keat("reproduce", "table-lnk"))
    assert "figure-moments" in assert_fails(keat("reproduce", "nonsense"))
    assert "did you mean 'table-params'" in assert_fails(keat("reproduce", "table-param"))
    assert "NAME=FILE" in assert_fails(keat("reproduce", "table-link", "--data", "wikipedia"))
    assert "name one or more, each as NAME=FILE" in assert_fails(keat("reproduce", "figure-gaps"))
    assert "did you mean 'ray'" in assert_fails(keat(*plan, "--engine", "rey"))
