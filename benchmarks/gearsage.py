"""GEARSage and KEAT-GEARSage on generated contact graphs: the runs behind docs/results/dgraphfin.md.

    python -m benchmarks.gearsage study --ledger docs/results/dgraphfin.jsonl
    python -m benchmarks.gearsage full --ledger docs/results/dgraphfin.jsonl
    python -m benchmarks.gearsage show --ledger docs/results/dgraphfin.jsonl

``study`` is every (world, model, seed) of a graph of 60,000 nodes; what is in the ledger is not run again,
and an interrupted run continues from its last epoch. ``full`` is the whole way at the size of DGraphFin, for
a few epochs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import platform
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.ledgers import append, commit, interval, read, spread
from keat.bandwidth import estimate_sigma
from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.dgraphfin_generator import TYPES, ContactsConfig, ContactsTruth, write_dgraphfin
from keat.datasets.labelled_graph import open_labelled_graph
from keat.events.fingerprint import fingerprint
from keat.models.gearsage import build_features, build_graph
from keat.models.gearsage.features import edge_types, latest_times
from keat.runs.epochs import best_epoch, read_history
from keat.runs.presets import usual_fit
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec, configuration
from keat.tasks.graph_label import GraphLabel, Part

NODES = 60_000
FRAUD_SHARE = 0.1  # of labelled nodes, eight times that of DGraphFin: 300 frauds to be found in the test part
FITTING = replace(usual_fit("gearsage"), epochs=40, validate_every=2)
WORLDS = {"fading": 60.0, "lasting": math.inf}  # half-life of the planted evidence, in days


@dataclass(frozen=True)
class Side:
    """One row of the table: a baseline by name, or a model with its Δ."""

    name: str
    delta: str | None = None


KERNELS = {"gearsage": "identity", "keat-gearsage": "laplacian", "keat-gearsage, gated": "gated"}
GEARS = (
    Side("gearsage", "target"),
    Side("keat-gearsage", "target"),
    Side("keat-gearsage, gated", "target"),
    Side("keat-gearsage", "end"),
)
BASELINES = (
    Side("degree"),
    Side("logistic"),
    Side("logistic, types both ways"),
    Side("logistic, faded types"),
    Side("planted log odds"),
)


# -- the study ---------------------------------------------------------------------------------------


def study(ledger: Path, scratch: Path, seeds: int) -> None:
    """A seed is a graph of its own, and the model's; all sides of one seed see the same graph."""
    for seed in range(1, seeds + 1):
        for world in WORLDS:
            missing = [side for side in (*BASELINES, *GEARS) if find(read(ledger), world, side, seed) is None]
            if not missing:
                continue
            config = ContactsConfig(half_life=WORLDS[world], fraud_share=FRAUD_SHARE)
            path = scratch / f"{world}-{seed}.npz"
            truth = write_dgraphfin(path, NODES, seed=seed, config=config)
            data = open_labelled_graph(path)
            for side in missing:
                started = time.process_time()
                found = run_side(side, data, truth, seed, scratch)
                seconds = time.process_time() - started
                planted = {"world": world, "nodes": NODES, "half_life_days": str(config.half_life)}
                line = planted | {"side": asdict(side), "seed": seed} | found | {"cpu_seconds": seconds}
                write(ledger, line | provenance(data, [asdict(config), line["config"], line["fit"]]))
                print(world, side.name, side.delta or "", seed, f"AUC {found['test']['auc']:.4f}", flush=True)


def run_side(side: Side, data: DGraphFin, truth: ContactsTruth, seed: int, scratch: Path) -> dict[str, Any]:
    if side.delta is None:
        scores = torch.from_numpy(baseline(side.name, data, truth))
        val, test = (GraphLabel(data, part).metrics(scores[of]) for part, of in parts(data))
        return {"val": val, "test": test, "config": None, "fit": None}
    name, kernel = side.name.split(",")[0], KERNELS[side.name]
    config = configuration(name, kernel=kernel, delta=side.delta)
    fitting = replace(FITTING, seed=seed)
    folder = scratch / f"{data.stream.name}-{name}-{kernel}-{side.delta}"
    train_run(RunSpec(name, config, fitting), data, folder, resume=(folder / "run.json").exists())
    best = best_epoch(folder)
    return {
        "val": best.val,
        "test": evaluate_run(folder, data, GraphLabel(data, "test"), "test").metrics,
        "best_epoch": best.epoch,
        "epochs": len(read_history(folder)),
        "config": asdict(config),
        "fit": asdict(fitting),
    }


def parts(data: DGraphFin) -> tuple[tuple[Part, npt.NDArray[np.int64]], ...]:
    return ("val", data.valid), ("test", data.test)


def baseline(name: str, data: DGraphFin, truth: ContactsTruth) -> npt.NDArray[np.float64]:
    """A score a node, from training labels at most; the last one is the generator's own, out of reach."""
    features = build_features(data.stream, data.y).astype(np.float64)
    if name == "planted log odds":
        return truth.log_odds
    if name == "degree":
        return features[:, 31] + features[:, 32]
    if name == "logistic, types both ways":
        features = np.hstack((features, type_sums(data, math.inf)))
    elif name == "logistic, faded types":
        stream = data.stream
        features = np.hstack((features, type_sums(data, estimate_sigma(stream.src, stream.dst, stream.t))))
    return logistic(features, data)


def type_sums(data: DGraphFin, sigma: float) -> npt.NDArray[np.float64]:
    """(n, 11): Σ over a node's edges of each type, in and out, of exp(-Δ/σ), Δ from the node's latest edge:
    by hand what the kernel does."""
    stream = data.stream
    person = np.concatenate((stream.src, stream.dst)).astype(np.int64)
    kind, t = (np.tile(column, 2) for column in (edge_types(stream), stream.t))
    weight = np.exp(-(latest_times(stream)[person] - t) / sigma)
    sums = np.bincount(person * TYPES + kind - 1, weight, stream.num_nodes * TYPES)
    return sums.reshape(-1, TYPES).astype(np.float64)


def logistic(features: npt.NDArray[np.float64], data: DGraphFin) -> npt.NDArray[np.float64]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    classifier.fit(features[data.train], data.y[data.train])
    scores: npt.NDArray[np.float64] = classifier.decision_function(features)
    return scores


# -- the full size -----------------------------------------------------------------------------------


def full(ledger: Path, scratch: Path, epochs: int) -> None:
    """Write, read, build, train, score: seconds, CPU seconds and the process's peak memory after each."""
    stages: dict[str, dict[str, float]] = {}
    path, folder = scratch / "full.npz", scratch / "full"
    if not path.exists():
        with stage("generate and write", stages):
            write_dgraphfin(path)
    with stage("read", stages):
        data = open_labelled_graph(path)
    config = configuration("keat-gearsage")
    with stage("features and graph", stages):
        graph = build_graph(data.stream, data.y, config.delta)
    nodes = graph.num_nodes
    del graph  # training and test build their own
    fitting = replace(usual_fit("keat-gearsage"), epochs=epochs, seed=42)
    with stage(f"train {epochs} epochs, each validated", stages):
        reports = train_run(RunSpec("keat-gearsage", config, fitting), data, folder).reports
    with stage("test", stages):
        test = evaluate_run(folder, data, GraphLabel(data, "test"), "test").metrics
    line = {
        "world": "full size",
        "nodes": nodes,
        "edges": len(data.stream),
        "side": asdict(Side("keat-gearsage", "target")),
        "seed": fitting.seed,
        "stages": stages,
        "epochs": [asdict(report) for report in reports],
        "test": test,
    }
    write(ledger, line | provenance(data, [asdict(ContactsConfig()), asdict(config), asdict(fitting)]))


@contextmanager
def stage(name: str, stages: dict[str, dict[str, float]]) -> Iterator[None]:
    clock, cpu = time.perf_counter(), time.process_time()
    yield
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # KiB to GiB
    seconds, cpu_seconds = time.perf_counter() - clock, time.process_time() - cpu
    stages[name] = {"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_gib": peak}
    print(f"{name}: {seconds:.1f} s ({cpu_seconds:.1f} s of CPU), peak so far {peak:.1f} GiB", flush=True)


# -- the ledger --------------------------------------------------------------------------------------


def provenance(data: DGraphFin, configuration: list[Any]) -> dict[str, Any]:
    text = json.dumps(configuration, sort_keys=True, default=str)
    return {
        "data": {"events": len(data.stream), "fingerprint": fingerprint(data.stream)},
        "config_hash": hashlib.blake2b(text.encode(), digest_size=6).hexdigest(),
        "commit": commit(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
    }


def write(ledger: Path, line: dict[str, Any]) -> None:
    append(ledger, line)


def find(lines: list[dict[str, Any]], world: str, side: Side, seed: int) -> dict[str, Any] | None:
    found = (line for line in lines if line["world"] == world and line["side"] == asdict(side))
    return next((line for line in found if line["seed"] == seed), None)


def show(ledger: Path) -> str:
    """Mean ± std over seeds, and the difference in test AUC from plain GEARSage of the same graph and seed,
    with a 95 % interval (Student's t)."""
    lines = read(ledger)
    rows = [
        "| evidence | model | Δ | seeds | val AUC | test AUC | test AP | test AUC - gearsage, paired |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for world in WORLDS:
        for side in (*BASELINES, *GEARS):
            seeds = sorted({line["seed"] for line in lines if line["world"] == world})
            pairs = [(find(lines, world, side, seed), find(lines, world, GEARS[0], seed)) for seed in seeds]
            both = [(mine, plain) for mine, plain in pairs if mine is not None and plain is not None]
            if not both:
                continue
            columns = [("val", "auc"), ("test", "auc"), ("test", "ap")]
            numbers = [spread([mine[part][metric] for mine, _ in both]) for part, metric in columns]
            gains = np.array([mine["test"]["auc"] - plain["test"]["auc"] for mine, plain in both])
            gain = "" if side == GEARS[0] else interval(gains)
            cells = [world, side.name, side.delta or "", str(len(both)), *numbers, gain]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["study", "full", "show"])
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, default=Path("runs/gearsage"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3, help="of the full size")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    arguments.scratch.mkdir(parents=True, exist_ok=True)
    if arguments.what == "study":
        study(arguments.ledger, arguments.scratch, arguments.seeds)
    elif arguments.what == "full":
        full(arguments.ledger, arguments.scratch, arguments.epochs)
    else:
        print(show(arguments.ledger))


if __name__ == "__main__":
    main()
