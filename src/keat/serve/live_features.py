"""Features of events as clients send them, by the names of their columns, and as the model is shown them.

The log keeps what was sent. It is encoded with the numbers that training learned, by the functions that read
files, so that an event has the same features here and in a file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keat.errors import InputError, unknown_name
from keat.events.feature_columns import RawColumn
from keat.events.feature_encoding import ColumnEncoding, encode_columns
from keat.serve.log_rows import Value

LONGEST = 1_000  # characters of a kind
LARGEST = float(np.finfo(np.float32).max)


class LiveFeatures:
    """The columns of features that events of a run have."""

    def __init__(self, columns: Sequence[ColumnEncoding], feature_dim: int, needed: bool) -> None:
        """Where they are not ``needed``, since the model does not look at them, events may come without."""
        self.columns, self.dim, self.needed = tuple(columns), feature_dim, needed
        self.names = [column.name for column in columns]
        if sum(column.encoded_width for column in columns) != feature_dim:
            raise InputError("The features of this run have no names, so events cannot be sent with them.")

    def read(self, given: Mapping[str, Value] | None) -> tuple[Value, ...]:
        """One event's features in the order of the columns, each checked. None stands for one that is not
        known, where the model does without."""
        if given is None:
            if self.needed and self.columns:
                raise InputError(f"An event of this run has features: {', '.join(self.names)}; give them.")
            return (None,) * len(self.columns)
        for name in given:
            if name not in self.names:
                raise unknown_name("feature of this run", name[:100], self.names)
        missing = [name for name in self.names if name not in given]
        if missing and self.needed:
            raise InputError(f"An event of this run also has {', '.join(missing)}; give all of its features.")
        return tuple(self._checked(column, given.get(column.name)) for column in self.columns)

    def _checked(self, column: ColumnEncoding, value: Value) -> Value:
        if value is None:
            if self.needed and column.categories is None:
                raise InputError(f"Feature '{column.name}' is missing; give a number.")
            return None
        if column.categories is not None:
            if isinstance(value, list) or len(str(value)) > LONGEST:
                raise InputError(f"Feature '{column.name}' is a kind, written as a short text.")
            return _kind(value)
        numbers = value if isinstance(value, list) else [value]
        if any(isinstance(number, str) for number in numbers) or len(numbers) != column.width:
            what = "a number" if column.width == 1 else f"a list of {column.width} numbers"
            raise InputError(f"Feature '{column.name}' must be {what}.")
        for number in numbers:
            assert isinstance(number, float)
            if not math.isfinite(number) or abs(number) > LARGEST:
                raise InputError(f"Feature '{column.name}' is {number}, which is not a finite float32.")
        return value

    def encoded(self, sent: Sequence[Sequence[Value]], events: int) -> npt.NDArray[np.float32]:
        """(events, d) of a list for each column."""
        if not self.columns or not self.needed:
            return np.zeros((events, self.dim), dtype=np.float32)
        matrix = np.zeros((events, sum(column.width for column in self.columns)), dtype=np.float32)
        raw, place = [], 0
        for column, values in zip(self.columns, sent, strict=True):
            part = matrix[:, place : place + column.width]
            place += column.width
            kinds = None
            if column.categories is None:
                part[:] = np.array(values, dtype=np.float64).reshape(events, column.width)
            else:
                written = ["" if value is None else str(value) for value in values]
                encoded = pa.array(written, pa.large_string()).dictionary_encode()
                part[:, 0] = encoded.indices.to_numpy(zero_copy_only=False)
                kinds = encoded.dictionary
            raw.append(RawColumn(column.name, column.width, kinds))
        return encode_columns(self.columns, matrix, raw, "The event")


def _kind(value: float | str) -> str:
    """A kind as it is written in a file: 3, not 3.0."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
