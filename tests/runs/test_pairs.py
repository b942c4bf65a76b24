"""Pairs in a file are asked about under the very ids the run has, at times as people write them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from keat.errors import InputError
from keat.events import IdMap, Reading
from keat.models.contract import Queries
from keat.runs.answers import Answers
from keat.runs.node_names import NodeNames
from keat.runs.present import Present


class Numbers:
    """A model whose score of a pair is made of the numbers of its nodes."""

    cuts_matter = False

    def last_time(self) -> int:
        return 4

    def score(self, queries: Queries) -> torch.Tensor:
        return torch.as_tensor(10.0 * queries.src[:, None] + queries.candidates)


def answers(ids: IdMap) -> Answers:
    model: Any = Numbers()
    return Answers(Present(model, "s", NodeNames.of(ids)), Reading(), None)


def rows(ids: IdMap, folder: Path, text: str) -> list[dict[str, Any]]:
    (folder / "pairs.csv").write_text(text)
    return answers(ids).score(folder / "pairs.csv").to_pylist()


def scores(ids: IdMap, folder: Path, text: str) -> list[tuple[Any, Any, float]]:
    return [(row["source"], row["destination"], row["score"]) for row in rows(ids, folder, text)]


def test_text_stays_text_with_its_zeros(tmp_path: Path) -> None:
    ids = IdMap(pa.array(["x", "7", "007", "0042", "1e3"]))
    found = scores(ids, tmp_path, "source,destination\n007,7\n7,007\n0042, 1e3\n")
    assert found == [("007", "7", 21), ("7", "007", 12), ("0042", "1e3", 34)]


def test_numbers_stay_numbers(tmp_path: Path) -> None:
    ids = IdMap(pa.array([7, 2**53 + 1, 2**53]))
    found = scores(ids, tmp_path, f"source,destination\n7,{2**53 + 1}\n{2**53}, 7\n")
    assert found == [(7, 2**53 + 1, 1), (2**53, 7, 20)]


@pytest.mark.parametrize("written", ["7.0", "007", "1e3", "seven"])
def test_what_is_no_such_number_is_refused(written: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"whole numbers, written like 7 or 42; '{written}' is not"):
        scores(IdMap(pa.array([7, 1000])), tmp_path, f"source,destination\n7,7\n{written},7\n")


def test_times_are_numbers_or_dates(tmp_path: Path) -> None:
    found = rows(IdMap.identity(9), tmp_path, "source,destination,time\n1,2,9\n3,2,4\n")
    assert [row["time"] for row in found] == ["9 (s)", "4 (s)"]
    found = rows(IdMap.identity(9), tmp_path, "source,destination,time\n1,2,5\n1,2,2024-01-31\n")
    assert [row["time"] for row in found] == ["5 (s)", "2024-01-31 00:00:00"]
    found = rows(IdMap.identity(9), tmp_path, "source,destination\n1,2\n")
    assert [row["time"] for row in found] == ["5 (s)"]  # right after what was seen


@pytest.mark.parametrize(
    ("time", "told"),
    [
        ("soon", "'soon' is no time; write a date like"),
        ("", "data row 2: 'time' is missing"),
        ("nan", "data row 2: 'time' is missing"),
        ("1.5", r"'1\.5' is no time"),
        ("99999999999999999999", "is no time"),
        ("-7", "-7 is no time: times are whole numbers from 0"),
        ("3", r"3 \(s\) is before 4 \(s\), up to which the run has seen events"),
    ],
)
def test_times_that_are_none_or_past_are_refused(time: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=told):
        scores(IdMap.identity(9), tmp_path, f"source,destination,time\n1,2,5\n1,2,{time}\n")


def test_a_time_may_be_a_number_of_numpy() -> None:
    asked = answers(IdMap.identity(3))
    assert asked.moment(np.int64(7)) == asked.moment(7.0) == asked.moment("7") == 7
    for wrong in (True, 7.5, float("nan"), float("inf"), [7]):
        with pytest.raises(InputError, match="is no time"):
            asked.moment(wrong)


def test_pairs_that_are_not_there(tmp_path: Path) -> None:
    ids = IdMap.identity(3)
    with pytest.raises(InputError, match="data row 2: 'destination' is missing; fill it in"):
        scores(ids, tmp_path, "source,destination\n1,2\n1,\n")
    os.mkfifo(tmp_path / "pipe.csv")
    for place, message in (
        ("no.csv", "does not exist; check the path"),
        ("pipe.csv", "but a pipe"),
        (".", "is a folder"),
    ):
        with pytest.raises(InputError, match=message):
            answers(ids).score(tmp_path / place)
