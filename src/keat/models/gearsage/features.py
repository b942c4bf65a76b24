"""The 56 numbers GEARSage knows of each node before any message is passed.

| columns | |
| --- | --- |
| 0–16 | the raw features, 0 where missing |
| 17 | in-degree |
| 18 | 1 if the node has an outgoing edge after day 0 |
| 19 | log(1 + latest day of any of its edges) |
| 20–30 | outgoing edges of type 1 … 11 |
| 31, 32 | in-degree (again), out-degree |
| 33 | Σ over outgoing edges of the cosine between columns 0–32 of both ends, missing being -1 |
| 34–50 | 1 where the raw feature is missing |
| 51, 52 | neighbours that are labelled (class 0 or 1), and that are background (2 or 3) |
| 53–55 | 1 if the node itself is labelled; nothing; 1 if it is of class 2 |

Column 18 is GEARSage's "normalized sum of timestamps", which its row-wise normalization of a single column
makes a flag. Background classes are input, as the task allows; whether a labelled node is a fraud is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from keat.errors import InputError
from keat.events import EventStream

RAW, TYPES, FEATURES = 17, 11, 56
MISSING = -1.0
EDGES_AT_ONCE = 1 << 17  # whose two ends are compared together: 35 MiB


def build_features(stream: EventStream, y: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """(num_nodes, 56) from a DGraphFin stream and the classes 0 to 3 of its nodes."""
    raw, kind = _raw_features(stream), edge_types(stream)
    _check_classes(stream, y)
    n, src, dst = stream.num_nodes, stream.src, stream.dst
    features = np.zeros((n, FEATURES), np.float32)
    features[:, :RAW] = raw
    features[:, 17] = features[:, 31] = np.bincount(dst, minlength=n)
    features[:, 18] = np.bincount(src, stream.t, n) > 0
    features[:, 19] = np.log1p(latest_times(stream).astype(np.float64))
    features[:, 20:31] = np.bincount(src * np.int64(TYPES) + kind - 1, minlength=n * TYPES).reshape(n, TYPES)
    features[:, 32] = np.bincount(src, minlength=n)
    features[:, 33] = _cosine_sums(features[:, :33], src, dst)
    features[:, 34:51] = raw == MISSING
    features[:, :RAW][raw == MISSING] = 0.0
    background = y >= 2
    for column, of_class in ((51, ~background), (52, background)):
        features[:, column] = _neighbors_of(of_class, src, dst, n)
    features[:, 53], features[:, 55] = ~background, y == 2
    return features


def latest_times(stream: EventStream) -> npt.NDArray[np.int64]:
    """The time of each node's latest edge in either direction, 0 where it has none."""
    sent, received = np.zeros(stream.num_nodes, np.int64), np.zeros(stream.num_nodes, np.int64)
    sent[stream.src] = stream.t  # the stream is in time order, and the last of equal indices stays
    received[stream.dst] = stream.t
    return np.where(sent > received, sent, received)


def edge_types(stream: EventStream) -> npt.NDArray[np.int64]:
    """The type of each edge, 1 to 11, from its only feature."""
    if stream.feature_dim != 1:
        raise InputError(
            f"{stream.name} has {stream.feature_dim} edge features; GEARSage reads one, the type of the edge."
        )
    values = stream.features[:, 0]
    kind = values.astype(np.int64)
    wrong = np.flatnonzero((kind != values) | (kind < 1) | (kind > TYPES))
    if len(wrong):
        raise InputError(
            f"Edge {wrong[0]} of {stream.name} is of type {values[wrong[0]]:g}; types are 1 to {TYPES}."
        )
    return kind


def _raw_features(stream: EventStream) -> npt.NDArray[Any]:
    raw = stream.node_features
    if raw is None or raw.shape[1] != RAW:
        has = "none" if raw is None else raw.shape[1]
        raise InputError(f"GEARSage needs {RAW} features a node, as DGraphFin has; {stream.name} has {has}.")
    return raw


def _check_classes(stream: EventStream, y: npt.NDArray[np.int64]) -> None:
    if y.shape != (stream.num_nodes,):
        raise InputError(f"{stream.name} has {stream.num_nodes} nodes but {len(y)} classes; one a node.")
    wrong = np.flatnonzero((y < 0) | (y > 3))
    if len(wrong):
        raise InputError(f"Node {wrong[0]} of {stream.name} is of class {y[wrong[0]]}; classes are 0 to 3.")


def _cosine_sums(
    known: npt.NDArray[np.float32], src: npt.NDArray[np.int32], dst: npt.NDArray[np.int32]
) -> npt.NDArray[np.float64]:
    x = torch.from_numpy(known)
    cosine = np.empty(len(src))
    for start in range(0, len(src), EDGES_AT_ONCE):
        rows = slice(start, start + EDGES_AT_ONCE)
        first, second = (x[torch.from_numpy(end[rows].astype(np.int64))] for end in (src, dst))
        cosine[rows] = functional.cosine_similarity(first, second).numpy()
    return np.bincount(src, cosine, len(known)).astype(np.float64)


def _neighbors_of(
    wanted: npt.NDArray[np.bool_], src: npt.NDArray[np.int32], dst: npt.NDArray[np.int32], n: int
) -> npt.NDArray[np.signedinteger[Any]]:
    """How many edges of each node lead, in either direction, to a wanted node other than itself."""
    apart = src != dst
    leading = np.concatenate((src[wanted[dst] & apart], dst[wanted[src] & apart]))
    return np.bincount(leading, minlength=n)
