"""KEAT-GEARSage at the size of DGraphFin, 3.7 million people, for a few epochs: how long, how much memory?

    python -m benchmarks.gearsage --json

The whole way: generate and write, read, build, train, score. For each stage the seconds on the clock, those
of the process, and its peak memory so far.
"""

from __future__ import annotations

import json
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.benchmark_command import benchmark_parser
from keat.datasets.dgraphfin_generator import write_dgraphfin
from keat.datasets.labelled_graph import open_labelled_graph
from keat.experiments.provenance import provenance
from keat.models.gearsage import build_graph
from keat.runs.presets import usual_fit
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec, configuration
from keat.tasks.graph_label import GraphLabel

Stages = dict[str, dict[str, float]]


def measure(epochs: int, folder: Path) -> dict[str, Any]:
    stages: Stages = {}
    path = folder / "graph.npz"
    with stage("generate and write", stages):
        write_dgraphfin(path)
    with stage("read", stages):
        data = open_labelled_graph(path)
    config = configuration("keat-gearsage")
    with stage("features and graph", stages):
        nodes = build_graph(data.stream, data.y, config.delta).num_nodes
    fitting = replace(usual_fit("keat-gearsage"), epochs=epochs, seed=42)
    with stage(f"train {epochs} epochs, each validated", stages):
        reports = train_run(RunSpec("keat-gearsage", config, fitting), data, folder / "run").reports
    with stage("test", stages):
        test = evaluate_run(folder / "run", data, GraphLabel(data, "test"), "test").metrics
    return {
        "nodes": nodes,
        "edges": len(data.stream),
        "stages": stages,
        "epochs": [asdict(report) for report in reports],
        "test": test,
        **provenance(),
    }


@contextmanager
def stage(name: str, stages: Stages) -> Iterator[None]:
    clock, cpu = time.perf_counter(), time.process_time()
    yield
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # KiB to GiB
    seconds, cpu_seconds = time.perf_counter() - clock, time.process_time() - cpu
    stages[name] = {"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_gib": peak}


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        result = measure(options.epochs, Path(folder))
    if options.json:
        print(json.dumps(result))
        return
    for name, took in result["stages"].items():
        print(
            f"{name:34}{took['seconds']:>8.1f} s{took['cpu_seconds']:>8.1f} s of CPU"
            f"{took['peak_gib']:>6.1f} GiB at most so far"
        )


if __name__ == "__main__":
    main()
