"""How a recipe says that a file is read, and how a ledger does."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from keat.errors import InputError
from keat.events import Reading
from keat.runs.spec import SourceSpec
from keat.tasks.label_source import LabelSource

READING = ("unit", "period", "weight", "undirected", "latest")


def source_of(name: str, reading: Mapping[str, str]) -> SourceSpec:
    """A name of the registry or a file, and the ``[reading]`` that a recipe has for it."""
    unknown = sorted(set(reading) - set(READING))
    if unknown:
        raise InputError(f"A recipe's reading has {', '.join(READING)}; not {', '.join(unknown)}.")
    labels = LabelSource(
        period=reading.get("period"),
        weight=reading.get("weight"),
        undirected=reading.get("undirected") == "true",
    )
    unit = Reading(unit=reading.get("unit"))  # type: ignore[arg-type]
    return SourceSpec(name, unit, labels=labels, latest=_latest(reading.get("latest")))


def _latest(said: str | None) -> int | None:
    if said is not None and (not said.isdecimal() or int(said) == 0):
        raise InputError(f"'latest' is a number of events, as in latest = \"100000\"; not {said}.")
    return None if said is None else int(said)


def written(source: SourceSpec) -> str:
    """As a ledger has it: ``trade.parquet?unit=year&period=year&weight=trade``."""
    return f"{source.name}{how_read(source)}"


def how_read(source: SourceSpec) -> str:
    """The end of the name of a file that is read in another way than by default; else nothing."""
    labels = source.labels
    undirected = "true" if labels.undirected else None
    values = (source.reading.unit, labels.period, labels.weight, undirected, source.latest)
    said = {name: value for name, value in zip(READING, values, strict=True) if value is not None}
    return f"?{urlencode(said)}" if said else ""
