"""Node properties: the runs behind docs/results/trade.md.

    python -m benchmarks.node_study run --study trade --data trade.parquet --ledger docs/results/trade.jsonl
    python -m benchmarks.node_study run --study protocol --data highschool.parquet --ledger …
    python -m benchmarks.node_study show --ledger docs/results/trade.jsonl

Every (study, cell, seed) is one line of the ledger, written when it is done; what is there is not run again,
and an interrupted run continues from its last epoch.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

import keat
from benchmarks.ledgers import append, commit, config_hash, interval, read, spread
from keat.datasets.loading import Dataset
from keat.models.registry import NODE_MODELS
from keat.runs.epochs import best_epoch, read_history
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec, configuration
from keat.runs.testing import evaluate_run
from keat.tasks.kinds import Protocol
from keat.tasks.label_making import label_by_period
from keat.tasks.node_property import NodeProperty
from keat.tasks.task_spec import TaskSpec
from keat.training.evaluate import evaluate
from keat.training.fit import FitConfig


@dataclass(frozen=True)
class Cell:
    model: str
    messages: str = "-"
    protocol: Protocol = "strict"


@dataclass(frozen=True)
class Study:
    """One table: a dataset, its cells, and how long each is trained."""

    load: Callable[[str], Dataset]
    cells: list[Cell]
    epochs: int
    lr: float = 3e-3


def load_trade(path: str) -> Dataset:
    return label_by_period(keat.load(path, features=["trade"], unit="year"), "year", weight=0)


def load_contacts(path: str) -> Dataset:
    return label_by_period(keat.load(path), "hour", undirected=True)


PROTOCOLS: tuple[Protocol, ...] = ("strict", "legacy")
STUDIES = {
    "trade": Study(
        load_trade,
        [
            *(Cell(name) for name, entry in NODE_MODELS.items() if entry.heuristic),
            *(Cell(model, messages) for messages in ("v1", "v2") for model in ("tgn", "keat-tgn")),
        ],
        epochs=24,
    ),
    "protocol": Study(
        load_contacts,
        [
            *(Cell(name) for name, entry in NODE_MODELS.items() if entry.heuristic),
            *(Cell("tgn", "v2", protocol) for protocol in PROTOCOLS),
        ],
        epochs=6,
    ),
}


def run(name: str, path: str, ledger: Path, scratch: Path, seeds: int, only: str | None) -> None:
    study = STUDIES[name]
    data = study.load(path)
    cells = [cell for cell in study.cells if only in (None, cell.model)]
    for seed, cell in product(range(1, seeds + 1), cells):
        heuristic = NODE_MODELS[cell.model].heuristic
        if (heuristic and seed > 1) or find(read(ledger), name, cell, seed):
            continue
        line = ask_heuristic(data, cell) if heuristic else train_one(name, data, cell, seed, scratch)
        line = {"study": name, "cell": asdict(cell), "seed": seed} | line
        append(ledger, line)
        print(f"{name} {cell} seed {seed}: val {line['val']:.4f} test {line['test']:.4f}", flush=True)


def task_of(data: Dataset, split: str, protocol: Protocol) -> NodeProperty:
    task = keat.make_task(data, split, kind="node-property", protocol=protocol)  # type: ignore[arg-type]
    assert isinstance(task, NodeProperty)
    return task


def ask_heuristic(data: Dataset, cell: Cell) -> dict[str, Any]:
    numbers = {
        split: evaluate(
            keat.create_node_model(cell.model, data.train), task_of(data, split, cell.protocol)
        ).metrics["ndcg@10"]
        for split in ("val", "test")
    }
    return numbers | {"commit": commit()}


def train_one(study: str, data: Dataset, cell: Cell, seed: int, scratch: Path) -> dict[str, Any]:
    config = configuration(cell.model, messages=cell.messages, clock="tick")  # years, as TGB's TGN reads them
    epochs = STUDIES[study].epochs
    fitting = FitConfig(epochs=epochs, patience=epochs, lr=STUDIES[study].lr, seed=seed, validate_every=3)
    folder = scratch / f"{study}-{cell.model}-{cell.messages}-{cell.protocol}-{seed}"
    started = time.process_time()
    spec = RunSpec(cell.model, config, fitting, TaskSpec(kind="node-property", protocol=cell.protocol))
    trained = train_run(spec, data, folder, resume=(folder / "run.json").exists())
    test = evaluate_run(folder, data, spec.task.make(data, "test"), "test")
    history, best, facts = read_history(folder), best_epoch(folder), trained.file.facts
    return {
        "val": best.val["ndcg@10"],
        "test": test.metrics["ndcg@10"],
        "epoch": best.epoch,
        "epochs": len(history),
        "loss": best.loss,
        "cpu_seconds": round(time.process_time() - started, 1),
        "resumed": len(trained.reports) < len(history),
        "data": asdict(facts.data),
        "sigma": facts.sigma,
        "config_hash": config_hash(config, fitting),
        "commit": commit(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
    }


def find(lines: list[dict[str, Any]], study: str, cell: Cell, seed: int) -> list[dict[str, Any]]:
    return [
        line for line in lines if (line["study"], line["cell"], line["seed"]) == (study, asdict(cell), seed)
    ]


def show(ledger: Path) -> str:
    """A Markdown table a study: mean ± std over seeds, and the difference from a cell's own baseline, paired
    by seed, with a 95 % interval."""
    lines, rows = read(ledger), []
    for name, study in STUDIES.items():
        rows += [
            f"**{name}**",
            "",
            "| model | messages | protocol | seeds | val NDCG@10 | test NDCG@10 | paired difference |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        for cell in study.cells:
            mine = [line for line in lines if line["study"] == name and line["cell"] == asdict(cell)]
            if mine:
                numbers = " | ".join(spread([line[part] for line in mine]) for part in ("val", "test"))
                rows.append(
                    f"| {cell.model} | {cell.messages} | {cell.protocol} | {len(mine)} | {numbers} | "
                    f"{gain(lines, name, cell)} |"
                )
        rows.append("")
    return "\n".join(rows)


def gain(lines: list[dict[str, Any]], study: str, cell: Cell) -> str:
    """KEAT-TGN from TGN with the same messages; legacy from strict."""
    if cell.model == "keat-tgn":
        base = Cell("tgn", cell.messages, cell.protocol)
    elif cell.protocol == "legacy":
        base = Cell(cell.model, cell.messages)
    else:
        return ""
    mine, plain = (
        {
            line["seed"]: line["test"]
            for line in lines
            if line["study"] == study and line["cell"] == asdict(one)
        }
        for one in (cell, base)
    )
    both = sorted(mine.keys() & plain.keys())
    return interval(np.array([mine[seed] - plain[seed] for seed in both]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--study", choices=list(STUDIES))
    parser.add_argument("--data")
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, default=Path("runs/node-study"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="a model")
    arguments = parser.parse_args()
    if arguments.what == "show":
        print(show(arguments.ledger))
        return
    torch.set_num_threads(1)
    run(arguments.study, arguments.data, arguments.ledger, arguments.scratch, arguments.seeds, arguments.only)


if __name__ == "__main__":
    main()
