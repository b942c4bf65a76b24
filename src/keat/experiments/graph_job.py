"""Runs on a whole labelled graph, as GEARSage on DGraphFin: jobs like all others, with a training of their
own."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import keat
from keat.experiments.job import Job
from keat.experiments.sources import graph_fingerprint
from keat.models.gearsage import GEARSAGE_CONFIGS
from keat.training.gearsage import (
    GEARSageFit,
    evaluate_gearsage,
    gearsage_configuration,
    open_labelled_graph,
    train_gearsage,
)
from keat.training.graph_baselines import evaluate_baseline
from keat.training.runs import best_epoch

GRAPH_LABEL = "graph-label"  # the task of a recipe of such jobs


@dataclass(frozen=True, slots=True)
class GraphJob(Job):
    """A job whose data is a graph and whose model is a GEARSage, or a baseline."""

    @property
    def is_heuristic(self) -> bool:
        return self.model not in GEARSAGE_CONFIGS

    def training_key(self, fingerprint: str) -> str:
        content: dict[str, Any] = {"keat": keat.__version__, "data": fingerprint, "model": self.model}
        if not self.is_heuristic:
            content |= {"config": asdict(gearsage_configuration(self.model, **self.config))}
            content |= {"fit": asdict(self.graph_fitting())}
        return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()

    def graph_fitting(self) -> GEARSageFit:
        return GEARSageFit(**self.fit, seed=self.seed)


def run_graph_job(job: GraphJob, scratch: Path) -> dict[str, Any]:
    """Train or fit, and score validation and test nodes."""
    data = open_labelled_graph(job.source)
    if job.is_heuristic:
        val, test = evaluate_baseline(job.model, data, ("valid", "test"))
        return {"val": val, "test": {"all": test}, "events": len(data.stream)}
    config = gearsage_configuration(job.model, **job.config)
    folder = scratch / job.training_key(graph_fingerprint(data))
    resume = (folder / "run.json").exists()
    train_gearsage(job.model, data, folder, config, job.graph_fitting(), resume=resume)
    test = evaluate_gearsage(folder, data, "test")
    return {
        "config_full": asdict(config),
        **best_epoch(folder),
        "test": {"all": test},
        "events": len(data.stream),
    }
