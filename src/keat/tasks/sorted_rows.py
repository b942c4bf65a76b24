"""Runs of equal rows in columns that are sorted by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def begins_run(*columns: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Whether each row differs in one of these columns from the row before it; the first row does."""
    begins = np.zeros(len(columns[0]), dtype=np.bool_)
    begins[:1] = True
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return begins


def starts_of_runs(t: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where each distinct value of a sorted array begins."""
    return np.flatnonzero(begins_run(t))
