"""How keat-rank is best trained, by validation: the loss, then each further choice apart:
docs/results/rank_training.md.

    python -m studies.rank_training --data FOLDER     run what the ledger lacks, and print the table
    python -m studies.rank_training --report          print the table

FOLDER has the Parquet files of the datasets. A line of the ledger for every (data, rows, settings, seed). The
test splits are not looked at.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from keat.runs import RunSpec
from keat.runs.run_model import train_run
from keat.runs.spec import configuration
from keat.tasks.task_spec import TaskSpec
from keat.training.fit import FitConfig
from studies.defaults import load
from studies.study import Cell, Found, Result, StudyLedger, spread, study_parser, table

ROWS = {"uci": 59_835, "bitcoin_otc": 35_592, "email_eu": 60_000, "ml_100k": 100_000, "wikipedia": 157_474}
SEEDS = {"uci": (1, 2), "bitcoin_otc": (1, 2), "email_eu": (1, 2)}  # else the first
ASKED = 2_000  # positives of the validation split, among all destinations
OF_FITTING = {each.name for each in fields(FitConfig)}

BUDGET = {"epochs": 6, "patience": 6, "validate_every": 2, "lr": 1.5e-3, "negatives": 50}
LISTWISE = BUDGET | {"loss": "listwise"}
STRATIFIED = BUDGET | {"loss": "stratified"}
CYCLE = STRATIFIED | {"schedule": "one-cycle"}
LOSSES: dict[str, dict[str, Any]] = {"listwise": LISTWISE, "stratified": STRATIFIED}
FURTHER: dict[str, dict[str, Any]] = {
    "listwise, 90 negatives": LISTWISE | {"negatives": 90},  # as many candidates as the stratified loss has
    "stratified, one cycle": CYCLE,
    "stratified, one cycle of 3e-3": CYCLE | {"lr": 3e-3},
    "… and batches of 128": CYCLE | {"lr": 3e-3, "batch_size": 128},
    "… and 128 hidden units": CYCLE | {"lr": 3e-3, "hidden": 128},
}


class TrainingCell(Cell, frozen=True, kw_only=True):
    data: str
    rows: int
    settings: dict[str, Any]  # of training and of the network
    seed: int


class TrainingFound(Found, frozen=True, kw_only=True):
    """Validation MRR."""

    asked: int
    mrr: float  # of the best epoch that was validated
    by_epoch: dict[str, float]
    train_seconds: float
    seconds: float
    cpu_seconds: float  # the machine may be busy with other work
    note: str | None = None


TrainingLine: TypeAlias = Result[TrainingCell, TrainingFound]


def cells() -> Iterator[TrainingCell]:
    """Both losses on every dataset; what goes further on the three where they differ most."""
    for name, rows in ROWS.items():
        for seed in SEEDS.get(name, (1,)):
            for settings in LOSSES.values():
                yield TrainingCell(data=name, rows=rows, settings=settings, seed=seed)
    for settings in FURTHER.values():
        for name in SEEDS:
            yield TrainingCell(data=name, rows=ROWS[name], settings=settings, seed=1)


def ask(cell: TrainingCell, folder: Path) -> TrainingFound:
    data = load(cell.data, cell.rows, folder)
    started, used = time.perf_counter(), time.process_time()
    fitting = {name: value for name, value in cell.settings.items() if name in OF_FITTING}
    network = {name: value for name, value in cell.settings.items() if name not in OF_FITTING}
    asked = TaskSpec(kind="link-ranking", sample=ASKED)
    fit = FitConfig(seed=cell.seed, **fitting)
    with tempfile.TemporaryDirectory() as scratch:
        spec = RunSpec("keat-rank", configuration("keat-rank", **network), fit, asked)
        reports = train_run(spec, data, Path(scratch) / "run").reports
    validated = {str(report.epoch): round(report.val["mrr"], 5) for report in reports if report.val}
    return TrainingFound(
        asked=ASKED,
        mrr=max(validated.values()),
        by_epoch=validated,
        train_seconds=round(sum(report.train_seconds for report in reports), 1),
        seconds=round(time.perf_counter() - started, 1),
        cpu_seconds=round(time.process_time() - used, 1),
    )


def report(lines: list[TrainingLine]) -> str:
    """A row for each way to train, a column for each slice: mean ± std of the best validated epoch."""
    slices = list(dict.fromkeys((line.cell.data, line.cell.rows) for line in lines))
    rows = []
    for arm, settings in (LOSSES | FURTHER).items():
        mine = [line for line in lines if line.cell.settings == settings]
        found = [[line.found for line in mine if (line.cell.data, line.cell.rows) == one] for one in slices]
        rows.append([arm, *map(_number, found)])
    return "\n".join(table(["training", *(f"{name}, {size:,} rows" for name, size in slices)], rows))


def _number(found: list[TrainingFound]) -> str:
    if not found:
        return ""
    mrr = [each.mrr for each in found]
    seconds = sum(each.cpu_seconds for each in found) / len(found)
    return (spread(mrr) if len(mrr) > 1 else f"{mrr[0]:.4f}") + f" ({seconds:.0f} s)"


def main() -> None:
    parser = study_parser("rank_training", __doc__)
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the Parquet files")
    given = parser.parse_args()
    ledger = StudyLedger(given.ledger, TrainingCell, TrainingFound)
    if not given.report:
        ledger.complete(cells(), partial(ask, folder=given.data))
    print(report(ledger.lines()))


if __name__ == "__main__":
    main()
