"""Small models of snapshots, and a stream for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from every_model import smaller
from keat.events import EventStream
from keat.models.architectures import ARCHITECTURES
from keat.models.contract import Queries
from keat.models.snapshots.driver import SnapshotModel

NODES = 14
NAMES = [name for name in ARCHITECTURES if "utg-" in name]
PLAIN = [name for name in NAMES if not name.startswith("keat-")]


def some_stream(events: int = 90, seed: int = 0, nodes: int = NODES, start: int = 1_000) -> EventStream:
    rng = np.random.default_rng(seed)
    return EventStream.from_arrays(
        rng.integers(0, nodes, events),
        rng.integers(0, nodes, events),
        start + np.sort(rng.integers(0, 60, events)),
        rng.random((events, 2), dtype=np.float32),
        num_nodes=max(nodes, NODES),
    )


def build(name: str, nodes: int = NODES, seed: int = 3, **settings: Any) -> SnapshotModel:
    """Bins are 5 wide, σ is 20."""
    config = replace(smaller(ARCHITECTURES[name].config), bin_width=5.0, dropout=0.0, **settings)
    torch.manual_seed(seed)
    model = ARCHITECTURES[name].kind(nodes, 2, 20.0, config)
    assert isinstance(model, SnapshotModel)
    return model.eval()


def ask(t: int = 2_000, src: list[int] | None = None, candidates: list[int] | None = None) -> Queries:
    sources = np.arange(NODES, dtype=np.int32) if src is None else np.array(src, np.int32)
    among = np.arange(NODES, dtype=np.int32) if candidates is None else np.array(candidates, np.int32)
    return Queries(sources, np.full(len(sources), t), among)
