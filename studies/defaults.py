"""How each architecture is best trained on a log of ordinary size, by validation: docs/results/defaults.md.

    python -m studies.defaults --data FOLDER     run what the ledger lacks, and print the tables
    python -m studies.defaults --report          print the tables

FOLDER has the Parquet files of the datasets; `orders` is the log of `keat data example`. A line of the ledger
for every (part, data, rows, model, settings, seed). The test splits are not looked at.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow.parquet as pq

import keat
from keat.datasets.example import write_example
from keat.datasets.loading import Dataset
from keat.errors import Notice
from keat.runs import RunSpec
from keat.runs.run_model import train_run
from keat.runs.spec import configuration
from keat.tasks.task_spec import TaskSpec
from keat.training.fit import FitConfig
from studies.study import Cell, Found, Result, StudyLedger, spread, study_parser, table

COLUMNS: dict[str, dict[str, Any]] = {
    "bitcoin_otc": {"features": ["rating"], "unit": "s"},
    "orders": {"src": "customer", "dst": "shop", "time": "when"},  # as in the README
}
ASKED = 300  # positives of the validation split, of quick models; half as many of the others
QUICK = ("tgn", "keat-tgn", "keat-rank")  # rank among all destinations; the others, which embed a candidate
DRAWN = 20  # anew for every question, among this many, drawn as TGB draws them
TGB: dict[str, Any] = {"epochs": 30, "patience": 5, "lr": 1e-4, "loss": "pairwise", "negatives": 1}


class DefaultsCell(Cell, frozen=True, kw_only=True):
    part: str  # screening, or confirming what it found
    data: str
    rows: int
    model: str
    settings: dict[str, Any]  # of training
    seed: int = 1


class DefaultsFound(Found, frozen=True, kw_only=True):
    """Validation MRR."""

    mrr: float  # of the best epoch
    best_epoch: int
    by_epoch: list[float]
    train_seconds: float
    seconds: float
    candidates: str | None = None
    cpu_seconds: float | None = None  # the machine may be busy with other work


DefaultsLine: TypeAlias = Result[DefaultsCell, DefaultsFound]


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
        log = pq.read_table(folder / f"{name}.parquet").slice(0, rows)
        return keat.load(log.select(["src", "dst", "t", *options.get("features", [])]), **options)


def ask(cell: DefaultsCell, folder: Path) -> DefaultsFound:
    data = load(cell.data, cell.rows, folder)
    started, used = time.perf_counter(), time.process_time()
    asked = TaskSpec(kind="link-ranking", sample=ASKED)
    if cell.model not in QUICK:
        asked = replace(asked, negatives="hist-rnd", number=DRAWN, sample=ASKED // 2)
    fitting = FitConfig(seed=cell.seed, **cell.settings)
    spec = RunSpec(cell.model, configuration(cell.model), fitting, asked)
    with tempfile.TemporaryDirectory() as scratch:
        reports = train_run(spec, data, Path(scratch) / "run").reports
    return DefaultsFound(
        candidates="all" if cell.model in QUICK else f"{DRAWN} drawn",
        mrr=max(report.val["mrr"] for report in reports),
        best_epoch=[report.epoch for report in reports if report.best][-1],
        by_epoch=[round(report.val["mrr"], 4) for report in reports],
        train_seconds=round(sum(report.train_seconds for report in reports), 1),
        seconds=round(time.perf_counter() - started, 1),
        cpu_seconds=round(time.process_time() - used, 1),
    )


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


def screen() -> Iterator[DefaultsCell]:
    """One seed of small slices; the costly ones on the first alone."""
    for name in SMALL:
        for model, grid in GRIDS.items():
            for settings in grid if model in QUICK or name == "uci" else []:
                rows = COSTLY_ROWS.get(model, SMALL[name])
                yield _cell("screen", name, rows, model, settings)


# Of TGN, what screening could not tell apart, on more rows of more logs.
LARGER = {"wikipedia": 15_000, "email_eu": 8_000, "uci": 8_000}
CHOSEN = fit(15, 1e-3, 20, batch_size=50, patience=4)
LARGER_BATCHES = [fit(15, lr, 20, patience=4) for lr in (1e-3, 3e-4)]


def confirm() -> Iterator[DefaultsCell]:
    """TGN: the finalists on one log, then what was chosen and what was usual on more, with two seeds. The
    costly ones on a second slice, with one."""
    for settings in (TGB, *LARGER_BATCHES, CHOSEN):
        yield _cell("confirm", "wikipedia", LARGER["wikipedia"], "tgn", settings)
    for seed in (1, 2):
        for name, rows in LARGER.items():
            for settings in (TGB, CHOSEN):
                yield _cell("confirm", name, rows, "tgn", settings, seed)
    higher = [fit(4, 1e-3), fit(4, 1e-3, batch_size=50), fit(4, 1e-3, 10, batch_size=50)]
    for settings in (fit(4, 1e-4), *higher, fit(4, 1e-4, 10)):
        yield _cell("confirm", "uci", 6_000, "tgat", settings)
    for model in ("dygformer", "graphmixer"):
        for settings in (fit(3, 1e-4), fit(3, 1e-3, batch_size=50)):
            yield _cell("confirm", "bitcoin_otc", 2_000, model, settings)


def _cell(
    part: str, data: str, rows: int, model: str, settings: dict[str, Any], seed: int = 1
) -> DefaultsCell:
    return DefaultsCell(part=part, data=data, rows=rows, model=model, settings=settings, seed=seed)


def report(lines: list[DefaultsLine]) -> str:
    """A row for each way to train a model, a column for each slice: mean ± std of the best epoch's MRR where
    there are several seeds, and the seconds of training."""
    text: list[str] = []
    for part, model in dict.fromkeys((line.cell.part, line.cell.model) for line in lines):
        mine = [line for line in lines if (line.cell.part, line.cell.model) == (part, model)]
        slices = list(dict.fromkeys((line.cell.data, line.cell.rows) for line in mine))
        ways: dict[str, dict[tuple[str, int], list[DefaultsFound]]] = {}
        for line in mine:
            way = ways.setdefault(_told(line.cell.settings), {one: [] for one in slices})
            way[line.cell.data, line.cell.rows].append(line.found)
        head = ["training", *(f"{name}, {size:,} rows" for name, size in slices)]
        rows = [[way, *map(_number, found.values())] for way, found in ways.items()]
        text += [f"**{model}, {part}**", "", *table(head, rows), ""]
    return "\n".join(text)


def _told(settings: dict[str, Any]) -> str:
    loss = settings["loss"] + (f" {settings['negatives']}" if settings["negatives"] > 1 else "")
    batch = f", batches of {settings['batch_size']}" if "batch_size" in settings else ""
    patience = f" (patience {settings['patience']})" if settings["patience"] < settings["epochs"] else ""
    return f"{loss}, {settings['lr']:g}{batch}, {settings['epochs']} epochs{patience}"


def _number(found: list[DefaultsFound]) -> str:
    if not found:
        return ""
    mrr = [each.mrr for each in found]
    value = spread(mrr) if len(mrr) > 1 else f"{mrr[0]:.3f}"
    seconds = sum(each.train_seconds for each in found) / len(found)
    epochs = ", ".join(str(each.best_epoch) for each in found)
    return f"{value} (epoch {epochs}; {seconds:.0f} s)"


def main() -> None:
    parser = study_parser("defaults", __doc__)
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the Parquet files")
    given = parser.parse_args()
    ledger = StudyLedger(given.ledger, DefaultsCell, DefaultsFound)
    if not given.report:
        ledger.complete([*screen(), *confirm()], partial(ask, folder=given.data))
    print(report(ledger.lines()))


if __name__ == "__main__":
    main()
