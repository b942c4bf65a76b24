"""What is written is there as a whole or not at all, and one process writes at a time."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from keat.disk import lock_folder, new_file, new_folder
from keat.errors import CacheError, InputError


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (".", "is a folder; name a file in it"),
        ("file/below/x", "since .*file is a file and no folder"),
        ("pipe", "neither a file nor a folder"),
        ("x" * 300, "File name too long"),
    ],
)
def test_places_where_no_file_can_be(place: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=message), new_file(tmp_path / place):
        raise AssertionError("nothing can be written there")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "pipe"]


def test_a_new_file_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    for text in ("one", "two"):
        with new_file(path) as part:
            part.write_text(text)
        assert path.read_text() == text

    def fail() -> None:
        with new_file(path) as part:
            part.write_text("thr")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(
        CacheError, match=r"Cannot write .*file\.txt \(No space left on device\); free some sp"
    ):
        fail()
    assert path.read_text() == "two"
    assert [entry.name for entry in path.parent.iterdir()] == ["file.txt"]
    (tmp_path / "link.txt").symlink_to(path)
    with new_file(tmp_path / "link.txt") as part:
        part.write_text("three")
    assert (tmp_path / "link.txt").is_symlink()
    assert path.read_text() == "three"


def test_of_a_failure_no_folder_is_left(tmp_path: Path) -> None:
    def fail(make: Any) -> None:
        with make(tmp_path / "some" / "where" / "x") as part:
            assert part.parent.parent == tmp_path / "some" / "where"
            raise OSError(errno.EACCES, "Permission denied")

    for make in (new_file, new_folder):
        with pytest.raises(CacheError, match=r"where/x \(Permission denied\); make it writable, or choose"):
            fail(make)
        assert list(tmp_path.iterdir()) == []


def test_a_new_folder_replaces_or_gives_way(tmp_path: Path) -> None:
    for text, replace, found in (("one", False, "one"), ("two", False, "one"), ("three", True, "three")):
        with new_folder(tmp_path / "made", replace=replace) as part:
            (part / "file").write_text(text)
        assert (tmp_path / "made" / "file").read_text() == found
        assert [entry.name for entry in tmp_path.iterdir()] == ["made"]


def test_a_lock_is_waited_for_and_then_said(tmp_path: Path) -> None:
    held = lock_folder(tmp_path, "busy.")
    with pytest.raises(InputError, match=r"^busy\.$"):
        lock_folder(tmp_path, "busy.", seconds=0.05)
    held.release()
    lock_folder(tmp_path, "busy.", seconds=0.05).release()
