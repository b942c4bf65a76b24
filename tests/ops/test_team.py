"""Loops on torch's threads: every row once, the same result, errors come back."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
import torch

from keat.ops import team
from keat.ops.compiling import compiled

PLENTY = 1 << 40  # of work: as many pieces as there are threads


@pytest.fixture(params=[1, 2, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@compiled
def count(begin: int, end: int, visits: npt.NDArray[np.int64]) -> None:
    for i in range(begin, end):
        visits[i] += 1


@pytest.mark.parametrize("rows", [0, 1, 2, 1000])
@pytest.mark.usefixtures("threads")
def test_every_row_once(rows: int) -> None:
    visits = np.zeros(rows, np.int64)
    team.over_rows(count, rows, PLENTY, visits)
    assert (visits == 1).all()


def test_pieces_are_one_for_each_thread_and_follow_each_other(threads: int) -> None:
    pieces = team.pieces_for(PLENTY)
    assert pieces == (threads if team._runtime() is not None else 1)
    edges = team.cuts(10, pieces)
    assert edges[0][0] == 0
    assert edges[-1][1] == 10
    assert all(left[1] == right[0] for left, right in pairwise(edges))


@pytest.mark.usefixtures("threads")
def test_little_work_stays_on_one_thread() -> None:
    assert team.pieces_for(1000) == 1


@pytest.mark.usefixtures("threads")
def test_an_error_in_any_piece_reaches_the_caller() -> None:
    def fails(*piece: int) -> None:
        if piece[1] == 10:
            raise ValueError("the last piece")

    with pytest.raises(ValueError, match="the last piece"):
        team.over_rows(fails, 10, PLENTY)


def test_without_the_runtime_pieces_run_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "_runtime", lambda: None)
    visits = np.zeros(5, np.int64)
    team.over_pieces(count, [(0, 2, visits), (2, 5, visits)])
    assert (visits == 1).all()
    assert team.pieces_for(PLENTY) == 1


def test_a_team_that_is_smaller_than_asked_does_all_the_same() -> None:
    code = """
import torch
from keat.ops import team
torch.set_num_threads(2)
done = []
team.over_pieces(done.append, [(0,), (1,), (2,)])
print(sorted(done))
"""
    limited = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=limited, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[0, 1, 2]"
