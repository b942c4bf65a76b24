"""Names that stay in their folder, and paths that are looked at before they are opened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keat.disk import expanded, is_file, look_at, map_array, safe_name
from keat.errors import InputError

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
