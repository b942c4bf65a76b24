"""Negatives kept on disk: a (B, M) matrix of destinations and how many entries of each row count.

They are mapped into memory and checked before any model is asked about them: a number that is no node would
be read from wherever it points to.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import numpy.typing as npt

from keat.disk import look_at, map_array
from keat.events.checking import first_outside

Negatives = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]
MATRIX, LENGTHS = "negatives.npy", "lengths.npy"


def open_negatives(folder: Path, positives: int, num_nodes: int) -> Negatives:
    """The matrix and the lengths in ``folder``; `ValueError` says what is wrong with them."""
    matrix, lengths = map_array(folder / MATRIX), map_array(folder / LENGTHS)
    for array, name, dimensions in ((matrix, MATRIX, 2), (lengths, LENGTHS, 1)):
        if array.dtype != np.int32 or array.ndim != dimensions or len(array) != positives:
            raise ValueError(f"{name} is {array.dtype} of shape {array.shape} for {positives} positives")
    if (row := first_outside(lengths, 0, matrix.shape[1] + 1)) is not None:
        raise ValueError(f"{LENGTHS} counts {lengths[row]} negatives at row {row + 1}")
    if (place := first_outside(matrix.ravel(), 0, num_nodes)) is not None:
        raise ValueError(f"{MATRIX} names node {matrix.ravel()[place]} of {num_nodes}")
    return matrix, lengths


def discard(folder: Path) -> None:
    """Take away what is damaged, as far as that is possible."""
    if look_at(folder) == "folder":
        shutil.rmtree(folder, ignore_errors=True)
    else:
        folder.unlink(missing_ok=True)
