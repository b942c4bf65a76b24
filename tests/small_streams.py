"""Small streams of the awkward kinds, and questions of them, for tests of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from keat.events import EventStream
from keat.models.contract import Queries


def coarse_stream(
    seed: int,
    nodes: int,
    events: int,
    unseen: int,
    ticks: int = 40,
    *,
    features: int = 2,
    node_features: int = 0,
    shift: int = 0,
) -> EventStream:
    """A clock of a few ticks, so that times tie; the last nodes never occur; some events are with oneself."""
    rng = np.random.default_rng(seed)
    return EventStream.from_arrays(
        rng.integers(0, nodes - unseen, events),
        rng.integers(0, nodes - unseen, events),
        np.sort(rng.integers(0, ticks, events)) * 10 + shift,
        rng.standard_normal((events, features), dtype=np.float32),
        num_nodes=nodes,
        node_features=rng.standard_normal((nodes, node_features)) if node_features else None,
    )


def dated_stream(seed: int, nodes: int, events: int = 90) -> EventStream:
    """Times are those of a real clock, long after zero; the last four nodes never occur."""
    rng = np.random.default_rng(seed)
    return EventStream.from_arrays(
        rng.integers(0, nodes - 4, events),
        rng.integers(0, nodes - 4, events),
        np.sort(rng.integers(0, 9000, events)) + 1_600_000_000,
        rng.standard_normal((events, 2), dtype=np.float32),
        num_nodes=nodes,
    )


def asked_of_all(src: Sequence[int], t: Sequence[int], nodes: int, shift: int = 0) -> Queries:
    """Every node is a candidate, and some are twice."""
    candidates = np.append(np.arange(nodes), [3, 3, 0]).astype(np.int32)
    return Queries(np.array(src, np.int32), np.array(t) + shift, candidates)


def one_by_one(queries: Queries) -> Queries:
    """The same questions, each with a list of candidates of its own."""
    return replace(queries, candidates=np.tile(queries.candidates, (len(queries.src), 1)))
