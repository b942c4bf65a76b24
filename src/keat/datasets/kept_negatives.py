"""Negatives kept on disk: a (B, M) matrix of destinations and how many entries of each row count.

They are mapped into memory and checked before any model is asked about them: a number that is no node would
be read from wherever it points to. Each has a folder, which is moved in whole, so that two processes cannot
disturb each other.
"""

from __future__ import annotations

import hashlib
import shutil
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keat.datasets.data_folder import OTHERWISE, data_folder
from keat.disk import look_at, map_array, new_folder
from keat.errors import CacheError, Notice
from keat.events.soundness import first_outside

Negatives = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]
MATRIX, LENGTHS = "negatives.npy", "lengths.npy"


def negatives_folder(dataset: str, name: str, made_of: Iterable[npt.NDArray[Any]]) -> Path:
    """Where drawn negatives of a dataset are kept; the name says how they are drawn and of which columns."""
    digest = hashlib.blake2b(digest_size=8)
    for column in made_of:
        digest.update(np.ascontiguousarray(column).data)
    return data_folder() / dataset / "negatives" / f"{name}-{digest.hexdigest()}"


def drawn_once(
    folder: Path, positives: int, num_nodes: int, draw: Callable[[Path | None], Negatives]
) -> Negatives:
    """Negatives from ``folder``. If they are not there or damaged, they are drawn into a file of it; into
    memory, where that cannot be written."""
    if look_at(folder) is not None:
        try:
            return open_negatives(folder, positives, num_nodes)
        except ValueError as error:
            damage = f"The negatives in {folder} are damaged ({error}) and are drawn again."
            warnings.warn(damage, Notice, stacklevel=5)
            discard(folder)
    try:
        with new_folder(folder, OTHERWISE) as made:
            _, lengths = draw(made / MATRIX)
            np.save(made / LENGTHS, lengths)
    except CacheError as error:
        warnings.warn(f"{error} Negatives are kept in memory instead.", Notice, stacklevel=5)
        return draw(None)
    try:
        return open_negatives(folder, positives, num_nodes)
    except ValueError:  # damaged ones could not be taken away
        return draw(None)


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
