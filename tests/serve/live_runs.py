"""Small runs to be served, and the events that come to them."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from keat.serve.engine import Engine
from keat.serve.events import Checked, Event
from keat.serve.log_rows import Value

RUNS = Path(__file__).parents[1] / "runs" / "small_runs.py"


def _small_runs() -> Any:
    """The module of the tests of runs, whose runs are trained once in a session."""
    if "small_runs" in sys.modules:
        return sys.modules["small_runs"]
    spec = importlib.util.spec_from_file_location("small_runs", RUNS)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["small_runs"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def live_run(name: str, folder: Path) -> Path:
    """A copy of a run that has seen the first 85 % of 400 payments."""
    run = folder / "run"
    shutil.copytree(_small_runs().small_run(name), run)
    return run


def later_events(engine: Engine, number: int, seed: int = 0, ties: int = 3) -> list[Event]:
    """Events after those of the run, as a client sends them: old nodes and new ones of both sides, times that
    tie and now and then fall."""
    rng = np.random.default_rng(seed)
    t, events = engine.state.last_time, []
    for place in range(number):
        t += int(rng.integers(0, 2)) * int(rng.integers(1, 10_000)) if place % ties else 0
        late = int(rng.integers(0, 5_000)) if rng.random() < 0.1 else 0
        source = int(rng.integers(0, 40)) if rng.random() < 0.9 else 1_000 + int(rng.integers(0, 20))
        destination = int(rng.integers(40, 80)) if rng.random() < 0.9 else 2_000 + int(rng.integers(0, 20))
        features: dict[str, Value] = {name: float(rng.normal()) for name in engine.served.features.names}
        events.append(Event(source, destination, t - late, id=f"event {place}", features=features or None))
    return events


def checked(engine: Engine, events: list[Event]) -> list[Checked]:
    return [engine.checker.event(event) for event in events]
