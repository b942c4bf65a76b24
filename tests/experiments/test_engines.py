"""Calls are worked off once each, and a worker that dies is replaced, though not for ever."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from keat.errors import InputError, KeatError, UnknownNameError
from keat.experiments.engines import Call, on_engine
from keat.experiments.process_engine import on_processes


def doubled(number: int, folder: str, dies: int) -> int:
    """Is killed with 2 in its hands, so many times."""
    deaths = Path(folder, "deaths")
    before = len(deaths.read_text()) if deaths.exists() else 0
    if number == 2 and before < dies:
        deaths.write_text("x" * (before + 1))
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 9:
        raise InputError("Nine is refused.")
    return 2 * number


def calls(folder: Path, dies: int, *numbers: int) -> Iterator[Call]:
    yield from ((f"call {number}", (number, str(folder), dies)) for number in numbers)


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    found = dict(on_processes(doubled, calls(tmp_path, 2, 1, 2, 3), 2))
    assert found == {"call 1": 2, "call 2": 4, "call 3": 6}
    assert (tmp_path / "deaths").read_text() == "xx"


def test_one_that_dies_again_and_again_is_named(tmp_path: Path) -> None:
    with pytest.raises(KeatError, match=r"died 4 times with call 2 not done.*start fewer workers"):
        dict(on_processes(doubled, calls(tmp_path, 99, 2), 2))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_is_that_of_the_work(tmp_path: Path, workers: int) -> None:
    with pytest.raises(InputError, match="Nine is refused"):
        dict(on_processes(doubled, calls(tmp_path, 0, 1, 9), workers))


def test_an_engine_is_known_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Unknown engine 'rai'"):
        dict(on_engine("rai", doubled, calls(tmp_path, 0, 1), 1))  # type: ignore[arg-type]
