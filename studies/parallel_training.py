"""Training by two workers beside training by one: is what they reach the same?

    python -m studies.parallel_training --data FOLDER     run what the ledger lacks, and print the table
    python -m studies.parallel_training --report          print the table

FOLDER has the Parquet files of the datasets. A line of the ledger for every (model, data, rows, workers,
seed). The test splits are not looked at. How quick it is, `python -m benchmarks.parallel` measures.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

from keat.runs import RunSpec
from keat.runs.parallel_training import train_in_parallel
from keat.runs.run_model import train_run
from keat.tasks.task_spec import TaskSpec
from studies.defaults import load
from studies.study import Cell, Found, Result, StudyLedger, gain, spread, study_parser, table

ROWS = {  # the first of a log; GraphMixer takes many times as long for a positive
    "keat-rank": {"uci": 20_000, "wikipedia": 20_000},
    "graphmixer": {"uci": 2_000, "wikipedia": 2_000},
}
SEEDS = (1, 2, 3)
WORKERS = (1, 2)
EPOCHS = 2
ASKED = {"keat-rank": 1_000, "graphmixer": 200}  # positives of the validation split, at most
DRAWN = {"keat-rank": 50, "graphmixer": 20}  # negatives of each, half of them earlier ones of the source
ALSO = ("keat.runs.parallel_training", "keat.training.parallel_shares")  # sources that decide what is found


class WorkersCell(Cell, frozen=True, kw_only=True):
    model: str
    data: str
    rows: int
    workers: int
    seed: int


class WorkersFound(Found, frozen=True, kw_only=True):
    """Validation MRR."""

    asked: int
    drawn: int
    loss: list[float]  # by epoch
    mrr: list[float]
    seconds: float  # the machine may be busy with other work


WorkersLine: TypeAlias = Result[WorkersCell, WorkersFound]


def cells() -> Iterator[WorkersCell]:
    for seed in SEEDS:
        for model, slices in ROWS.items():
            for data, rows in slices.items():
                for workers in WORKERS:
                    yield WorkersCell(model=model, data=data, rows=rows, workers=workers, seed=seed)


def ask(cell: WorkersCell, folder: Path) -> WorkersFound:
    data = load(cell.data, cell.rows, folder)
    asked = TaskSpec(
        kind="link-ranking", negatives="hist-rnd", number=DRAWN[cell.model], sample=ASKED[cell.model]
    )
    fitting = {"epochs": EPOCHS, "patience": EPOCHS, "validate_every": 1, "seed": cell.seed}
    spec = RunSpec.of(cell.model, fitting=fitting, task=asked)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        run = Path(scratch) / "run"
        if cell.workers == 1:
            reports = train_run(spec, data, run).reports
        else:
            reports = train_in_parallel(spec, data, run, workers=cell.workers).reports
    return WorkersFound(
        asked=ASKED[cell.model],
        drawn=DRAWN[cell.model],
        loss=[round(report.loss, 6) for report in reports],
        mrr=[round(report.val["mrr"], 5) for report in reports],
        seconds=round(time.perf_counter() - started, 1),
    )


def report(lines: list[WorkersLine]) -> str:
    """The best validation by one worker and by two, and the difference of the same seeds."""
    rows = []
    for model, slices in ROWS.items():
        for data, size in slices.items():
            by: dict[int, dict[int, float]] = {workers: {} for workers in WORKERS}
            for line in lines:
                if (line.cell.model, line.cell.data, line.cell.rows) == (model, data, size):
                    by[line.cell.workers][line.cell.seed] = max(line.found.mrr)
            one, two = by[1], by[2]
            if one and two:
                reached = [spread(list(each.values())) for each in (one, two)]
                rows.append([model, data, f"{size:,}", str(len(two)), *reached, gain(two, one)])
    head = ["model", "data", "rows", "seeds", "one worker", "two workers", "two − one, by seed"]
    return "\n".join(table(head, rows))


def main() -> None:
    parser = study_parser("parallel_training", __doc__)
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the Parquet files")
    given = parser.parse_args()
    ledger = StudyLedger(given.ledger, WorkersCell, WorkersFound)
    if not given.report:
        ledger.complete(cells(), partial(ask, folder=given.data), ALSO)
    print(report(ledger.lines()))


if __name__ == "__main__":
    main()
