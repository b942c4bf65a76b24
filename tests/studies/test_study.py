"""A study keeps its results as they come and does not ask twice."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("studies", reason="studies/ is not on the path; run as python -m pytest")

from studies.study import Cell, Found, Result, StudyLedger, gain, study_parser, table

from keat.errors import InputError


class Guess(Cell, frozen=True, kw_only=True):
    world: str
    seed: int


class Score(Found, frozen=True, kw_only=True):
    auc: float
    width: float | None = None


def ledger_at(path: Path) -> StudyLedger[Guess, Score]:
    return StudyLedger(path, Guess, Score)


GUESSES = [Guess(world="fades", seed=seed) for seed in (1, 2, 3, 1)]


def test_an_interrupted_study_goes_on_where_it_stopped(tmp_path: Path) -> None:
    ledger, asked = ledger_at(tmp_path / "guesses.jsonl"), list[int]()

    def ask(cell: Guess) -> Score:
        if cell.seed == 3 and asked == [1, 2]:
            raise KeyboardInterrupt
        asked.append(cell.seed)
        return Score(auc=cell.seed / 10)

    with pytest.raises(KeyboardInterrupt):
        ledger.complete(GUESSES, ask)
    assert [line.cell.seed for line in ledger.lines()] == [1, 2]
    asked.append(0)
    ledger.complete(GUESSES, ask)
    assert asked == [1, 2, 0, 3], "what is there is not asked again, and no cell twice"
    assert {line.cell.seed: line.found.auc for line in ledger.lines()} == {1: 0.1, 2: 0.2, 3: 0.3}


def test_answers_of_another_code_are_not_completed(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "guesses.jsonl")
    ledger.append(Result(GUESSES[0], Score(auc=0.1, code="another")))
    ledger.complete(GUESSES[:1], lambda _: Score(auc=0.5))  # nothing is missing
    with pytest.raises(InputError, match="answers of another code"):
        ledger.complete(GUESSES, lambda _: Score(auc=0.5))
    assert len(ledger.lines()) == 1


def test_a_line_says_where_it_was_measured(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path / "guesses.jsonl")
    ledger.complete(GUESSES[:1], lambda _: Score(auc=0.5))
    (line,) = ledger.lines()
    assert line.found.code
    assert line.found.torch
    assert line.found.machine
    assert line.found.machine.endswith(", 1 thread")
    assert "width" not in line.to_json(), "what was not measured is not written"


def test_a_line_that_is_none_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "guesses.jsonl"
    for text, what in (
        ('{"world": "fades", "auc": 0.5}', "seed"),
        ('{"world": "fades", "seed": 1, "auc": "high"}', "auc"),
        ('{"world": "fades", "seed": 1, "auc": 0.5, "ap": 0.1}', "ap"),
        ("[1]", "no object"),
    ):
        path.write_text(text + "\n")
        with pytest.raises(InputError, match=rf"Line 1 of the ledger .* is damaged .*{what}"):
            ledger_at(path).lines()


def test_the_key_of_a_line_is_its_cell() -> None:
    first, again = (Result(Guess(world="lasts", seed=1), Score(auc=auc)) for auc in (0.1, 0.9))
    assert first.key == again.key != Result(Guess(world="lasts", seed=2), Score(auc=0.1)).key


def test_numbers_as_text() -> None:
    assert gain({1: 0.5, 2: 0.75, 3: 0.1}, {1: 0.25, 2: 0.5}) == "+0.2500 [+0.2500, +0.2500]"
    assert gain({1: 0.5}, {2: 0.5}) == ""
    assert table(["a", "b"], [["1", "2"]]) == ["| a | b |", "| --- | --- |", "| 1 | 2 |"]


def test_the_usual_ledger_is_that_of_the_page() -> None:
    given = study_parser("fading", None).parse_args(["--report"])
    assert given.report
    assert given.ledger.is_file()
