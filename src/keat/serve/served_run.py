"""A run as it is served: its model with a fresh state, what its nodes and features are called, and what it is
known by."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch

from keat.calibration.calibrations import Calibration
from keat.errors import InputError
from keat.models.contract import LearnedLinkModel
from keat.models.node_head import EventHead
from keat.models.rank import KeatRank
from keat.runs.run import Run, open_kept
from keat.runs.run_subject import feature_columns
from keat.serve.happened import Happened, Waiting
from keat.serve.live_features import LiveFeatures
from keat.serve.live_ids import LiveIds
from keat.serve.live_state import LiveState, Model
from keat.serve.watching import Watch

LIVE = "live"  # the folder in the run's own
MODELS = "models"  # in the folder of the log: runs that were exchanged for the first


def kept_model(live: Path, fingerprint: str) -> Path:
    """Where the run of a model is that a log names."""
    return live / MODELS / fingerprint


@dataclass(frozen=True, slots=True, eq=False)
class ServedRun:
    """What is opened of a run, anew at each start."""

    run: Run
    model: Model
    fingerprint: str  # of the parameters and of what the run is
    features: LiveFeatures

    @classmethod
    def open(cls, folder: Path) -> ServedRun:
        run = open_kept(folder)
        if run.spec.is_of_graph:
            raise InputError(f"{folder} labels the nodes of a whole graph, which has no events to serve.")
        model = run.model
        if not isinstance(model, LearnedLinkModel | EventHead):
            raise InputError(
                f"{folder} tells how a node will divide its next period; runs that score links, or label "
                "events, can be served."
            )
        facts = run.facts
        columns = feature_columns(run.spec.source, facts.feature_dim)
        features = LiveFeatures(columns, facts.feature_dim, needed=not isinstance(model, KeatRank))
        return cls(run, model, _fingerprint(run, model), features)

    @property
    def calibration(self) -> Calibration | None:
        return self.run.calibration

    @property
    def live_folder(self) -> Path:
        return self.run.folder / LIVE

    def ids(self) -> LiveIds:
        return LiveIds(self.run.names)

    def state(self) -> LiveState:
        """As it was when the run was saved."""
        present, facts = self.run.present, self.run.facts
        state = LiveState(self.model, facts.unit, present.last_time, facts.feature_dim)
        if present.pending is not None:
            waiting = present.pending
            state.waiting = Waiting(Happened(waiting.src, waiting.dst, waiting.t, waiting.features))
        return state

    def watch(self) -> Watch:
        """Before any event."""
        return Watch(self.run.facts.unit, isinstance(self.model, EventHead))

    def about(self) -> dict[str, Any]:
        """What its log begins with, and would not fit another run."""
        seen = self.run.present.seen
        return {
            "model": self.fingerprint,
            "unit": self.run.facts.unit,
            "rows seen": seen.rows,
            "sum of rows seen": [str(number) for number in seen.total],
            "number of nodes": len(self.run.names),
        }


def _fingerprint(run: Run, model: Model) -> str:
    found = hashlib.blake2b(digest_size=8)
    found.update(msgspec.json.encode([run.spec.model, asdict(run.spec.config)]))
    found.update(repr(run.calibration).encode())
    with torch.no_grad():
        for name, value in sorted(model.state_dict().items()):
            found.update(name.encode())
            found.update(np.ascontiguousarray(value.cpu().float().numpy()).tobytes())
    return found.hexdigest()
