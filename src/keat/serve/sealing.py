"""The log as a table: yesterday's events are tomorrow's training data."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from keat.disk import new_file, require_place
from keat.errors import InputError
from keat.events.units import TimeUnit
from keat.events.written_times import is_calendar
from keat.serve.log import Log
from keat.serve.log_replay import AT_ONCE
from keat.serve.log_rows import Row, columns_of, logits_of
from keat.serve.served_run import ServedRun
from keat.serve.steps import reached

OWN = ("source", "destination", "time", "seq", "logit")  # columns beside the features


def seal(run: Path, file: Path) -> int:
    """Write every event of a run's log to a Parquet file that ``keat train`` reads; how many there are. The
    run may be served meanwhile. Labels that were told are a column, empty where none was."""
    if file.suffix.lower() != ".parquet":
        raise InputError(f"The log is sealed to Parquet; let the name of {file.name} end in .parquet.")
    require_place(file)
    served = ServedRun.open(run)
    log = Log(served.live_folder, served.about(), "process", write=False)
    if log.tail.event == 0:
        raise InputError(f"{served.live_folder} has no events yet; send it some.")
    ids, labels, events = served.ids(), log.labels(), 0
    schema = _schema(served, pa.int64() if ids.whole else pa.large_string(), bool(labels))
    rows = log.rows()
    with new_file(file) as part:
        with pq.ParquetWriter(part, schema) as writer:
            while some := [*islice(rows, AT_ONCE)]:
                for _, row in some:
                    ids.welcome(row.newcomers)
                columns = _columns(served, [row for _, row in some], some[0][0], labels, ids.labels)
                writer.write_table(pa.table([columns[name] for name in schema.names], schema=schema))
                events += len(columns["seq"])
        reached("seal written aside")
    reached("seal in place")
    log.close()
    return events


def _schema(served: ServedRun, label: pa.DataType, labelled: bool) -> pa.Schema:
    unit = served.run.facts.unit
    time = _time_type(unit, served.run.present.last_time)
    fields = [("source", label), ("destination", label), ("time", time)]
    for column in served.features.columns:
        if column.name in OWN or column.name == "label":
            raise InputError(f"A feature is called '{column.name}', as a column of the log; rename it.")
        kind = pa.float64() if column.width == 1 else pa.list_(pa.float64())
        fields.append((column.name, kind if column.categories is None else pa.large_string()))
    if labelled:
        fields.append(("label", pa.float64()))
    return pa.schema([*fields, ("seq", pa.int64()), ("logit", pa.float32())])


def _columns(
    served: ServedRun, rows: list[Row], first: int, labels: dict[int, float], names: list[Any]
) -> dict[str, Any]:
    columns = columns_of(rows)
    events = len(columns.t)
    numbers = range(first, first + events)
    sent: dict[str, list[Any]] = {column.name: [] for column in served.features.columns}
    for row in rows:
        for place, values in enumerate(sent.values()):
            values += row.features[place] if row.features else [None] * len(row)
    return {
        "source": [names[node] for node in columns.src.tolist()],
        "destination": [names[node] for node in columns.dst.tolist()],
        "time": _times(columns.t, served.run.facts.unit, served.run.present.last_time),
        "seq": list(numbers),
        "logit": np.concatenate([logits_of(row) for row in rows]),
        "label": [labels.get(number) for number in numbers],
        **sent,
    }


def _time_type(unit: TimeUnit, last_time: int) -> pa.DataType:
    """Whole numbers where that are seconds, as which they are read; else dates, where times are such, which
    say themselves in which unit they are."""
    if unit == "s" or not is_calendar(last_time, unit):
        return pa.int64()
    return pa.date32() if unit == "day" else pa.timestamp(unit)


def _times(t: npt.NDArray[np.int64], unit: TimeUnit, last_time: int) -> pa.Array:
    kind = _time_type(unit, last_time)
    return pa.array(t.astype(np.int32) if kind == pa.date32() else t).cast(kind)
