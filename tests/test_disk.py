"""Names that stay in their folder, and paths that are looked at before they are opened."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from keat.disk import expanded, is_file, lock_folder, look_at, map_array, new_file, new_folder, safe_name
from keat.errors import CacheError, InputError

ODD = [
    "../../../../escaped",
    "/etc/passwd",
    "..",
    ".",
    "",
    " ",
    "-rf",
    "a\nb",
    "a\0b",
    "a/b",
    "a\\b",
    "a_b.",
    "x" * 300,
    "ä" * 200,
    "\ud800",
    "C:x",
    "_./escaped",
]


@pytest.mark.parametrize(
    "name", ["payments", "tgbl-wiki", "orders 2024 (v2)", "bestellungen_ä", "a.b", "x" * 100]
)
def test_an_ordinary_name_stays_as_it_is(name: str) -> None:
    assert safe_name(name) == name


@pytest.mark.parametrize("name", ODD)
def test_an_odd_name_becomes_one_folder_within(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / safe_name(name)
    folder.mkdir(parents=True)
    assert [entry.name for entry in (tmp_path / "runs").iterdir()] == [safe_name(name)]
    assert [entry.name for entry in tmp_path.iterdir()] == ["runs"]
    assert not safe_name(name).startswith(("-", "."))
    assert len(safe_name(name).encode()) <= 110


def test_two_names_never_become_one() -> None:
    names = [*ODD, "a_b", "x" * 299 + "y", "_etc_passwd", safe_name("a/b")]
    assert len({safe_name(name) for name in names}) == len(names)


def test_what_is_at_a_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "gone").symlink_to("nowhere")
    assert look_at(tmp_path) == "folder"
    assert is_file(tmp_path / "file")
    assert look_at(tmp_path / "gone") is None
    assert look_at(tmp_path / "file" / "below") is None
    assert not is_file(tmp_path)


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_a_name_that_no_file_can_have(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"^Cannot use .* \((File name too long|embedded null byte)\); check"
    ):
        look_at(tmp_path / name)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="neither a file nor a folder but a pipe or a device"):
        look_at(tmp_path / "pipe")
    with pytest.raises(InputError, match="neither a file nor a folder but a pipe or a device"):
        map_array(tmp_path / "pipe")


def test_nobodys_home() -> None:
    with pytest.raises(InputError, match="names a home folder that is not here"):
        expanded("~nobody-at-all/x.csv")


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
