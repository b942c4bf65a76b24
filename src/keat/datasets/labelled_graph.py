"""Whole graphs with labels on their nodes: DGraphFin, or a file of the same form."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from keat.datasets.cache import fetch, open_dataset
from keat.datasets.dataset_entries import dataset_info
from keat.datasets.dgraphfin import DGraphFin, read_contacts, read_node_labels
from keat.errors import InputError
from keat.events.fingerprint import fingerprint


def open_labelled_graph(source: str | Path) -> DGraphFin:
    """``dgraphfin``, or an .npz file with the same arrays."""
    info = dataset_info("dgraphfin")
    if source == info.name:
        return read_node_labels(fetch(info.name), info, open_dataset(info.name))
    path = Path(source)
    if path.suffix != ".npz":
        raise InputError(f"GEARSage reads 'dgraphfin' or an .npz file with the same arrays, not '{source}'.")
    info = replace(info, name=path.stem, raw_files=(path.name,))
    return read_node_labels(path.parent, info, read_contacts(path.parent, info))


def graph_fingerprint(graph: DGraphFin) -> str:
    """Of edges, features of nodes, labels and their split."""
    digest = hashlib.blake2b(fingerprint(graph.stream).encode(), digest_size=12)
    for column in (graph.stream.node_features, graph.y, graph.train, graph.valid, graph.test):
        if column is not None:
            digest.update(np.ascontiguousarray(column).data)
    return digest.hexdigest()
