"""A stream whose features are as they were read → the same with features as a model is shown them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from keat.events.feature_columns import RawColumn
from keat.events.feature_encoding import FeatureEncoding, encode_columns, learn_columns, tell_of_large
from keat.events.node_table import NodeTable
from keat.events.splitting import split
from keat.events.stream import EventStream


def learn_encoding(
    stream: EventStream,
    raw: Sequence[RawColumn],
    nodes: NodeTable | None,
    where: str,
    *,
    scale: bool,
    held_out: tuple[float, float],
    kept: Collection[str] = (),
) -> FeatureEncoding:
    """From the events of the training split, and the rows of nodes that occur in them. Features in ``kept``
    are not scaled; of others that are not and are large, it is said."""
    learns = scale or any(column.values is not None for column in raw)
    train = split(stream, *held_out).train if learns else stream[:0]
    events = learn_columns(train.features, raw, scale=scale, kept=kept)
    tell_of_large(events, stream.features, where, kept)
    if nodes is None:
        return FeatureEncoding(events)
    seen = np.zeros(stream.num_nodes, dtype=np.bool_)
    seen[train.src] = seen[train.dst] = True
    of_nodes = learn_columns(nodes.matrix[seen & nodes.known], nodes.raw, scale=scale)
    tell_of_large(of_nodes, nodes.matrix, nodes.where)
    return FeatureEncoding(events, of_nodes)


def encode_stream(
    encoding: FeatureEncoding,
    stream: EventStream,
    raw: Sequence[RawColumn],
    nodes: NodeTable | None,
    where: str,
) -> EventStream:
    """The features of events and of nodes, encoded; a node without a row keeps its zeros, which are the mean
    where features are scaled."""
    stream = replace(stream, features=encode_columns(encoding.events, stream.features, raw, where))
    if nodes is None:
        return stream
    encoded = encode_columns(encoding.nodes, nodes.matrix, nodes.raw, nodes.where)
    return replace(stream, node_features=np.where(nodes.known[:, None], encoded, np.float32(0)))
