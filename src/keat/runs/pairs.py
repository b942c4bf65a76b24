"""Pairs to be scored: from a file or a frame, by the names of their columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from keat.errors import InputError
from keat.events import Reading
from keat.events.columns import Column
from keat.events.files import open_file, open_frame
from keat.events.roles import USUAL_NAMES

ROLES = ("src", "dst", "time")


def read_pairs(source: Any, reading: Reading) -> tuple[list[Any], list[Any], list[Any]]:
    """Sources, destinations and times (None where there is no such column), as they are written.

    Columns are found by the names they had in training, by usual names, or, where a file has exactly two or
    three, by their order.
    """
    if isinstance(source, str | Path):
        opened = open_file(Path(source), reading.delimiter, header=reading.header)
    else:
        opened = open_frame(source)
    names = opened.columns
    roles = {role: _column(names, getattr(reading, role), USUAL_NAMES[role]) for role in ROLES}
    if (roles["src"] is None or roles["dst"] is None) and len(names) in (2, 3):
        roles = dict(zip(ROLES, [*names, None][:3], strict=True))
    if roles["src"] is None or roles["dst"] is None:
        raise InputError(
            f"{opened.where} has columns {', '.join(names)}, and which are sources and destinations is not "
            "clear; name them as in the training data."
        )
    wanted = [name for name in roles.values() if name is not None]
    table = opened.read(wanted, [name for name in (roles["src"], roles["dst"]) if name is not None])
    if table.num_rows == 0:
        raise InputError(f"{opened.where} has columns but no rows; give at least one pair.")
    columns = []
    for role in ROLES:
        name = roles[role]
        column = [None] * table.num_rows if name is None else _plain(opened.where, name, table[name])
        empty = [row for row, value in enumerate(column, start=1) if value is None or not str(value).strip()]
        if name is not None and empty:
            raise InputError(f"{opened.where}, data row {empty[0]}: '{name}' is missing; fill it in.")
        columns.append(column)
    return columns[0], columns[1], columns[2]


def _column(names: list[str], given: str | None, usual: tuple[str, ...]) -> str | None:
    if given is not None:
        return given if given in names else None
    return next((name for wanted in usual for name in names if name.lower() == wanted), None)


def _plain(where: str, name: str, data: pa.ChunkedArray) -> list[Any]:
    column = Column(where, name, data)
    if pa.types.is_binary(column.type):  # which is how text is read
        column = column.from_bytes()
    values: list[Any] = column.data.to_pylist()
    return values
