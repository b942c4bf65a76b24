"""Which data was it? A digest that says so in a checkpoint or a table of results."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from keat.events.stream import EventStream


def fingerprint(stream: EventStream) -> str:
    """A digest of the events themselves: equal for equal sources, destinations, times and features."""
    digest = hashlib.blake2b(digest_size=12)
    digest.update(f"{len(stream)} {stream.feature_dim} {stream.num_nodes} {stream.unit}".encode())
    for column in (stream.src, stream.dst, stream.t, stream.features):
        digest.update(np.ascontiguousarray(column).data)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class DataFacts:
    """Which events they were."""

    name: str
    events: int
    fingerprint: str

    @classmethod
    def of(cls, name: str, stream: EventStream) -> DataFacts:
        return cls(name, len(stream), fingerprint(stream))
