"""Which column of a file or frame plays which role: the ones that are named, else those with a usual name."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence

from keat.errors import InputError
from keat.events.file_source import Source

# What a column may be called when it is not named; the first that is there is taken, in any case.
USUAL_NAMES = {
    "src": ("src", "source", "u", "from", "user", "user_id"),
    "dst": ("dst", "destination", "target", "v", "to", "item", "item_id"),
    "time": ("t", "time", "timestamp", "ts", "datetime", "date"),
}
PLACES = {"src": "1", "dst": "2", "time": "3"}  # of columns that have no names


def columns_of_roles(
    source: Source, named: dict[str, str | None], label: str | None, features: Sequence[str], *, header: bool
) -> dict[str, str]:
    """The column of each role; each has to be there, once, and to play one role."""
    given = {role: column for role, column in named.items() if column is not None}
    if not header:
        if len(source.columns) < len(PLACES):
            raise InputError(
                f"{source.where} has {len(source.columns)} columns, and source, destination and time need "
                "one each; check the delimiter."
            )
        given = PLACES | given
    if label is not None:
        given["label"] = label
    for feature in features:
        if f"features {feature}" in given:
            raise InputError(f"The feature '{feature}' is given twice; name every column once.")
        given[f"features {feature}"] = feature
    for column in given.values():
        if column not in source.columns:
            raise _no_column(source, column)
    free = [column for column in source.columns if column not in given.values()]
    roles = {role: given.get(role) or _usual(source, free, role) for role in named} | given
    for column, uses in Counter(roles.values()).items():
        if uses > 1:
            both = " and ".join(role.split()[0] for role, other in roles.items() if other == column)
            raise InputError(
                f"Column '{column}' of {source.where} is given twice, as {both}; name every column once."
            )
        if source.columns.count(column) > 1:
            raise InputError(f"{source.where} has two columns named '{column}'; rename or drop one.")
    return roles


def _usual(source: Source, free: list[str], role: str) -> str:
    for candidates in (free, source.columns):  # a name that is free, rather than one given for something else
        by_lower = {column.lower(): column for column in reversed(candidates)}
        for usual in USUAL_NAMES[role]:
            if usual in by_lower:
                return by_lower[usual]
    values = source.untyped and any(column[:1].isdigit() for column in source.columns)
    raise InputError(
        f"{source.where} has no column with a usual name for {role} ({', '.join(USUAL_NAMES[role])}); "
        f"say which of its columns ({_listed(source.columns)}) it is"
        f"{', or that it has no header' if values else ''}."
    )


def _no_column(source: Source, column: str) -> InputError:
    near = difflib.get_close_matches(column, source.columns, n=1)
    hint = f" (did you mean '{near[0]}'?)" if near else ""
    return InputError(f"{source.where} has no column '{column}'{hint}; it has {_listed(source.columns)}.")


def _listed(columns: list[str], most: int = 12) -> str:
    return ", ".join(columns[:most]) + (f" and {len(columns) - most} more" if len(columns) > most else "")
