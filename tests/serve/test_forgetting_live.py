"""A served run whose state has a budget of memory forgets pairs, and goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import keat
from keat.datasets.payments import simulate_payments
from keat.models.rank import KeatRank
from keat.serve.engine import Engine
from keat.serve.events import Event


def test_pairs_are_forgotten_while_events_come(tmp_path: Path) -> None:
    stream = simulate_payments(600, seed=1)
    keat.train("keat-rank", stream, out=tmp_path / "run", epochs=1, watchers=[], state_memory="1MB")
    engine, draw = Engine(tmp_path / "run", "process"), np.random.default_rng(0)
    ends, begin = draw.integers(0, 800, (4_096, 2)).tolist(), engine.state.last_time
    events = [
        engine.checker.event(Event(source, destination, begin + place // 3))
        for place, (source, destination) in enumerate(ends)
    ]
    assert len(engine.take(events)) == len(events)
    assert isinstance(engine.state.model, KeatRank)
    memory = engine.state.model.memory()
    assert memory is not None
    assert memory.dropped > 0
    digest = engine.digest()
    engine.close()
    again = Engine(tmp_path / "run", "process")
    assert again.digest() == digest
    again.close()
