"""One column of a file or frame, which knows where it came from and can say what is wrong with it.

Rows are always counted as *data rows*: the first event is data row 1, a header is not counted.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keat.errors import InputError, Notice


class ReadAnewError(Exception):
    """A later piece shows that earlier ones have to be read in another way, which is known now."""


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Values with the names that an error gives them."""

    where: str  # the file or frame, as the user calls it
    name: str
    data: pa.ChunkedArray
    first: int = 0  # the data row that it begins with, counted from 0, where it is a piece of a longer column

    @property
    def type(self) -> pa.DataType:
        return self.data.type

    def __len__(self) -> int:
        return len(self.data)

    def holding(self, data: pa.ChunkedArray) -> Column:
        """The same column with other data."""
        return replace(self, data=data)

    def without_data(self) -> Column:
        """What a notice needs of it later, when its rows are no longer kept."""
        return self.holding(pa.chunked_array([], pa.null()))

    def error(self, problem: str, *, do: str, row: int | None = None) -> InputError:
        """The one sentence: where, what is wrong, what to do. ``row`` counts from 0."""
        return InputError(f"{self._place(row)}: {problem}; {do}.")

    def notice(self, what: str, row: int | None = None) -> None:
        """Warn of something that is taken as it is, or mended, and may not be meant."""
        warnings.warn(f"{self._place(row)}: {what}.", Notice, stacklevel=2)

    def _place(self, row: int | None) -> str:
        return f"{self.where}, column '{self.name}'" + (
            "" if row is None else f", data row {self.first + row + 1}"
        )

    def require_values(self, do: str) -> None:
        """Every row holds something."""
        if self.data.null_count:
            row = pc.index(pc.is_null(self.data), True).as_py()
            raise self.error("the value is missing", do=do, row=row)

    def refuse(self, bad: npt.NDArray[np.bool_], problem: Callable[[int], str], *, do: str) -> None:
        """An error at the first row that is bad, if there is one; ``problem`` says what is wrong with it."""
        if bad.any():
            row = int(np.argmax(bad))
            raise self.error(problem(row), do=do, row=row)

    def plain(self) -> Column:
        """Without dictionary encoding (a pandas or polars category holds what its values hold)."""
        if not pa.types.is_dictionary(self.type):
            return self
        decoded = [chunk.dictionary.take(chunk.indices) for chunk in self.data.chunks]
        return self.holding(pa.chunked_array(decoded, self.type.value_type))

    def decoded(self) -> Column:
        """Without dictionary encoding, and with bytes as the text they are in UTF-8."""
        plain = self.plain()
        return plain.from_bytes() if is_bytes(plain.type) else plain

    def from_bytes(self) -> Column:
        kind = pa.string() if pa.types.is_binary(self.type) else pa.large_string()
        try:
            return self.holding(self.data.cast(kind))
        except pa.ArrowInvalid:
            row = self.first_not(kind)
            raise self.error("the text is not UTF-8", do="save the file in UTF-8", row=row) from None

    def cast(self, target: pa.DataType, problem: str, *, do: str) -> Column:
        """The column as another type. The error at the first row that does not fit may show its
        ``{value}``."""
        if (row := self.first_not(target)) is not None:
            raise self.error(problem.format(value=self.data[row].cast(pa.string())), do=do, row=row)
        return self.holding(self.data.cast(target))

    def first_not(self, target: pa.DataType) -> int | None:
        """The first row that Arrow cannot cast to ``target``; None if it can cast them all.

        Each step casts half of what is left, so finding the row costs about as much as one cast.
        """
        if castable(self.data, target):
            return None
        start, length = 0, len(self.data)
        while length > 1:
            half = length // 2
            if castable(self.data.slice(start, half), target):
                start, length = start + half, length - half
            else:
                length = half
        return start


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def to_numpy(data: pa.ChunkedArray, dtype: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
    """A column without nulls as one array: Arrow's own memory where it is one chunk of that type."""
    chunks = [chunk.to_numpy(zero_copy_only=False) for chunk in data.chunks]
    if len(chunks) == 1:
        return np.asarray(chunks[0], dtype=dtype)
    return np.concatenate(chunks, dtype=dtype, casting="unsafe")


def castable(data: pa.ChunkedArray, target: pa.DataType) -> bool:
    try:
        data.cast(target)
    except pa.ArrowException:
        return False
    return True
