"""How a recipe says that a file is read, and how a ledger does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

from keat.errors import InputError
from keat.events import Reading
from keat.runs.spec import SourceSpec
from keat.tasks.label_source import LabelSource

READING = ("unit", "period", "weight", "undirected", "latest")
SEVERAL = ("features", "categorical", "known_after")  # columns, with commas between
EVENTS = (*SEVERAL, "scale", "target")


def source_of(name: str, reading: Mapping[str, str]) -> SourceSpec:
    """A name of the registry or a file, and the ``[reading]`` that a recipe has for it."""
    unknown = sorted(set(reading) - {*READING, *EVENTS})
    if unknown:
        known = ", ".join((*READING, *EVENTS))
        raise InputError(f"A recipe's reading has {known}; not {', '.join(unknown)}.")
    several = {key: tuple(reading[key].split(",")) for key in SEVERAL if key in reading}
    labels = LabelSource(
        period=reading.get("period"),
        weight=reading.get("weight"),
        undirected=reading.get("undirected") == "true",
        target=reading.get("target"),
        known_after=several.get("known_after", ()),
    )
    read = Reading(
        unit=reading.get("unit"),  # type: ignore[arg-type]
        features=several.get("features", ()),
        categorical=several.get("categorical", ()),
        scale=reading.get("scale") == "true",
    )
    return SourceSpec(name, read, labels=labels, latest=_latest(reading.get("latest")))


def _latest(said: str | None) -> int | None:
    if said is not None and (not said.isdecimal() or int(said) == 0):
        raise InputError(f"'latest' is a number of events, as in latest = \"100000\"; not {said}.")
    return None if said is None else int(said)


def written(source: SourceSpec) -> str:
    """As a ledger has it: ``trade.parquet?unit=year&period=year&weight=trade``. In which folder a file was is
    nobody's business; what was in it, the key of the line says."""
    return Path(source.name or "").name + how_read(source)


def how_read(source: SourceSpec) -> str:
    """The end of the name of a file that is read in another way than by default; else nothing."""
    labels = source.labels
    undirected = "true" if labels.undirected else None
    values = (source.reading.unit, labels.period, labels.weight, undirected, source.latest)
    said = {name: value for name, value in zip(READING, values, strict=True) if value is not None}
    reading = source.reading
    several = (reading.features, reading.categorical, labels.known_after)
    said |= {name: ",".join(columns) for name, columns in zip(SEVERAL, several, strict=True) if columns}
    said |= {"scale": "true"} if reading.scale else {}
    said |= {"target": labels.target} if labels.target is not None else {}
    return f"?{urlencode(said)}" if said else ""
