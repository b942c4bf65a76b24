"""Bytes that are cut off or flipped in any file of a service: an older snapshot or a refusal, never another
state, and never fewer events than were acknowledged."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from live_runs import checked, later_events, live_run

from keat.errors import KeatError
from keat.serve.engine import Engine

SEVERAL = 12  # places of each file, the first near its beginning: a WAL ends with what was moved long ago
PAGE = 4_096


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run whose service was killed: four snapshots were written, and rows are in the WAL alone."""
    folder = tmp_path_factory.mktemp("damage")
    run = live_run("keat-rank", folder)
    engine = Engine(run, "process")
    events = checked(engine, later_events(engine, 120))
    for start in range(0, 120, 10):
        engine.take(events[start : start + 10])
        if start % 30 == 10:
            engine.snapshot()
        if start == 60:
            engine.log.tidy()
    copy = folder / "killed"
    shutil.copytree(run, copy, ignore=shutil.ignore_patterns(".lock"))
    digest = engine.digest()
    engine.close()
    return copy, digest


def opened(run: Path) -> str:
    """The state that a service begins with, and how many events it knows; or that it refuses to begin."""
    try:
        engine = Engine(run, "process")
    except KeatError as error:
        sentence = str(error)
        assert sentence.endswith(".")
        assert "\n" not in sentence
        return "refused"
    try:
        return f"{engine.digest()} {engine.log.tail.event}"
    finally:
        engine.close()


def files_of(run: Path) -> list[str]:
    return sorted(
        path.name for path in (run / "live").iterdir() if path.name not in (".lock", "log.sqlite-shm")
    )


def test_the_service_that_is_damaged_below_is_sound(served: tuple[Path, str], tmp_path: Path) -> None:
    run, digest = served
    shutil.copytree(run, tmp_path / "run")
    assert opened(tmp_path / "run") == f"{digest} 120"
    names = files_of(run)
    assert sum(name.startswith("snapshot-") for name in names) == 3
    assert {"head", "log.sqlite", "log.sqlite-wal"} <= set(names)


@pytest.mark.parametrize("kind", ["flipped", "cut", "emptied", "gone"])
def test_damage_is_found(
    kind: str, served: tuple[Path, str], tmp_path: Path, moments: np.random.Generator
) -> None:
    run, digest = served
    right, found = f"{digest} 120", {}
    for name in files_of(run):
        for number in range(SEVERAL if kind in ("flipped", "cut") else 1):
            copy = tmp_path / "run"
            shutil.copytree(run, copy)
            path = copy / "live" / name
            content = bytearray(path.read_bytes())
            place = int(moments.integers(0, len(content) if number else min(len(content), PAGE)))
            if kind == "flipped":
                content[place] ^= 1 << int(moments.integers(0, 8))
            elif kind == "cut":
                del content[place:]
            elif kind == "emptied":
                content.clear()
            if kind == "gone":
                path.unlink()
            else:
                path.write_bytes(bytes(content))
            outcome = opened(copy)
            assert outcome in (right, "refused"), f"{name} {kind} at {place}"
            found[name, number] = outcome
            shutil.rmtree(copy)
    snapshots = {outcome for (name, _), outcome in found.items() if name.startswith("snapshot-")}
    assert snapshots == {right}  # the older one, or the whole log
    if kind != "flipped":
        assert {found["log.sqlite-wal", 0]} == {"refused"}
        assert found["head", 0] == right


def test_a_damaged_row_is_not_answered_from(served: tuple[Path, str], tmp_path: Path) -> None:
    run, _ = served
    shutil.copytree(run, tmp_path / "run")
    engine = Engine(tmp_path / "run", "process")
    engine.log._base.execute("UPDATE batches SET body = zeroblob(length(body)) WHERE first = 31")
    with pytest.raises(KeatError, match="damaged"):
        engine.answer(35)
    assert engine.answer(25).seq == 25
    engine.close()
    assert opened(tmp_path / "run") == "refused"  # the clients' ids in it are needed


def test_rows_that_were_moved_or_taken_out_are_found(served: tuple[Path, str], tmp_path: Path) -> None:
    run, _ = served
    changes = [
        "DELETE FROM batches WHERE first = 111",
        "DELETE FROM batches WHERE first = 101",
        "DELETE FROM batches",
        "UPDATE batches SET first = first + 1 WHERE first = 111",
        "UPDATE batches SET body = (SELECT body FROM batches WHERE first = 1) WHERE first = 111",
    ]
    for number, change in enumerate(changes):
        copy = tmp_path / f"run {number}"
        shutil.copytree(run, copy)
        engine = Engine(copy, "process")
        engine.log._base.execute(change)
        engine.close()
        assert opened(copy) == "refused", change
