"""How keat-rank is best trained, by validation: the loss, then each further choice apart.

    python -m benchmarks.rank_training run --data FOLDER --ledger docs/results/rank_training.jsonl
    python -m benchmarks.rank_training show --ledger docs/results/rank_training.jsonl

FOLDER has the Parquet files of the datasets. Every (data, rows, settings, seed) is one line of the ledger;
what is there is not run again. The test splits are not looked at.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch

from benchmarks.defaults import load
from benchmarks.ledgers import append, commit, read, spread
from keat.runs import RunSpec
from keat.runs.run_model import train_run
from keat.runs.spec import configuration
from keat.tasks.task_spec import TaskSpec
from keat.training.fit import FitConfig

SHARED = Path(os.environ.get("KEAT_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
ROWS = {"uci": 59_835, "bitcoin_otc": 35_592, "email_eu": 60_000, "ml_100k": 100_000, "wikipedia": 157_474}
ASKED = 2_000  # positives of the validation split, among all destinations
OF_FITTING = {each.name for each in fields(FitConfig)}

BUDGET = {"epochs": 6, "patience": 6, "validate_every": 2, "lr": 1.5e-3, "negatives": 50}
LISTWISE = BUDGET | {"loss": "listwise"}
STRATIFIED = BUDGET | {"loss": "stratified"}
CYCLE = STRATIFIED | {"schedule": "one-cycle"}
ARMS: dict[str, dict[str, Any]] = {
    "listwise": LISTWISE,
    "listwise, 90 negatives": LISTWISE | {"negatives": 90},  # as many candidates as the next
    "stratified": STRATIFIED,
    "stratified, one cycle": CYCLE,
    "stratified, one cycle of 3e-3": CYCLE | {"lr": 3e-3},
    "… and batches of 128": CYCLE | {"lr": 3e-3, "batch_size": 128},
    "… and 128 hidden units": CYCLE | {"lr": 3e-3, "hidden": 128},
}


@dataclass(frozen=True)
class Cell:
    data: str
    rows: int
    settings: tuple[tuple[str, Any], ...]
    seed: int


def run_one(cell: Cell, folder: Path) -> dict[str, Any]:
    data = load(cell.data, cell.rows, folder)
    started, used = time.perf_counter(), time.process_time()
    chosen = dict(cell.settings)
    fitting = {name: value for name, value in chosen.items() if name in OF_FITTING}
    config = configuration("keat-rank", **{name: chosen[name] for name in chosen.keys() - OF_FITTING})
    asked = TaskSpec(kind="link-ranking", sample=ASKED)
    spec = RunSpec("keat-rank", config, FitConfig(seed=cell.seed, **fitting), asked)
    with tempfile.TemporaryDirectory() as scratch:
        reports = train_run(spec, data, Path(scratch) / "run").reports
    validated = {report.epoch: round(report.val["mrr"], 5) for report in reports if report.val}
    return {
        "asked": ASKED,
        "mrr": max(validated.values()),
        "by_epoch": validated,
        "train_seconds": round(sum(report.train_seconds for report in reports), 1),
        "seconds": round(time.perf_counter() - started, 1),
        "cpu_seconds": round(time.process_time() - used, 1),  # the machine may be busy with other work
        "machine": f"{platform.machine()}, 1 thread",
    }


def cells(arms: list[str], names: list[str], seeds: list[int]) -> Iterator[Cell]:
    for seed in seeds:
        for arm in arms:
            for name in names:
                yield Cell(name, ROWS[name], tuple(ARMS[arm].items()), seed)


def run(wanted: Iterator[Cell], ledger: Path, folder: Path) -> None:
    begun_at = commit()
    for cell in wanted:
        about = asdict(cell) | {"settings": dict(cell.settings)}
        if any({**line, **about} == line for line in read(ledger)):
            continue
        line = about | run_one(cell, folder) | {"commit": begun_at}
        append(ledger, line)
        print(cell.data, cell.seed, line["by_epoch"], line["cpu_seconds"], about["settings"], flush=True)


def show(lines: list[dict[str, Any]]) -> str:
    """A row for each way to train, a column for each dataset: mean ± std of the best validated epoch."""
    names = list(dict.fromkeys(_slice(line) for line in lines))
    rows = ["| training | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for arm, settings in ARMS.items():
        mine = [line for line in lines if line["settings"] == settings]
        found = [[line for line in mine if _slice(line) == name] for name in names]
        if mine:
            rows.append(f"| {arm} | " + " | ".join(map(_told, found)) + " |")
    return "\n".join(rows)


def _slice(line: dict[str, Any]) -> str:
    return f"{line['data']}, {line['rows']:,} rows"


def _told(lines: list[dict[str, Any]]) -> str:
    if not lines:
        return ""
    mrr = [line["mrr"] for line in lines]
    seconds = sum(line["cpu_seconds"] for line in lines) / len(lines)
    return (spread(mrr) if len(mrr) > 1 else f"{mrr[0]:.4f}") + f" ({seconds:.0f} s)"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--arms", nargs="*", default=list(ARMS))
    parser.add_argument("--names", nargs="*", default=list(ROWS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[1, 2])
    given = parser.parse_args()
    if given.what == "show":
        print(show(read(given.ledger)))
        return
    torch.set_num_threads(1)
    run(cells(given.arms, given.names, given.seeds), given.ledger, given.data)


if __name__ == "__main__":
    main()
