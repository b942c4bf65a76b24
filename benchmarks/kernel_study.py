"""KEAT-TGN's kernels on a real stream: the runs behind docs/results/kernels.md.

    python -m benchmarks.kernel_study run --data wikipedia.parquet --ledger docs/results/kernels.jsonl
    python -m benchmarks.kernel_study show --ledger docs/results/kernels.jsonl

Every (cell, seed) is one line of the ledger, written when it is done; what is there is not run again, and an
interrupted run continues from its last epoch. Two processes can share the work: --part 0/2 and --part 1/2.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import stats

import keat
from keat.datasets.loading import Dataset
from keat.tasks.link import LinkRanking
from keat.training.fit import FitConfig
from keat.training.losses import Recipe
from keat.training.runs import configuration, evaluate_run, train_run

EPOCHS, LR = 6, 1e-3
KERNELS = ("identity", "laplacian", "rbf", "mlp", "learnable", "gated")


@dataclass(frozen=True)
class Cell:
    kernel: str
    delta: str
    recipe: Recipe = "sound"


CELLS = [
    *(Cell(kernel, "neighbor") for kernel in KERNELS),
    *(Cell(kernel, "query") for kernel in KERNELS),
    *(Cell(kernel, "neighbor", "tgb-parity") for kernel in ("identity", "laplacian")),
]


def run(data: Dataset, ledger: Path, scratch: Path, seeds: int, part: tuple[int, int]) -> None:
    jobs = [(cell, seed) for seed in range(1, seeds + 1) for cell in CELLS]
    for cell, seed in jobs[part[0] :: part[1]]:
        if any(line["cell"] == asdict(cell) and line["seed"] == seed for line in read(ledger)):
            continue
        line = run_one(data, cell, seed, scratch)
        with ledger.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(
            f"{cell.kernel:<10} {cell.delta:<9} {cell.recipe:<11} seed {seed}: val {line['val']['mrr']:.4f} "
            f"test {line['test']['mrr']:.4f}, {line['seconds']:.0f} s",
            flush=True,
        )


def run_one(data: Dataset, cell: Cell, seed: int, scratch: Path) -> dict[str, Any]:
    config = configuration("tgn", kernel=cell.kernel, delta=cell.delta)
    fitting = FitConfig(
        epochs=EPOCHS,
        patience=EPOCHS,
        lr=LR,
        seed=seed,
        recipe=cell.recipe,
        validate_every=EPOCHS,
    )
    name = f"{data.name}-{cell.kernel}-{cell.delta}-{cell.recipe}-{seed}"
    reports = train_run(
        "tgn", data, scratch / name, config, fitting, resume=(scratch / name / "run.json").exists()
    )
    history = [json.loads(line) for line in (scratch / name / "metrics.jsonl").read_text().splitlines()]
    task = keat.make_task(data, "test")
    assert isinstance(task, LinkRanking)
    test = evaluate_run(scratch / name, data, task, "test")
    description = json.loads((scratch / name / "run.json").read_text())
    return {
        "cell": asdict(cell),
        "seed": seed,
        "val": history[-1]["val"],
        "test": test.metrics,
        "refresh": 200,
        "loss": history[-1]["loss"],
        "epochs": len(history),
        "seconds": sum(epoch["train_seconds"] for epoch in history),
        "data": description["data"],
        "sigma": description["sigma"],
        "config_hash": hashlib.blake2b(
            json.dumps([description["config"], description["fit"]], sort_keys=True).encode(), digest_size=6
        ).hexdigest(),
        "commit": commit(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
        "resumed": len(reports) < len(history),
    }


def commit() -> str:
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    ).stdout.strip()


def read(ledger: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []


def show(ledger: Path) -> str:
    """The ledger as a Markdown table: mean ± std over seeds, and the difference from the plain model of the
    same column, paired by seed, with a 95 % confidence interval."""
    lines = read(ledger)
    rows = [
        "| kernel | Δ | recipe | seeds | val MRR | test MRR | test Hits@10 | test MRR - plain, paired |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for cell in CELLS:
        mine = values(lines, cell)
        if not mine:
            continue
        plain = values(lines, Cell("identity", cell.delta, cell.recipe))
        both = sorted(mine.keys() & plain.keys())
        paired = np.array([mine[seed]["test"]["mrr"] - plain[seed]["test"]["mrr"] for seed in both])
        columns = [("val", "mrr"), ("test", "mrr"), ("test", "hits@10")]
        numbers = [spread([line[part][metric] for line in mine.values()]) for part, metric in columns]
        gain = "" if cell.kernel == "identity" else interval(paired)
        rows.append(
            f"| {cell.kernel} | {cell.delta} | {cell.recipe} | {len(mine)} | {' | '.join(numbers)} | {gain} |"
        )
    return "\n".join(rows)


def values(lines: list[dict[str, Any]], cell: Cell) -> dict[int, dict[str, Any]]:
    return {line["seed"]: line for line in lines if line["cell"] == asdict(cell)}


def spread(numbers: list[float]) -> str:
    deviation = f" ± {np.std(numbers, ddof=1):.4f}" if len(numbers) > 1 else ""
    return f"{np.mean(numbers):.4f}{deviation}"


def interval(differences: npt.NDArray[np.float64]) -> str:
    n = len(differences)
    if n < 2:
        return f"{differences.mean():+.4f}" if n else ""
    half = stats.t.ppf(0.975, n - 1) * differences.std(ddof=1) / np.sqrt(n)
    return f"{differences.mean():+.4f} [{differences.mean() - half:+.4f}, {differences.mean() + half:+.4f}]"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--data")
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, default=Path("runs/kernel-study"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--part", default="0/1")
    arguments = parser.parse_args()
    if arguments.what == "show":
        print(show(arguments.ledger))
        return
    torch.set_num_threads(1)
    part, parts = (int(number) for number in arguments.part.split("/"))
    run(keat.load(arguments.data), arguments.ledger, arguments.scratch, arguments.seeds, (part, parts))


if __name__ == "__main__":
    main()
