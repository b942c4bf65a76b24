"""The ids of a CSV file, which has no types: whole numbers if all are written as such, else text.

Both columns are judged together. Otherwise ``7`` beside a word would be a number on one side and a text on
the other, and one node would be two. Leading zeros make a text of it: account ``0042`` is not number 42.
Blanks around an id are no part of it; a file with blanks after its commas means what it would mean without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keat.errors import InputError
from keat.events.dense_ids import DO, FILL, MISSING
from keat.events.file_column import Column, ReadAnewError, castable
from keat.events.ids import BLANKS


def typed_ids(src: Column, dst: Column, *, bipartite: bool) -> tuple[Column, Column]:
    """Columns of bytes as int64 if every id in both is a decimal number that fits, else as text."""
    written = WrittenIds(bipartite)
    try:
        typed = written.look(src, dst)
    except ReadAnewError:
        typed = written.look(src, dst)
    written.tell(lambda: [side.data.unique() for side in typed])
    return typed


@dataclass(slots=True)
class WrittenIds:
    """What the ids of a text file are, found by looking at all of them, whole or piece by piece."""

    bipartite: bool
    as_numbers: bool = True  # as long as all are written as such
    sides: tuple[_Side, _Side] = field(default_factory=lambda: (_Side(), _Side()))

    def look(self, src: Column, dst: Column) -> tuple[Column, Column]:
        """A piece of both columns as numbers; or as text, from the first piece again."""
        texts = [
            side.trimmed(column.from_bytes()) for side, column in zip(self.sides, (src, dst), strict=True)
        ]
        if self.as_numbers:
            numbers = [_numbers(column) for column in texts]
            padded = None not in numbers and any(_has_leading_zeros(column) for column in texts)
            if numbers[0] is not None and numbers[1] is not None and not padded:
                return numbers[0], numbers[1]
            self.as_numbers = False
            raise ReadAnewError
        for side, column in zip(self.sides, texts, strict=True):
            side.look(column)
        return texts[0], texts[1]

    def read(self, column: Column) -> Column:
        """A piece of a column as what all ids are, when that is known."""
        texts, _ = _trimmed(column.from_bytes())
        return texts.holding(texts.data.cast(pa.int64())) if self.as_numbers else texts

    def tell(self, labels: Callable[[], Sequence[pa.Array]]) -> None:
        """Refusals and notices about ids that are text, whose distinct ``labels`` are those of each column,
        or of both together."""
        if self.as_numbers:
            return
        if all(side.all_numbers for side in self.sides):
            spaces = labels() if self.bipartite else [pa.concat_arrays(labels()).unique()]
            for space in spaces:
                self._tell_of_numbers_written_twice(space)
        for side in self.sides:
            if side.all_floats and side.first_dot is not None:
                raise side.first_dot
            if side.first_blank is not None:
                column, row = side.first_blank
                column.notice("blanks around this id are left out, and around all others", row)
        if all(side.all_numbers_but_gaps for side in self.sides):  # NULL is no name: that row has no id
            for side in self.sides:
                if side.first_gap is not None:
                    raise side.first_gap

    def _tell_of_numbers_written_twice(self, written: pa.Array) -> None:
        """A notice about the first number that is written in two ways in one id space."""
        numbers = written.cast(pa.int64()).to_numpy()
        values, counts = np.unique(numbers, return_counts=True)
        if len(values) < len(numbers):
            twice = np.flatnonzero(numbers == values[np.argmax(counts > 1)])
            one, other, *_ = sorted(written.take(pa.array(twice)).to_pylist())
            assert self.sides[0].column is not None
            self.sides[0].column.notice(
                f"'{one}' and '{other}' are two nodes, because ids with leading zeros are "
                "text; write ids in one way if they are one"
            )


@dataclass(slots=True)
class _Side:
    """What is known of one column by now."""

    column: Column | None = None
    first_blank: tuple[Column, int] | None = None
    all_numbers: bool = True
    all_numbers_but_gaps: bool = True  # a gap is what programs write where there is nothing
    first_gap: InputError | None = None
    all_floats: bool = True
    first_dot: InputError | None = None

    def trimmed(self, column: Column) -> Column:
        column, row = _trimmed(column)
        if row is not None and self.first_blank is None:
            self.first_blank = column.without_data(), row
        return column

    def look(self, column: Column) -> None:
        """At ids that are text, without blanks around them."""
        if self.column is None:
            self.column = column.without_data()
        self.all_numbers = self.all_numbers and _numbers(column) is not None
        if self.all_numbers_but_gaps and not self.all_numbers:
            self._look_for_gaps(column)
        if self.all_floats:  # a column of 1.0, 2.0, … was whole numbers once: as text it would not meet the 1
            row = pc.index(pc.match_substring(column.data, "."), True).as_py()
            if row >= 0 and self.first_dot is None:
                self.first_dot = column.error(f"{column.data[row]} is a fraction", do=DO, row=row)
            self.all_floats = castable(column.data, pa.float64())

    def _look_for_gaps(self, column: Column) -> None:
        gap = pc.is_in(column.data, value_set=pa.array(MISSING, column.type))
        row = pc.index(gap, True).as_py()
        if row >= 0 and self.first_gap is None:
            text = column.data[row]
            self.first_gap = column.error(f"the value is missing ('{text}')", do=FILL, row=row)
        self.all_numbers_but_gaps = _numbers(column.holding(column.data.filter(pc.invert(gap)))) is not None


def _trimmed(column: Column) -> tuple[Column, int | None]:
    """Without blanks around the ids, and the first row that had any."""
    texts = pc.ascii_trim(column.data, BLANKS)
    before, after = (pc.sum(pc.binary_length(data)).as_py() for data in (column.data, texts))
    if before == after:
        return column, None
    row = pc.index(pc.not_equal(column.data, texts), True).as_py()
    return column.holding(texts), row


def _numbers(column: Column) -> Column | None:
    """The ids as int64; None where one of them is not written as a decimal number."""
    try:
        numbers = column.data.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    # Arrow also reads 0x1F as a number, which is more likely a name.
    decimal = pc.all(pc.ascii_is_decimal(pc.ascii_ltrim(column.data, "-"))).as_py()
    return column.holding(numbers) if decimal else None


def _has_leading_zeros(column: Column) -> bool:
    """Whether a number is not written as numbers are: 007, or -0."""
    padded = pc.and_(pc.starts_with(column.data, "0"), pc.greater(pc.binary_length(column.data), 1))
    return bool(pc.any(pc.or_(padded, pc.starts_with(column.data, "-0"))).as_py())
