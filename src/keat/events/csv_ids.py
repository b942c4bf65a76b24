"""The ids of a CSV file, which has no types: whole numbers if all are written as such, else text.

Both columns are judged together. Otherwise ``7`` beside a word would be a number on one side and a text on
the other, and one node would be two. Leading zeros make a text of it: account ``0042`` is not number 42.
Blanks around an id are no part of it; a file with blanks after its commas means what it would mean without.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keat.events.columns import Column
from keat.events.dense_ids import FILL, MISSING
from keat.events.ids import BLANKS


def typed_ids(src: Column, dst: Column, *, bipartite: bool) -> tuple[Column, Column]:
    """Columns of bytes as int64 if every id in both is a decimal number that fits, else as text."""
    trimmed = [_trimmed(column.from_bytes()) for column in (src, dst)]
    texts = [column for column, _ in trimmed]
    numbers = [_numbers(column) for column in texts]
    if numbers[0] is not None and numbers[1] is not None:
        if not any(_has_leading_zeros(column) for column in texts):
            return numbers[0], numbers[1]
        for space in [texts[:1], texts[1:]] if bipartite else [texts]:
            _tell_of_numbers_written_twice(space)
    for column, first_blank in trimmed:
        _refuse_fractions(column)
        if first_blank is not None:
            column.notice("blanks around this id are left out, and around all others", first_blank)
    _refuse_gaps_between_numbers(texts)
    return texts[0], texts[1]


def _trimmed(column: Column) -> tuple[Column, int | None]:
    """Without blanks around the ids, and the first row that had any."""
    texts = pc.ascii_trim(column.data, BLANKS)
    before, after = (pc.sum(pc.binary_length(data)).as_py() for data in (column.data, texts))
    if before == after:
        return column, None
    row = pc.index(pc.not_equal(column.data, texts), True).as_py()
    return Column(column.where, column.name, texts), row


def _numbers(column: Column) -> Column | None:
    """As int64; None where an id is something else."""
    try:
        numbers = column.data.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    # Arrow also reads 0x1F as a number, which is more likely a name.
    decimal = pc.all(pc.ascii_is_decimal(pc.ascii_ltrim(column.data, "-"))).as_py()
    return Column(column.where, column.name, numbers) if decimal else None


def _has_leading_zeros(column: Column) -> bool:
    """Whether a number is not written as numbers are: 007, or -0."""
    padded = pc.and_(pc.starts_with(column.data, "0"), pc.greater(pc.binary_length(column.data), 1))
    return bool(pc.any(pc.or_(padded, pc.starts_with(column.data, "-0"))).as_py())


def _tell_of_numbers_written_twice(columns: list[Column]) -> None:
    """Of columns of one id space; the first number that is written in two ways is told."""
    written = pa.chunked_array([chunk for column in columns for chunk in column.data.chunks]).unique()
    numbers = written.cast(pa.int64()).to_numpy()
    values, counts = np.unique(numbers, return_counts=True)
    if len(values) < len(numbers):
        one, other, *_ = np.flatnonzero(numbers == values[np.argmax(counts > 1)]).tolist()
        columns[0].notice(
            f"'{written[one]}' and '{written[other]}' are two nodes, because ids with leading zeros are "
            "text; write ids in one way if they are one"
        )


def _refuse_gaps_between_numbers(columns: list[Column]) -> None:
    """Where all other ids are numbers, NULL is no name: that row has no id."""
    gaps = [pc.is_in(column.data, value_set=pa.array(MISSING, column.type)) for column in columns]
    if not any(pc.any(gap).as_py() for gap in gaps):
        return
    for column, gap in zip(columns, gaps, strict=True):
        if _numbers(Column(column.where, column.name, column.data.filter(pc.invert(gap)))) is None:
            return
    for column, gap in zip(columns, gaps, strict=True):
        if (row := pc.index(gap, True).as_py()) >= 0:
            raise column.error(f"the value is missing ('{column.data[row]}')", do=FILL, row=row)


def _refuse_fractions(column: Column) -> None:
    """A column of 1.0, 2.0, … was whole numbers once: as text it would not meet the 1 of the other side."""
    row = pc.index(pc.match_substring(column.data, "."), True).as_py()
    if row >= 0 and column.first_not(pa.float64()) is None:
        raise column.error(
            f"{column.data[row]} is a fraction",
            do="ids must be whole numbers or text, so cast them to int or string",
            row=row,
        )
