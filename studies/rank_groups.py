"""What each group of numbers of keat-rank's second edition is worth, by validation:
docs/results/rank_groups.md.

    python -m studies.rank_groups --data FOLDER     run what the ledger lacks, and print the table
    python -m studies.rank_groups --report          print the table

FOLDER has the Parquet files of the datasets, of which the latest events are taken. Trained are the first
edition, the second, the third, the second without one of its groups at a time and the third without one of
those that only it has, first those groups that the first edition does not have. A line of the ledger for
every (data, rows, arm, seed, sample, epochs). The test splits are not looked at.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import keat
from keat.cooccurrence.pair_columns import groups_of
from keat.datasets.loading import Dataset
from keat.errors import Notice
from keat.runs import RunSpec
from keat.runs.run_model import train_run
from keat.tasks.task_spec import TaskSpec
from studies.study import Cell, Found, Result, StudyLedger, gain, spread, study_parser, table

FIRST, SECOND, THIRD = "first edition", "second edition", "third edition"
OLD = list(groups_of(1))
NEW = [group for group in groups_of(2) if group not in OLD]
OF_THIRD = [group for group in groups_of(3) if group not in groups_of(2)]
ARMS: dict[str, dict[str, Any]] = {
    FIRST: {"edition": 1},
    SECOND: {"edition": 2},
    THIRD: {"edition": 3},
    **{f"third without {group}": {"edition": 3, "without": group} for group in OF_THIRD},
    **{f"without {group}": {"edition": 2, "without": group} for group in (*NEW, *OLD)},
}
EPOCHS = 3
FITTING: dict[str, Any] = {  # as keat train has it, with fewer epochs and negatives
    "loss": "stratified",
    "negatives": 20,
    "lr": 3e-3,
    "schedule": "one-cycle",
    "epochs": EPOCHS,
    "patience": EPOCHS,
    "validate_every": EPOCHS,
}
ROWS = 20_000  # the latest events of each
ASKED = 1_500  # positives of the validation split
DATASETS = ("uci", "bitcoin_otc", "ml_100k", "email_eu")
OF_MESSAGES = "email_eu"  # whose sources have several events at one time: the third edition is of these
SEEDS = (1, 2, 3)


class GroupCell(Cell, frozen=True, kw_only=True):
    data: str
    rows: int
    arm: str
    seed: int
    sample: int
    epochs: int


class GroupFound(Found, frozen=True, kw_only=True):
    """Validation MRR, after the last epoch."""

    mrr: float
    train_seconds: float
    cpu_seconds: float


GroupLine: TypeAlias = Result[GroupCell, GroupFound]


def cells() -> Iterator[GroupCell]:
    """Seed by seed, so that whatever is finished is there for every dataset."""
    newest = [SECOND, THIRD, FIRST, *(f"without {group}" for group in NEW)]
    of_third = [f"third without {group}" for group in OF_THIRD]
    oldest = [f"without {group}" for group in OLD]
    for arms in (newest, oldest):
        for seed in SEEDS:
            for name in DATASETS:
                for arm in (*arms, *(of_third if arms is newest and name == OF_MESSAGES else ())):
                    yield GroupCell(data=name, rows=ROWS, arm=arm, seed=seed, sample=ASKED, epochs=EPOCHS)


def ask(cell: GroupCell, folder: Path) -> GroupFound:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        data = Dataset(keat.load(folder / f"{cell.data}.parquet").stream[-cell.rows :])
    started = time.process_time()
    task = TaskSpec(kind="link-ranking", sample=cell.sample)
    fitting = FITTING | {"seed": cell.seed}
    spec = RunSpec.of("keat-rank", settings=ARMS[cell.arm], fitting=fitting, task=task)
    with tempfile.TemporaryDirectory() as scratch:
        reports = train_run(spec, data, Path(scratch) / "run").reports
    return GroupFound(
        mrr=max(report.val["mrr"] for report in reports if report.val),
        train_seconds=round(sum(report.train_seconds for report in reports), 1),
        cpu_seconds=round(time.process_time() - started, 1),
    )


def report(lines: list[GroupLine]) -> str:
    """A row for each arm, a column for each dataset: mean ± std over seeds of validation MRR, and the
    difference from the second edition, paired by seed, with its 95 % interval."""
    asked = [arm for arm in ARMS if any(line.cell.arm == arm for line in lines)]
    rows = [[arm, *(_number(lines, name, arm) for name in DATASETS)] for arm in asked]
    seeds = [str(len(_by_seed(lines, name, SECOND))) for name in DATASETS]
    return "\n".join(table(["edition", *DATASETS], [*rows, ["seeds of the second edition", *seeds]]))


def _by_seed(lines: list[GroupLine], name: str, arm: str) -> dict[int, float]:
    return {
        line.cell.seed: line.found.mrr for line in lines if (line.cell.data, line.cell.arm) == (name, arm)
    }


def _number(lines: list[GroupLine], name: str, arm: str) -> str:
    mine = _by_seed(lines, name, arm)
    if not mine:
        return ""
    if arm == SECOND:
        return spread(list(mine.values()))
    return gain(mine, _by_seed(lines, name, SECOND))


def main() -> None:
    parser = study_parser("rank_groups", __doc__)
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the Parquet files")
    given = parser.parse_args()
    ledger = StudyLedger(given.ledger, GroupCell, GroupFound)
    if not given.report:
        ledger.complete(cells(), partial(ask, folder=given.data))
    print(report(ledger.lines()))


if __name__ == "__main__":
    main()
