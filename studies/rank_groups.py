"""What each group of numbers of keat-rank's second edition is worth, by validation:
docs/results/rank_groups.md.

    python -m studies.rank_groups --data FOLDER     run what the ledger lacks, and print the table
    python -m studies.rank_groups --report          print the table

FOLDER has the Parquet files of the datasets. Trained are the first edition, the second, and the second
without one of its groups at a time. A line of the ledger for every (data, rows, arm, seed, positives asked).
The test splits are not looked at.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from keat.cooccurrence.pair_columns import groups_of
from keat.runs import RunSpec
from keat.runs.run_model import train_run
from keat.tasks.task_spec import TaskSpec
from studies.defaults import load
from studies.study import Cell, Found, Result, StudyLedger, gain, spread, study_parser, table

FIRST, SECOND = "first edition", "second edition"
ARMS: dict[str, dict[str, Any]] = {  # the latest groups first
    FIRST: {"edition": 1},
    SECOND: {"edition": 2},
    **{
        f"without {group}": {"edition": 2, "without": group} for group in reversed(groups_of(2))
    },  # the latest first
}
FITTING: dict[str, Any] = {  # along one cycle, however short: the last epoch is the one that counts
    "epochs": 2,
    "patience": 2,
    "validate_every": 2,
    "lr": 3e-3,
    "schedule": "one-cycle",
    "loss": "stratified",
    "negatives": 50,
}
ROWS = {"uci": 59_835, "bitcoin_otc": 35_592, "ml_100k": 100_000, "email_eu": 60_000}
ASKED = {"bitcoin_otc": 1_000}  # positives of the validation split, among all destinations
USUALLY_ASKED = 2_000
SEEDS = (1, 2, 3)


class GroupCell(Cell, frozen=True, kw_only=True):
    data: str
    rows: int
    arm: str
    seed: int
    asked: int


class GroupFound(Found, frozen=True, kw_only=True):
    mrr: float  # of validation
    cpu_seconds: float


GroupLine: TypeAlias = Result[GroupCell, GroupFound]


def cells() -> Iterator[GroupCell]:
    for arm in ARMS:
        for seed in SEEDS:
            for name, rows in ROWS.items():
                asked = ASKED.get(name, USUALLY_ASKED)
                yield GroupCell(data=name, rows=rows, arm=arm, seed=seed, asked=asked)


def ask(cell: GroupCell, folder: Path) -> GroupFound:
    data = load(cell.data, cell.rows, folder)
    started = time.process_time()
    task = TaskSpec(kind="link-ranking", sample=cell.asked)
    spec = RunSpec.of("keat-rank", settings=ARMS[cell.arm], fitting=FITTING | {"seed": cell.seed}, task=task)
    with tempfile.TemporaryDirectory() as scratch:
        reports = train_run(spec, data, Path(scratch) / "run").reports
    return GroupFound(mrr=reports[-1].val["mrr"], cpu_seconds=round(time.process_time() - started, 1))


def report(lines: list[GroupLine]) -> str:
    """The MRR of the second edition, mean ± std over seeds; below, how much each arm differs from it, paired
    by seed, with 95 % intervals."""
    rows = [[arm, *(_number(lines, name, arm) for name in ROWS)] for arm in (SECOND, *ARMS) if arm != SECOND]
    head = [SECOND, *(_spread(lines, name) for name in ROWS)]
    return "\n".join(table(["edition", *ROWS], [head, *rows]))


def _by_seed(lines: list[GroupLine], name: str, arm: str) -> dict[int, float]:
    return {
        line.cell.seed: line.found.mrr for line in lines if (line.cell.data, line.cell.arm) == (name, arm)
    }


def _spread(lines: list[GroupLine], name: str) -> str:
    found = list(_by_seed(lines, name, SECOND).values())
    return spread(found) if len(found) > 1 else "".join(f"{value:.4f}" for value in found)


def _number(lines: list[GroupLine], name: str, arm: str) -> str:
    return gain(_by_seed(lines, name, arm), _by_seed(lines, name, SECOND))


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
