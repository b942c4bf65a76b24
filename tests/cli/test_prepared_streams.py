"""Everything that works on a file works on a stream that was prepared of it, with the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import ORDERS, Ran, keat, write_orders

from keat.serve.engine import Engine
from keat.serve.events import Event
from keat.serve.sealing import seal

FEW = ("--epochs", "1", "--set", "hidden=8")
COLUMNS = (*ORDERS, "--features", "amount")


@pytest.fixture
def both(tmp_path: Path) -> dict[Path, tuple[str, ...]]:
    """A file and what was prepared of it, each with the options to read it with."""
    orders, prepared = write_orders(tmp_path), tmp_path / "prepared"
    assert keat("data", "prepare", orders, "--out", prepared, *COLUMNS).code == 0
    return {orders: COLUMNS, prepared: ()}


def told(ran: Ran, *without: str) -> dict[str, Any]:
    """The answer, but for what a clock or a name of a place decided."""
    assert ran.code == 0, ran
    found = {name: value for name, value in ran.json.items() if name not in without}
    for result in found.get("results", ()):
        del result["seconds"]
    return found


def test_info_and_heuristics(both: dict[Path, tuple[str, ...]]) -> None:
    for verb in (("data", "info"), ("evaluate", "heuristics")):
        of_file, of_prepared = (
            told(keat(*verb, data, *words, "--json"), "seconds") for data, words in both.items()
        )
        assert of_file == of_prepared, verb


def test_a_run_is_trained_evaluated_updated_and_served(
    both: dict[Path, tuple[str, ...]], tmp_path: Path
) -> None:
    (tmp_path / "later").mkdir()
    later = tmp_path / "later" / "today.csv"
    rows = ("C-003,gym,2024-02-01 10:00:00,2.5", "N-1,gym,2024-02-02 10:00:00,1")
    later.write_text("\n".join(("customer,shop,when,amount", *rows, "")))
    numbers = []
    for place, (data, words) in enumerate(both.items()):
        run = tmp_path / f"run-{place}"
        trained = told(
            keat("train", "keat-rank", data, *words, *FEW, "--out", run, "--json"), "run", "report"
        )
        evaluated = told(keat("evaluate", run, data, *words, "--json"), "seconds", "model")
        updated = told(keat("update", run, later, "--json"), "run")
        engine = Engine(run)
        event = Event("C-003", "gym", "2024-02-03 10:00:00", features={"amount": 12.5})
        answers = engine.take([engine.checker.event(event)])
        assert seal(run, tmp_path / f"log-{place}.parquet") == 1
        engine.close()
        numbers.append((trained, evaluated, updated, answers[0].logit))
    assert numbers[0] == numbers[1]
    assert numbers[0][2]["events"] == 2
