"""Small trained runs that several tests look at, each trained once in a test session."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import torch

from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_payments
from keat.models.rank import RankConfig
from keat.models.tgat import TGATConfig
from keat.models.tgn import TGN, TGNConfig
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec
from keat.tasks.script import TGB_BATCH
from keat.training.fit import FitConfig

EVENTS = 2_000


@cache
def payments() -> Dataset:
    return Dataset(simulate_payments(EVENTS, seed=1))


@cache
def trained(config: TGNConfig | TGATConfig | RankConfig) -> Path:
    """The folder of a run on `payments`."""
    folder = Path(tempfile.mkdtemp(prefix="keat-test-")) / "run"
    if isinstance(config, RankConfig):
        name = "keat-rank"
    else:
        kind = "tgn" if isinstance(config, TGNConfig) else "tgat"
        name = kind if config.kernel == "identity" else f"keat-{kind}"
    train_run(RunSpec(name, config, FitConfig(epochs=2, lr=5e-3, seed=3)), payments(), folder)
    return folder


def small(**changes: object) -> TGNConfig:
    """A configuration that trains in a second."""
    return TGNConfig(**{"kernel": "laplacian", "dim": 16, "neighbors": 5, **changes})  # type: ignore[arg-type]


def untrained(config: TGNConfig, seed: int = 0) -> TGN:
    """Fresh weights that have observed everything before the test split: enough where only the arithmetic
    is in question."""
    data = payments()
    torch.manual_seed(seed)
    model = TGN(data.stream.num_nodes, data.stream.feature_dim, data.sigma(), config).eval()
    for block in data.before("test").blocks(TGB_BATCH):
        model.observe(block)
    return model
