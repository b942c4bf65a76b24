"""The ids of a CSV file, which has no types: numbers if all of them are, else text as it is written.

Both columns are judged together. Otherwise ``007`` beside a word would be 7 on one side and stay ``007``
on the other, and one node would be two.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from keat.events.columns import Column


def typed_ids(src: Column, dst: Column) -> tuple[Column, Column]:
    """Columns of bytes as int64 if every id in both is a decimal number that fits, else as text."""
    columns = src.from_bytes(), dst.from_bytes()
    if (numbers := _numbers(columns[1])) is not None and (others := _numbers(columns[0])) is not None:
        return others, numbers
    for column in columns:
        _refuse_fractions(column)
    return columns


def _numbers(column: Column) -> Column | None:
    """As int64, blanks around the digits aside; None where an id is something else."""
    texts = pc.ascii_trim(column.data, " ")
    try:
        numbers = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    # Arrow also reads 0x1F as a number, which is more likely a name.
    decimal = pc.all(pc.ascii_is_decimal(pc.ascii_ltrim(texts, "-"))).as_py()
    return Column(column.where, column.name, numbers) if decimal else None


def _refuse_fractions(column: Column) -> None:
    """A column of 1.0, 2.0, … was whole numbers once: as text it would not meet the 1 of the other side."""
    row = pc.index(pc.match_substring(column.data, "."), True).as_py()
    if row >= 0 and column.first_not(pa.float64()) is None:
        raise column.error(
            f"{column.data[row]} is a fraction",
            do="ids must be whole numbers or text, so cast them to int or string",
            row=row,
        )
