"""`read_events`: files and frames of any layout → `EventStream`."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from keat.disk import expanded, look_at
from keat.errors import InputError
from keat.events.columns import Column
from keat.events.csv_ids import typed_ids
from keat.events.dense_ids import dense_ids
from keat.events.feature_columns import map_features, read_features, read_labels
from keat.events.files import Source, open_file, open_frame
from keat.events.saving import require_saved
from keat.events.stream import EventStream
from keat.events.time_column import read_time
from keat.events.units import TimeUnit, require_unit

# What a column may be called when it is not named; the first that is there is taken, in any case.
USUAL_NAMES = {
    "src": ("src", "source", "u", "from", "user", "user_id"),
    "dst": ("dst", "destination", "target", "v", "to", "item", "item_id"),
    "time": ("t", "time", "timestamp", "ts", "datetime", "date"),
}


def read_events(
    source: Any,
    *,
    src: str | None = None,
    dst: str | None = None,
    time: str | None = None,
    features: str | Path | Sequence[str] | None = None,
    label: str | None = None,
    unit: TimeUnit | None = None,
    bipartite: bool = False,
    name: str | None = None,
) -> EventStream:
    """Read a stream of events, check it, and put it in time order.

    ``source`` is a path (CSV, TSV, Parquet, Arrow, or a folder written by `EventStream.save`) or a
    frame (pyarrow, pandas, polars, or anything that speaks the Arrow PyCapsule protocol). Only the
    columns needed are read.

    - ``src``, ``dst``, ``time``: column names; without them the usual ones are looked for.
    - ``features``: one column or several, of numbers or of equally long lists of numbers, or the path
      of an ``.npy`` matrix with one row an event, which stays on disk. None: no features.
    - ``label``: a column of whole numbers (kept as int64) or other numbers (float32).
    - ``unit``: of whole-number times, seconds if not given. Dates and datetimes have their own.
      Float times with fractions become whole numbers of a finer unit, with a notice.
    - ``bipartite``: sources and destinations are different kinds of node even where ids coincide.

    Ids are integers or strings. In CSV they are integers if all ids of both columns are written as such;
    as soon as one is not, has leading zeros (``007``) or does not fit 64 bits, all are text as it is written,
    but for blanks around them.
    """
    if unit is not None:
        require_unit(unit)
    if isinstance(source, str | Path):
        if source == "":
            raise InputError("The path of the events is empty; give a file or a folder.")
        path = expanded(source)
        if look_at(path) == "folder":
            require_saved(path)
            if bipartite or any(option is not None for option in (src, dst, time, features, label, unit)):
                raise InputError(f"{path} is a saved stream, whose columns are settled; give only its path.")
            stream = EventStream.open(path)
            if len(stream) == 0:
                raise InputError(f"{path} is a saved stream without events; give one with at least one.")
            return stream if name is None else replace(stream, name=name)
        opened = open_file(path)
    else:
        opened = open_frame(source)

    matrix_path, feature_names = _feature_source(features)
    roles = _columns_of_roles(opened, {"src": src, "dst": dst, "time": time}, label, feature_names)
    table = opened.read(list(roles.values()), [roles["src"], roles["dst"]])
    if table.num_rows == 0:
        raise InputError(f"{opened.where} has columns but no rows; give at least one event.")
    column = {role: Column(opened.where, name, table[name]) for role, name in roles.items()}

    times, unit = read_time(column["time"], unit)
    sides = column["src"], column["dst"]
    dense_src, dense_dst, ids = dense_ids(
        *typed_ids(*sides, bipartite=bipartite) if opened.untyped else sides, bipartite=bipartite
    )
    if matrix_path is not None:
        matrix = map_features(matrix_path, len(times))
    elif feature_names:
        matrix = read_features([column[f"features {feature}"] for feature in feature_names])
    else:
        matrix = np.zeros((len(times), 0), dtype=np.float32)
    unsorted = EventStream(
        src=dense_src,
        dst=dense_dst,
        t=times,
        features=matrix,
        labels=read_labels(column["label"]) if label is not None else None,
        num_nodes=len(ids),
        ids=ids,
        unit=unit,
        name=name if name is not None else opened.name,
    )
    return unsorted.in_time_order()


def _feature_source(features: str | Path | Sequence[str] | None) -> tuple[Path | None, list[str]]:
    """Either the path of a matrix or the names of columns."""
    if features is None:
        return None, []
    if isinstance(features, Path) or (isinstance(features, str) and features.endswith(".npy")):
        return expanded(features), []
    return None, [features] if isinstance(features, str) else list(features)


def _columns_of_roles(
    source: Source, named: dict[str, str | None], label: str | None, features: Sequence[str]
) -> dict[str, str]:
    """Which column plays which role; each has to be there, once, and to play one role."""
    given = {role: column for role, column in named.items() if column is not None}
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
    raise InputError(
        f"{source.where} has no column with a usual name for {role} ({', '.join(USUAL_NAMES[role])}); "
        f"say which of its columns ({_listed(source.columns)}) it is."
    )


def _no_column(source: Source, column: str) -> InputError:
    near = difflib.get_close_matches(column, source.columns, n=1)
    hint = f" (did you mean '{near[0]}'?)" if near else ""
    return InputError(f"{source.where} has no column '{column}'{hint}; it has {_listed(source.columns)}.")


def _listed(columns: list[str], most: int = 12) -> str:
    return ", ".join(columns[:most]) + (f" and {len(columns) - most} more" if len(columns) > most else "")
