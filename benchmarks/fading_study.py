"""When does a kernel help? Evidence with a known half-life, and who finds it: docs/results/fading.md.

    python -m benchmarks.fading_study run --ledger docs/results/fading.jsonl
    python -m benchmarks.fading_study show --ledger docs/results/fading.jsonl
    python -m benchmarks.fading_study draw --ledger docs/results/fading.jsonl --out docs/images/fading.png

One layer of TGAT, which attends to a card's last five payments by their age when the question is asked. Every
(world, time encoding, kernel, seed) is one line of the ledger; what is there is not run again.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.fading_figure import draw
from benchmarks.fading_world import DAY, simulate, without_a_graph
from benchmarks.ledgers import append, commit, interval, read, spread
from keat.bandwidth import estimate_sigma
from keat.datasets.loading import Dataset
from keat.kernels import LearnableLaplacian
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_file import read_run_file
from keat.runs.run_model import open_model, train_run
from keat.runs.spec import RunSpec, configuration
from keat.tasks.task_spec import TaskSpec
from keat.training.fit import FitConfig

FADES = "fades in a day"
WORLDS = {FADES: DAY, "lasts": math.inf, "means nothing": 0.0}
ENCODERS = ("cosine-geometric", "cosine")  # and "lete", which has steps that last, for some kernels
KERNELS = ("identity", "laplacian", "rbf", "mlp", "learnable", "gated", "planted")
OTHER_HALF_LIVES = {"fades in 6 hours": DAY / 4, "fades in 4 days": 4 * DAY}  # for the learned width
FIT = {"epochs": 10, "patience": 10, "lr": 3e-3}
SIZE = {"layers": 1, "time_dim": 16, "out_dim": 32, "dropout": 0.0}


def cells(seeds: int) -> Iterator[dict[str, Any]]:
    """A whole table of one seed comes before the next. With one neighbour there is nothing to choose from: a
    kernel can only say how much the last payment still counts."""
    for seed in range(1, seeds + 1):
        for neighbors, encoder in ((1, ENCODERS[0]), (5, ENCODERS[0]), (5, ENCODERS[1])):
            for world, kernel in product(WORLDS, KERNELS):
                if kernel != "planted" or world == FADES:
                    yield _cell(world, encoder, kernel, neighbors, seed)
        for world, kernel in product(WORLDS, ("identity", "laplacian", "learnable")):
            yield _cell(world, "lete", kernel, 5, seed)
        for world, kernel in product(OTHER_HALF_LIVES, ("identity", "laplacian", "learnable")):
            yield _cell(world, ENCODERS[0], kernel, 1, seed)


def _cell(world: str, encoder: str, kernel: str, neighbors: int, seed: int) -> dict[str, Any]:
    return {"world": world, "encoder": encoder, "kernel": kernel, "neighbors": neighbors, "seed": seed}


def run(ledger: Path, scratch: Path, seeds: int) -> None:
    worlds = {
        name: (simulate(half_life), half_life) for name, half_life in (WORLDS | OTHER_HALF_LIVES).items()
    }
    for cell in cells(seeds):
        if any(all(line[key] == cell[key] for key in cell) for line in read(ledger)):
            continue
        data, half_life = worlds[cell["world"]]
        line = cell | run_one(data, half_life, cell, scratch / "-".join(map(str, cell.values())))
        append(ledger, line)
        print(cell, round(line["test"]["auc"], 4), line["half_lives"], f"{line['cpu_seconds']} s", flush=True)


def run_one(data: Dataset, half_life: float, cell: dict[str, Any], folder: Path) -> dict[str, Any]:
    started = time.process_time()
    kernel = {"kernel": cell["kernel"]}
    sigma = estimate_sigma(data.train.src, data.train.dst, data.train.t)
    if cell["kernel"] == "planted":
        kernel = {"kernel": "laplacian", "width": half_life / math.log(2) / sigma}
    config = configuration(
        "tgat", time_encoder=cell["encoder"], neighbors=cell["neighbors"], **kernel, **SIZE
    )
    fitting = FitConfig(**FIT, seed=cell["seed"])  # type: ignore[arg-type]
    spec = RunSpec("tgat", config, fitting, TaskSpec(kind="node-label"))
    train_run(spec, data, folder, resume=folder.exists())
    result = evaluate_run(folder, data, spec.task.make(data, "test"), "test")
    return {
        "half_life": half_life if math.isfinite(half_life) else None,
        "test": result.metrics,
        "knows the half-life": without_a_graph(data, half_life),
        "half_lives": learned_half_lives(folder),
        "sigma": sigma,
        "cpu_seconds": round(time.process_time() - started, 1),
        "commit": commit(),
        "torch": torch.__version__,
    }


def learned_half_lives(folder: Path) -> list[float] | None:
    """Of each head, in seconds, where the kernel has learned them."""
    model = open_model(folder, read_run_file(folder))
    kernels = [module for module in model.modules() if isinstance(module, LearnableLaplacian)]
    rates = [rate for kernel in kernels for rate in kernel.exponentials().rate.flatten().tolist()]
    return [math.log(2) / rate for rate in rates] or None


def show(lines: list[dict[str, Any]]) -> str:
    rows: list[str] = []
    for neighbors, encoder in dict.fromkeys(sorted((line["neighbors"], line["encoder"]) for line in lines)):
        seen = "last five payments" if neighbors == 5 else "last payment alone"
        rows += [f"**The {seen}, time encoding `{encoder}`**", ""]
        rows += ["| kernel | " + " | ".join(WORLDS) + " |", "| --- |" + " --- |" * len(WORLDS)]
        for kernel in KERNELS:
            found = [_auc(lines, world, encoder, kernel, neighbors) for world in WORLDS]
            rows += [f"| {kernel} | " + " | ".join(found) + " |"] if any(found) else []
        rows.append("")
    known = {line["world"]: line["knows the half-life"] for line in lines}
    told = ", ".join(f"{world} {auc:.4f}" for world, auc in known.items())
    rows += [f"Logistic regression that knows the half-life: {told}.", ""]
    rows += ["The last payment alone, `cosine-geometric`, other half-lives:", ""]
    rows += ["| evidence | plain | Laplacian, σ from the data | learnable | learned half-lives |"]
    rows += ["| --- | --- | --- | --- | --- |"]
    for world in sorted((FADES, *OTHER_HALF_LIVES), key=(WORLDS | OTHER_HALF_LIVES).__getitem__):
        kernels = ("identity", "laplacian", "learnable")
        found = [_auc(lines, world, ENCODERS[0], kernel, 1) for kernel in kernels]
        rows.append(f"| {world} | " + " | ".join(found) + f" | {_half_lives(lines, world)} |")
    return "\n".join(rows)


def _auc(lines: list[dict[str, Any]], world: str, encoder: str, kernel: str, neighbors: int) -> str:
    """Mean ± std, and the difference from the plain model, paired by seed."""
    ours, plain = (
        {
            line["seed"]: line["test"]["auc"]
            for line in lines
            if {**line, **_cell(world, encoder, name, neighbors, line["seed"])} == line
        }
        for name in (kernel, "identity")
    )
    if not ours:
        return ""
    both = sorted(ours.keys() & plain.keys()) if kernel != "identity" else []
    gain = interval(np.array([ours[seed] - plain[seed] for seed in both]))
    return spread(list(ours.values())) + (f", {gain}" if gain else "")


def _half_lives(lines: list[dict[str, Any]], world: str) -> str:
    """In days, a number a head, the seeds apart."""
    found = [
        line["half_lives"]
        for line in lines
        if line["world"] == world and line["half_lives"] and line["neighbors"] == 1
    ]
    seeds = [", ".join(f"{seconds / DAY:.2f}" for seconds in sorted(heads)) for heads in found]
    return "; ".join(seeds) + " days"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show", "draw"])
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, default=Path("runs/fading-study"))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("fading.png"))
    arguments = parser.parse_args()
    if arguments.what == "run":
        torch.set_num_threads(1)
        run(arguments.ledger, arguments.scratch, arguments.seeds)
    elif arguments.what == "show":
        print(show(read(arguments.ledger)))
    else:
        draw(read(arguments.ledger), arguments.out)


if __name__ == "__main__":
    main()
