"""GEARSage and KEAT-GEARSage on generated contact graphs: docs/results/dgraphfin.md.

    python -m studies.dgraphfin              run what the ledger lacks, and print the table
    python -m studies.dgraphfin --report     print the table

A line of the ledger for every (world, side, seed). A seed is a graph of 60,000 people of its own, and the
model's; all sides of one seed see the same graph.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from keat.bandwidth import estimate_sigma
from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.dgraphfin_generator import TYPES, ContactsConfig, ContactsTruth, write_dgraphfin
from keat.datasets.labelled_graph import open_labelled_graph
from keat.events.fingerprint import fingerprint
from keat.models.gearsage import build_features
from keat.models.gearsage.features import edge_types, latest_times
from keat.runs.epochs import best_epoch, read_history
from keat.runs.presets import usual_fit
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_file import is_run
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec, configuration
from keat.tasks.graph_label import GraphLabel
from studies.study import Cell, Found, Result, StudyLedger, config_hash, gain, spread, study_parser, table

Floats = npt.NDArray[np.float64]

NODES = 60_000
FRAUD_SHARE = 0.1  # of labelled nodes, eight times that of DGraphFin: 300 frauds to be found in the test part
FITTING = replace(usual_fit("gearsage"), epochs=40, validate_every=2)
WORLDS = {"fading": 60.0, "lasting": math.inf}  # half-life of the planted evidence, in days


class Side(msgspec.Struct, frozen=True):
    """One row of the table: a baseline by name, or a model with its Δ."""

    name: str
    delta: str | None = None


class ContactsCell(Cell, frozen=True, kw_only=True):
    world: str
    side: Side
    seed: int


class ContactsFound(Found, frozen=True, kw_only=True):
    """AUC and AP; of what was trained also how."""

    nodes: int
    half_life_days: str
    val: dict[str, float]
    test: dict[str, float]
    best_epoch: int | None = None
    epochs: int | None = None
    config: dict[str, Any] | None = None
    fit: dict[str, Any] | None = None
    cpu_seconds: float
    data: dict[str, Any]
    config_hash: str
    threads: int | None = None  # of older lines, which do not say it with the machine


ContactsLine: TypeAlias = Result[ContactsCell, ContactsFound]

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


def cells(seeds: int) -> Iterator[ContactsCell]:
    for seed, world, side in product(range(1, seeds + 1), WORLDS, (*BASELINES, *GEARS)):
        yield ContactsCell(world=world, side=side, seed=seed)


def contacts_of(world: str) -> ContactsConfig:
    return ContactsConfig(half_life=WORLDS[world], fraud_share=FRAUD_SHARE)


@lru_cache(maxsize=1)
def graph_of(world: str, seed: int, scratch: Path) -> tuple[DGraphFin, ContactsTruth]:
    scratch.mkdir(parents=True, exist_ok=True)
    path = scratch / f"{world}-{seed}.npz"
    truth = write_dgraphfin(path, NODES, seed=seed, config=contacts_of(world))
    return open_labelled_graph(path), truth


def ask(cell: ContactsCell, scratch: Path) -> ContactsFound:
    data, truth = graph_of(cell.world, cell.seed, scratch)
    started, side, contacts = time.process_time(), cell.side, contacts_of(cell.world)
    if side.delta is None:
        scores = torch.from_numpy(baseline(side.name, data, truth))
        found: dict[str, Any] = {
            "val": GraphLabel(data, "val").metrics(scores[data.valid]),
            "test": GraphLabel(data, "test").metrics(scores[data.test]),
        }
    else:
        found = train_side(side, data, cell.seed, scratch)
    return ContactsFound(
        nodes=NODES,
        half_life_days=str(contacts.half_life),
        **found,
        cpu_seconds=time.process_time() - started,
        data={"events": len(data.stream), "fingerprint": fingerprint(data.stream)},
        config_hash=config_hash(asdict(contacts), found.get("config"), found.get("fit")),
    )


def train_side(side: Side, data: DGraphFin, seed: int, scratch: Path) -> dict[str, Any]:
    name, kernel = side.name.split(",")[0], KERNELS[side.name]
    config = configuration(name, kernel=kernel, delta=side.delta)
    fitting = replace(FITTING, seed=seed)
    folder = scratch / f"{data.stream.name}-{name}-{kernel}-{side.delta}"
    train_run(RunSpec(name, config, fitting), data, folder, resume=is_run(folder))
    best = best_epoch(folder)
    return {
        "val": best.val,
        "test": evaluate_run(folder, data, GraphLabel(data, "test"), "test").metrics,
        "best_epoch": best.epoch,
        "epochs": len(read_history(folder)),
        "config": asdict(config),
        "fit": asdict(fitting),
    }


def baseline(name: str, data: DGraphFin, truth: ContactsTruth) -> Floats:
    """A score for each node, from training labels at most; the last one is the generator's own, out of
    reach."""
    if name == "planted log odds":
        return truth.log_odds
    stream = data.stream
    if name == "degree":
        return np.bincount(np.concatenate((stream.src, stream.dst)), minlength=stream.num_nodes).astype(float)
    features = build_features(stream, data.y).astype(np.float64)
    if name == "logistic, types both ways":
        features = np.hstack((features, type_sums(data, math.inf)))
    elif name == "logistic, faded types":
        features = np.hstack((features, type_sums(data, estimate_sigma(stream.src, stream.dst, stream.t))))
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    classifier.fit(features[data.train], data.y[data.train])
    scores: Floats = classifier.decision_function(features)
    return scores


def type_sums(data: DGraphFin, sigma: float) -> Floats:
    """(n, 11): Σ over a node's edges of each type, in and out, of exp(-Δ/σ), Δ from the node's latest edge:
    by hand what the kernel does."""
    stream = data.stream
    person = np.concatenate((stream.src, stream.dst)).astype(np.int64)
    kind, t = (np.tile(column, 2) for column in (edge_types(stream), stream.t))
    weight = np.exp(-(latest_times(stream)[person] - t) / sigma)
    sums = np.bincount(person * TYPES + kind - 1, weight, stream.num_nodes * TYPES)
    return sums.reshape(-1, TYPES).astype(np.float64)


def report(lines: list[ContactsLine]) -> str:
    """Mean ± std over seeds, and the difference in test AUC from plain GEARSage of the same graph and seed,
    with a 95 % interval (Student's t)."""
    head = ["evidence", "model", "Δ", "seeds", "val AUC", "test AUC", "test AP"]
    rows = []
    for world, side in product(WORLDS, (*BASELINES, *GEARS)):
        mine, plain = (_by_seed(lines, world, one) for one in (side, GEARS[0]))
        if not mine:
            continue
        found = list(mine.values())
        numbers = [
            spread([each.val["auc"] for each in found]),
            spread([each.test["auc"] for each in found]),
            spread([each.test["ap"] for each in found]),
        ]
        ours, theirs = (
            {seed: each.test["auc"] for seed, each in by_seed.items()} for by_seed in (mine, plain)
        )
        difference = "" if side == GEARS[0] else gain(ours, theirs)
        rows.append([world, side.name, side.delta or "", str(len(found)), *numbers, difference])
    return "\n".join(table([*head, "test AUC - gearsage, paired"], rows))


def _by_seed(lines: list[ContactsLine], world: str, side: Side) -> dict[int, ContactsFound]:
    return {
        line.cell.seed: line.found for line in lines if (line.cell.world, line.cell.side) == (world, side)
    }


def main() -> None:
    parser = study_parser("dgraphfin", __doc__)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    ledger = StudyLedger(given.ledger, ContactsCell, ContactsFound)
    if not given.report:
        ledger.complete(cells(given.seeds), partial(ask, scratch=given.scratch))
    print(report(ledger.lines()))


if __name__ == "__main__":
    main()
