"""Runs that take a fraction of a second, one of every kind of state, each trained once in a test session."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_payments
from keat.models.dygformer import DyGFormerConfig
from keat.models.rank import RankConfig
from keat.models.snapshots import GCLSTMConfig
from keat.models.tgat import TGATConfig
from keat.models.tgn import TGNConfig
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec
from keat.tasks.task_spec import TaskSpec
from keat.training.fit import FitConfig

DAMAGED = r"the run is damaged: .+; train it again\.$"
FIT = FitConfig(epochs=2, lr=3e-3, seed=7)
CONFIGS: dict[str, Any] = {
    "keat-tgn": TGNConfig(kernel="learnable", dim=8, neighbors=3),
    "tgn": TGNConfig(dim=8, neighbors=3, pair_term="rank"),
    "keat-rank": RankConfig(hidden=8, ring=4, fanout=2),
    "keat-rank, features": RankConfig(hidden=8, ring=4, fanout=2, edition=2, feature_means=True),
    "tgat": TGATConfig(layers=1, neighbors=3, time_dim=4, out_dim=8),
    "utg-gclstm": GCLSTMConfig(kernel="learnable", history=4, input_dim=4, dim=4),
    "dygformer": DyGFormerConfig(length=4, channel=4, layers=1, time_dim=4, out_dim=8),
}
KINDS = [*CONFIGS, "fraud"]


@cache
def small_data() -> Dataset:
    stream = simulate_payments(400, seed=1)
    return Dataset(replace(stream, labels=(np.arange(len(stream)) % 2).astype(np.float32)))


@cache
def small_run(name: str) -> Path:
    """The folder of a run of a model; ``fraud`` is a head that counts, for labels of events."""
    folder, data = Path(tempfile.mkdtemp(prefix="keat-test-")) / "run", small_data()
    if name == "fraud":
        train_run(RunSpec("keat-tgn", CONFIGS["keat-tgn"], FIT, TaskSpec(kind="node-label")), data, folder)
    else:
        train_run(RunSpec(name.partition(",")[0], CONFIGS[name], FIT), data, folder)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
