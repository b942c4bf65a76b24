"""Where a job's data is and how it is read, in one string that can be sent to another process.

A source is a name of the registry, a file, or a file with how to read it:
``trade.parquet?unit=year&period=year&weight=trade`` has labels made of its events.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

import numpy as np

from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.loading import Dataset, load
from keat.errors import InputError
from keat.events import Reading
from keat.events.fingerprint import fingerprint
from keat.tasks.label_making import label_by_period
from keat.training.gearsage import open_labelled_graph

READING = ("unit", "period", "weight", "undirected")


def source_with(source: str, reading: Mapping[str, str]) -> str:
    """The source of a file that is to be read in this way."""
    unknown = sorted(set(reading) - set(READING))
    if unknown:
        raise InputError(f"A recipe's reading has {', '.join(READING)}; not {', '.join(unknown)}.")
    return f"{source}?{urlencode(reading)}" if reading else source


def open_source(source: str) -> Dataset:
    """The data of a source, with its labels."""
    file, reading = _parts(source)
    if not reading:
        return load(file)
    weight = reading.get("weight")
    data = load(file, reading=Reading(unit=reading.get("unit"), weight=weight))  # type: ignore[arg-type]
    if "period" not in reading:
        return data
    return label_by_period(
        data, reading["period"], weight=0 if weight else None, undirected=reading.get("undirected") == "true"
    )


def fingerprint_of(source: str, data: Dataset | None = None) -> str:
    """Of the data and how it is read; ``data`` is what the source holds, if it is open already."""
    file, reading = _parts(source)
    if file == "dgraphfin" or file.endswith(".npz"):
        return graph_fingerprint(open_labelled_graph(file))
    return source_with(fingerprint((data or open_source(source)).stream), reading)


def graph_fingerprint(graph: DGraphFin) -> str:
    """Of a whole labelled graph: edges, features of nodes, labels and their split."""
    digest = hashlib.blake2b(fingerprint(graph.stream).encode(), digest_size=12)
    for column in (graph.stream.node_features, graph.y, graph.train, graph.valid, graph.test):
        if column is not None:
            digest.update(np.ascontiguousarray(column).data)
    return digest.hexdigest()


def _parts(source: str) -> tuple[str, dict[str, str]]:
    file, _, reading = source.partition("?")
    return file, dict(parse_qsl(reading))
