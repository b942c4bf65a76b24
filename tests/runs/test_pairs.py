"""Pairs in a file are asked about under the very ids the run has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch
from keat.training.predict import score_pairs

from keat.errors import InputError
from keat.events import IdMap
from keat.models.contract import Queries


class Numbers:
    """A model whose score of a pair is made of the numbers of its nodes."""

    def last_time(self) -> int:
        return 4

    def score(self, queries: Queries) -> torch.Tensor:
        return torch.as_tensor(10.0 * queries.src[:, None] + queries.candidates)


def scores(ids: IdMap, folder: Path, text: str) -> list[tuple[Any, Any, float]]:
    (folder / "pairs.csv").write_text(text)
    model: Any = Numbers()
    return [
        (pair["source"], pair["destination"], pair["score"])
        for pair in score_pairs(model, ids, folder / "pairs.csv", 5)
    ]


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


@pytest.mark.parametrize("time", ["2024-01-31", "soon", "", "nan", "1.5", "99999999999999999999"])
def test_times_that_are_no_whole_numbers_are_refused(time: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"third column of .*pairs\.csv must hold times, whole numbers in"):
        scores(IdMap.identity(9), tmp_path, f"source,destination,time\n1,2,3\n1,2,{time}\n")


def test_pairs_that_are_not_there(tmp_path: Path) -> None:
    ids = IdMap.identity(3)
    with pytest.raises(InputError, match="data row 2: the destination is missing; fill it in"):
        scores(ids, tmp_path, "source,destination\n1,2\n1,\n")
    os.mkfifo(tmp_path / "pipe.csv")
    for place, message in (
        ("no.csv", "There is no file"),
        ("pipe.csv", "but a pipe"),
        (".", "There is no file"),
    ):
        with pytest.raises(InputError, match=message):
            score_pairs(Numbers(), ids, tmp_path / place, 5)  # type: ignore[arg-type]
