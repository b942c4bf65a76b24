"""What a trained run is asked, checked before it is: times it can answer about, features that are numbers;
and that what it answers is a number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keat.errors import InputError, KeatError


def askable_times(times: Sequence[Any], last: int, file: Path | None = None) -> npt.NDArray[np.int64]:
    """Times of questions to a state that has seen everything up to ``last``: the past is gone from it.
    Without a ``file`` it is the time of an option."""
    found = np.asarray(times)
    if found.dtype.kind != "i" and len(found):
        row = next(k for k, t in enumerate(times) if type(t) is not int or not -(2**63) <= t < 2**63)
        raise InputError(
            f"{_place(row, file)} '{times[row]}' is no time: write a whole number below 2⁶³, in the unit "
            "of the data that the run was trained on."
        )
    past = found < last
    if past.any():
        row = int(np.argmax(past))
        raise InputError(
            f"{_place(row, file)} {times[row]} is before {last}, up to which the run has seen events; "
            "give a later time."
        )
    return found.astype(np.int64)


def numbers_of(table: pa.Table, columns: Sequence[int], file: Path) -> npt.NDArray[np.float32]:
    """Features (rows, columns) of events that are asked about."""
    features = np.zeros((table.num_rows, len(columns)), dtype=np.float32)
    for place, column in enumerate(columns):
        where = f"{file}, column '{table.column_names[column]}'"
        try:
            values = pc.cast(table.column(column), pa.float64()).to_numpy()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(f"{where}: features are numbers, and this is {error}.") from error
        with np.errstate(over="ignore"):
            features[:, place] = values
        bad = ~np.isfinite(features[:, place])
        if bad.any():
            raise InputError(
                f"{where}, data row {int(np.argmax(bad)) + 1}: the feature is missing or not finite; an "
                "event is scored by all of its features, so give it a number."
            )
    return features


def answered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with a ``score`` each; an error where one is no number."""
    for row in rows:
        if not math.isfinite(row["score"]):
            whom = f"node {row['node']}" if "node" in row else f"{row['source']} with {row['destination']}"
            raise KeatError(
                f"The score of {whom} is no number: its time or features are far from those the run was "
                "trained on, or the run is damaged."
            )
    return rows


def _place(row: int, file: Path | None) -> str:
    return "--time" if file is None else f"{file}, data row {row + 1}:"
