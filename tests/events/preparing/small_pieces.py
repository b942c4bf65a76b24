"""Preparing small logs as if they were larger than memory, and comparing with reading them in memory."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from keat.errors import InputError, Notice
from keat.events import Reading, arrow_files, text_files
from keat.events.preparing import Prepared, prepare_events
from keat.events.preparing.sizes import Sizes

TINY = Sizes(10**9, piece=1, bucket=300, table=64)  # a batch a piece, a dozen rows a bucket


def prepare_in_pieces(
    paths: Sequence[Path],
    out: Path,
    sizes: Sizes = TINY,
    batch: int = 7,
    restart: bool = False,
    **options: Any,
) -> Prepared:
    with (
        mock.patch.object(arrow_files, "BATCH", batch),
        mock.patch.object(text_files, "CSV_BLOCK", 256),
        mock.patch("os.fsync"),  # of a thousand tiny files
    ):
        reading = Reading.of(**options)
        return prepare_events(paths, out, reading, name="log", sizes=sizes, restart=restart)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def assert_as_in_memory(paths: Sequence[Path], whole: Any, tmp_path: Path, **options: Any) -> str | None:
    """The folder has the bytes that reading the whole and saving it gives, and of a single file the notices
    are the same. What is refused in memory is refused with the same words, which are returned."""
    with warnings.catch_warnings(record=True) as in_memory:
        warnings.simplefilter("always", Notice)
        try:
            learned, stream = Reading.of(**options).learn(whole, name="log")
        except InputError as error:
            return _refused(paths, tmp_path, str(error), **options)
    stream.save(tmp_path / "in-memory")
    with warnings.catch_warnings(record=True) as in_pieces:
        warnings.simplefilter("always", Notice)
        prepare_in_pieces(paths, tmp_path / "in-pieces", **options)
    assert Reading().learn(tmp_path / "in-pieces")[0] == learned
    made, wanted = contents(tmp_path / "in-pieces"), contents(tmp_path / "in-memory")
    del made["reading.json"]
    assert made.keys() == wanted.keys()
    assert [name for name in wanted if made[name] != wanted[name]] == []
    assert not [*tmp_path.glob(".*")], "something is left"
    if [*paths] == [whole]:
        assert [str(each.message) for each in in_pieces] == [str(each.message) for each in in_memory]
    return None


def _refused(paths: Sequence[Path], tmp_path: Path, told: str, **options: Any) -> str:
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError) as refused:
        prepare_in_pieces(paths, tmp_path / "in-pieces", **options)
    assert str(refused.value) == told
    assert sorted(tmp_path.iterdir()) == before
    return told
