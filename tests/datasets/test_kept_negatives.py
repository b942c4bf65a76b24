"""Negatives are drawn once, and again where what is kept of them is of no use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from keat.datasets import kept_negatives
from keat.datasets.kept_negatives import MATRIX, Negatives, drawn_once, negatives_folder
from keat.errors import Notice

POSITIVES, NODES = 5, 9


class Drawing:
    """Draws the same negatives every time, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, file: Path | None) -> Negatives:
        self.times += 1
        matrix = np.arange(2 * POSITIVES, dtype=np.int32).reshape(POSITIVES, 2) % NODES
        if file is not None:
            np.save(file, matrix)
        return matrix, np.full(POSITIVES, 2, np.int32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEAT_DATA", str(tmp_path))
    return negatives_folder("tgbl-coin", "test-hist-rnd-2-seed42", [np.arange(3)])


def test_the_folder_is_that_of_the_dataset_and_of_the_columns(folder: Path, tmp_path: Path) -> None:
    assert folder.parent == tmp_path / "tgbl-coin" / "negatives"
    assert folder == negatives_folder("tgbl-coin", "test-hist-rnd-2-seed42", [np.arange(3)])
    assert folder != negatives_folder("tgbl-coin", "test-hist-rnd-2-seed42", [np.arange(4)])


def test_they_are_drawn_once_and_mapped_from_then_on(folder: Path) -> None:
    draw = Drawing()
    first = drawn_once(folder, POSITIVES, NODES, draw)
    again = drawn_once(folder, POSITIVES, NODES, draw)
    assert draw.times == 1
    assert isinstance(again[0].base, np.memmap)
    for ours, theirs in zip(first, again, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_damaged_ones_are_drawn_again(folder: Path) -> None:
    draw = Drawing()
    drawn_once(folder, POSITIVES, NODES, draw)
    np.save(folder / MATRIX, np.full((POSITIVES, 2), NODES, np.int32))
    with pytest.warns(Notice, match=r"are damaged \(.*names node 9 of 9\) and are drawn again"):
        matrix, _ = drawn_once(folder, POSITIVES, NODES, draw)
    assert draw.times == 2
    assert matrix.max() < NODES


def test_damaged_ones_that_cannot_be_taken_away_are_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = Drawing()
    drawn_once(folder, POSITIVES, NODES, draw)
    np.save(folder / MATRIX, np.full((POSITIVES, 2), NODES, np.int32))
    monkeypatch.setattr(kept_negatives, "discard", lambda _: None)
    with pytest.warns(Notice, match="are damaged"):
        matrix, _ = drawn_once(folder, POSITIVES, NODES, draw)
    assert matrix.max() < NODES


def test_without_a_place_they_stay_in_memory(folder: Path) -> None:
    folder.parent.parent.mkdir(parents=True)
    folder.parent.write_text("a file in the way")
    with pytest.warns(Notice, match="Negatives are kept in memory instead"):
        matrix, lengths = drawn_once(folder, POSITIVES, NODES, Drawing())
    assert (matrix.shape, lengths.tolist()) == ((POSITIVES, 2), [2] * POSITIVES)
