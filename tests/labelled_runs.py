"""Small runs that label events, each trained once in a test session."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import keat
from keat.runs import Run

DAY = 86_400
COLUMNS: dict[str, Any] = {"src": "card", "dst": "shop", "time": "when", "label": "is_fraud", "unit": "s"}
FEATURES: dict[str, Any] = {"features": ["amount"], "categorical": ["channel"], "scale": True}
SETTINGS: dict[str, dict[str, Any]] = {
    "tgn": {"dim": 16, "neighbors": 4},
    "keat-tgn": {"dim": 16, "neighbors": 4, "delta": "query"},
    "tgat": {"neighbors": 4, "layers": 1, "out_dim": 8, "time_dim": 8},
    "graphmixer": {"neighbors": 4, "time_dim": 8, "out_dim": 8},
}


@cache
def payments(events: int = 900) -> pd.DataFrame:
    """Ten days of payments on a clock coarse enough for ties; frauds are large, and mostly online."""
    rng = np.random.default_rng(4)
    fraud = rng.random(events) < 0.12
    return pd.DataFrame(
        {
            "card": [f"C-{n:03}" for n in rng.integers(0, 40, events)],
            "shop": [f"shop {n}" for n in rng.integers(0, 25, events)],
            "when": 1_700_006_400 + np.sort(rng.integers(0, 10 * DAY // 60, events)) * 60,
            "amount": np.round(np.exp(rng.normal(3, 0.5, events) + 1.5 * fraud), 2),
            "channel": np.where(rng.random(events) < np.where(fraud, 0.8, 0.2), "online", "chip"),
            "is_fraud": fraud.astype(int),
        }
    )


@cache
def file() -> Path:
    path = Path(tempfile.mkdtemp(prefix="keat-test-")) / "payments.csv"
    payments().to_csv(path, index=False)
    return path


def labelled(model: str, counts: bool = True) -> Path:
    """The folder of a run on `file`, that has seen all of it."""
    return _trained(model, counts)


@cache
def _trained(model: str, counts: bool) -> Path:
    folder = file().parent / f"{model}-{counts}"
    options = COLUMNS | FEATURES | SETTINGS[model]
    keat.train(model, file(), out=folder, counts=counts, epochs=2, lr=5e-3, watchers=[], **options)
    return folder


def opened(model: str, counts: bool = True) -> Run:
    """Another at each call."""
    return keat.open(labelled(model, counts))
