"""How each architecture is best trained on a log of ordinary size, by validation: docs/results/defaults.md.

    python -m benchmarks.defaults screen --data FOLDER --ledger docs/results/defaults.jsonl
    python -m benchmarks.defaults confirm --data FOLDER --ledger docs/results/defaults.jsonl
    python -m benchmarks.defaults show --ledger docs/results/defaults.jsonl

FOLDER has the Parquet files of the datasets; `orders` is the log of `keat data example`. Every (part, data,
rows, model, settings, seed) is one line of the ledger; what is there is not run again. The test splits are
not looked at.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch

import keat
from benchmarks.ledgers import append, commit, read, spread
from keat.datasets.example import write_example
from keat.datasets.loading import Dataset
from keat.errors import Notice
from keat.runs import RunSpec
from keat.runs.run_model import train_run
from keat.runs.spec import configuration
from keat.tasks.task_spec import TaskSpec
from keat.training.fit import FitConfig

SHARED = Path(os.environ.get("KEAT_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
COLUMNS: dict[str, dict[str, Any]] = {
    "bitcoin_otc": {"features": ["rating"], "unit": "s"},
    "orders": {"src": "customer", "dst": "shop", "time": "when"},  # as in the README
}
ASKED = 300  # positives of the validation split, of quick models; half as many of the others
QUICK = ("tgn", "keat-tgn", "keat-rank")  # rank among all destinations; the others, which embed a candidate
DRAWN = 20  # anew for every question, among this many, drawn as TGB draws them
TGB: dict[str, Any] = {"epochs": 30, "patience": 5, "lr": 1e-4, "loss": "pairwise", "negatives": 1}


@dataclass(frozen=True)
class Cell:
    part: str  # screening, or confirming what it found
    data: str
    rows: int
    model: str
    settings: tuple[tuple[str, Any], ...]
    seed: int = 1


def fit(
    epochs: int, lr: float, negatives: int = 1, batch_size: int = 200, patience: int = 0
) -> dict[str, Any]:
    """Several negatives are a list; without a patience all epochs are seen."""
    loss = "pairwise" if negatives == 1 else "listwise"
    how = {"epochs": epochs, "patience": patience or epochs, "lr": lr, "loss": loss, "negatives": negatives}
    return how | ({"batch_size": batch_size} if batch_size != 200 else {})


def load(name: str, rows: int, folder: Path) -> Dataset:
    """The first rows of a log."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        options = COLUMNS.get(name, {})
        if name == "orders":
            with tempfile.TemporaryDirectory() as scratch:
                write_example(Path(scratch))
                return keat.load(Path(scratch) / "orders.csv", **options)
        table = pq.read_table(folder / f"{name}.parquet").slice(0, rows)
        return keat.load(table.select(["src", "dst", "t", *options.get("features", [])]), **options)


def run_one(cell: Cell, data: Dataset) -> dict[str, Any]:
    started, used = time.perf_counter(), time.process_time()
    asked = TaskSpec(kind="link-ranking", sample=ASKED)
    if cell.model not in QUICK:
        asked = replace(asked, negatives="hist-rnd", number=DRAWN, sample=ASKED // 2)
    fitting = FitConfig(seed=cell.seed, **dict(cell.settings))
    spec = RunSpec(cell.model, configuration(cell.model), fitting, asked)
    with tempfile.TemporaryDirectory() as scratch:
        reports = train_run(spec, data, Path(scratch) / "run").reports
    return {
        "candidates": "all" if cell.model in QUICK else f"{DRAWN} drawn",
        "mrr": max(report.val["mrr"] for report in reports),
        "best_epoch": [report.epoch for report in reports if report.best][-1],
        "by_epoch": [round(report.val["mrr"], 4) for report in reports],
        "train_seconds": round(sum(report.train_seconds for report in reports), 1),
        "seconds": round(time.perf_counter() - started, 1),
        "cpu_seconds": round(time.process_time() - used, 1),  # the machine may be busy with other work
        "commit": commit(),
        "machine": f"{platform.machine()}, 1 thread",
    }


SMALL = {"uci": 6_000, "bitcoin_otc": 6_000, "orders": 6_000}  # rows
# Where every candidate costs a pass of the network, an epoch of many negatives takes many times as long, and
# one of smaller batches does not: what is left to choose is the rate and the number of steps.
COSTLY = [fit(3, 1e-4), fit(3, 1e-3), fit(3, 1e-3, batch_size=50)]
COSTLY_ROWS = {"tgat": 2_000, "dygformer": 2_000, "graphmixer": 3_000}
GRIDS: dict[str, list[dict[str, Any]]] = {
    "tgn": [
        TGB,
        *(fit(8, lr) for lr in (3e-4, 1e-3, 3e-3)),
        *(fit(8, lr, 20) for lr in (3e-4, 1e-3, 3e-3)),
        *(fit(8, lr, 20, batch_size=50) for lr in (3e-4, 1e-3)),
        fit(8, 1e-3, batch_size=50),
    ],
    "keat-rank": [
        fit(8, 1.5e-3, 50, patience=2),
        fit(8, 3e-3, 50, patience=2),
        fit(8, 5e-4, 50, patience=2),
        fit(8, 1.5e-3, 10, patience=2),
    ],
    **dict.fromkeys(COSTLY_ROWS, COSTLY),
}


def screen() -> Iterator[Cell]:
    """One seed of small slices; the costly ones on the first alone."""
    for name in SMALL:
        for model, grid in GRIDS.items():
            for settings in grid if model in QUICK or name == "uci" else []:
                rows = COSTLY_ROWS.get(model, SMALL[name])
                yield Cell("screen", name, rows, model, tuple(settings.items()))


# Of TGN, what screening could not tell apart, on more rows of more logs.
LARGER = {"wikipedia": 15_000, "email_eu": 8_000, "uci": 8_000}
CHOSEN = fit(15, 1e-3, 20, batch_size=50, patience=4)
LARGER_BATCHES = [fit(15, lr, 20, patience=4) for lr in (1e-3, 3e-4)]


def confirm() -> Iterator[Cell]:
    """TGN: the finalists on one log, then what was chosen and what was usual on more, with two seeds. The
    costly ones on a second slice, with one."""
    for settings in (TGB, *LARGER_BATCHES, CHOSEN):
        yield Cell("confirm", "wikipedia", LARGER["wikipedia"], "tgn", tuple(settings.items()))
    for seed in (1, 2):
        for name, rows in LARGER.items():
            for settings in (TGB, CHOSEN):
                yield Cell("confirm", name, rows, "tgn", tuple(settings.items()), seed)
    higher = [fit(4, 1e-3), fit(4, 1e-3, batch_size=50), fit(4, 1e-3, 10, batch_size=50)]
    for settings in (fit(4, 1e-4), *higher, fit(4, 1e-4, 10)):
        yield Cell("confirm", "uci", 6_000, "tgat", tuple(settings.items()))
    for model in ("dygformer", "graphmixer"):
        for settings in (fit(3, 1e-4), fit(3, 1e-3, batch_size=50)):
            yield Cell("confirm", "bitcoin_otc", 2_000, model, tuple(settings.items()))


def run(cells: Iterator[Cell], ledger: Path, folder: Path) -> None:
    for cell in cells:
        asked = asdict(cell) | {"settings": dict(cell.settings)}
        if any({**line, **asked} == line for line in read(ledger)):
            continue
        line = asked | run_one(cell, load(cell.data, cell.rows, folder))
        append(ledger, line)
        print(cell.part, cell.data, cell.model, asked["settings"], cell.seed, line["by_epoch"], flush=True)


def show(lines: list[dict[str, Any]]) -> str:
    """A row for each way to train a model, a column for each slice: mean ± std of the best epoch's MRR where
    there are several seeds, and the seconds of training."""
    rows: list[str] = []
    for part, model in dict.fromkeys((line["part"], line["model"]) for line in lines):
        mine = [line for line in lines if (line["part"], line["model"]) == (part, model)]
        slices = list(dict.fromkeys((line["data"], line["rows"]) for line in mine))
        rows += [f"**{model}, {part}**", ""]
        rows.append("| training | " + " | ".join(f"{name}, {size:,} rows" for name, size in slices) + " |")
        rows.append("| --- |" + " --- |" * len(slices))
        for settings in dict.fromkeys(_told(line["settings"]) for line in mine):
            found = [
                [line for line in mine if _told(line["settings"]) == settings and _slice(line) == one]
                for one in slices
            ]
            rows.append(f"| {settings} | " + " | ".join(map(_number, found)) + " |")
        rows.append("")
    return "\n".join(rows)


def _told(settings: dict[str, Any]) -> str:
    loss = settings["loss"] + (f" {settings['negatives']}" if settings["negatives"] > 1 else "")
    batch = f", batches of {settings['batch_size']}" if "batch_size" in settings else ""
    patience = f" (patience {settings['patience']})" if settings["patience"] < settings["epochs"] else ""
    return f"{loss}, {settings['lr']:g}{batch}, {settings['epochs']} epochs{patience}"


def _slice(line: dict[str, Any]) -> tuple[str, int]:
    return line["data"], line["rows"]


def _number(lines: list[dict[str, Any]]) -> str:
    if not lines:
        return ""
    mrr = [line["mrr"] for line in lines]
    value = spread(mrr) if len(mrr) > 1 else f"{mrr[0]:.3f}"
    seconds = sum(line["train_seconds"] for line in lines) / len(lines)
    epochs = ", ".join(str(line["best_epoch"]) for line in lines)
    return f"{value} (epoch {epochs}; {seconds:.0f} s)"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["screen", "confirm", "show"])
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--models", nargs="*", default=list(GRIDS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[1, 2])
    given = parser.parse_args()
    if given.what == "show":
        print(show(read(given.ledger)))
        return
    torch.set_num_threads(1)
    cells = screen() if given.what == "screen" else confirm()
    wanted = (cell for cell in cells if cell.model in given.models and cell.seed in given.seeds)
    run(wanted, given.ledger, given.data)


if __name__ == "__main__":
    main()
