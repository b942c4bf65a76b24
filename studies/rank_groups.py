"""What each group of numbers of keat-rank's second edition is worth, by validation:
docs/results/rank_groups.md.

    python -m studies.rank_groups --data FOLDER     run what the ledger lacks, and print the table
    python -m studies.rank_groups --report          print the table

FOLDER has the Parquet files of the datasets. Trained are the first edition, the second, and the second
without one of its groups at a time. A line of the ledger for every (data, arm, seed, sample, epochs).
The test splits are not looked at.
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
from keat.errors import Notice
from keat.runs import RunSpec
from keat.runs.run_model import train_run
from keat.tasks.task_spec import TaskSpec
from studies.study import Cell, Found, Result, StudyLedger, spread, study_parser, table

FIRST, SECOND = "first edition", "second edition"
NEW = [group for group in groups_of(2) if group not in groups_of(1)]
ARMS: dict[str, dict[str, Any]] = {
    FIRST: {"edition": 1},
    SECOND: {"edition": 2},
    **{f"without {group}": {"edition": 2, "without": group} for group in NEW},
}
FITTING: dict[str, Any] = {"loss": "listwise", "negatives": 50, "lr": 1.5e-3}  # whatever is usual since
ASKED = 2_000  # positives of the validation split
EPOCHS = {"bitcoin_otc": 3, "uci": 3, "ml_100k": 3, "email_eu": 1, "highschool": 1, "wikipedia": 2}
SEEDS = {"bitcoin_otc": 2, "uci": 3, "ml_100k": 2, "email_eu": 2}  # of both editions; else one
TAKEN_APART = {"bitcoin_otc": NEW, "uci": NEW, "ml_100k": ["item to item"]}


class GroupCell(Cell, frozen=True, kw_only=True):
    data: str
    arm: str
    seed: int
    sample: int
    epochs: int


class GroupFound(Found, frozen=True, kw_only=True):
    """Validation MRR."""

    mrr: float  # of the best epoch
    by_epoch: list[float]
    train_seconds: float | None = None  # the lines of trials do not say
    cpu_seconds: float | None = None


GroupLine: TypeAlias = Result[GroupCell, GroupFound]


def cells() -> Iterator[GroupCell]:
    for name, epochs in EPOCHS.items():
        seeds = range(1, 1 + SEEDS.get(name, 1))
        asked = [(arm, seed) for seed in seeds for arm in (FIRST, SECOND)]
        asked += [(f"without {group}", 1) for group in TAKEN_APART.get(name, [])]
        for arm, seed in asked:
            yield GroupCell(data=name, arm=arm, seed=seed, sample=ASKED, epochs=epochs)


def ask(cell: GroupCell, folder: Path) -> GroupFound:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        data = keat.load(folder / f"{cell.data}.parquet")
    started = time.process_time()
    task = TaskSpec(kind="link-ranking", sample=cell.sample)
    fitting = FITTING | {"seed": cell.seed, "epochs": cell.epochs}
    spec = RunSpec.of("keat-rank", settings=ARMS[cell.arm], fitting=fitting, task=task)
    with tempfile.TemporaryDirectory() as scratch:
        reports = train_run(spec, data, Path(scratch) / "run").reports
    return GroupFound(
        mrr=max(report.val["mrr"] for report in reports),
        by_epoch=[round(report.val["mrr"], 4) for report in reports],
        train_seconds=round(sum(report.train_seconds for report in reports), 1),
        cpu_seconds=round(time.process_time() - started, 1),
    )


def report(lines: list[GroupLine]) -> str:
    """A row for each arm, a column for each dataset: mean ± std over seeds of the best epoch's MRR, and the
    mean difference from the second edition over the seeds that both have."""
    asked = [arm for arm in ARMS if any(line.cell.arm == arm for line in lines)]
    rows = [[arm, *(_number(lines, name, arm) for name in EPOCHS)] for arm in asked]
    return "\n".join(table(["edition", *EPOCHS], rows))


def _number(lines: list[GroupLine], name: str, arm: str) -> str:
    def by_seed(arm: str) -> dict[int, float]:
        return {
            line.cell.seed: line.found.mrr for line in lines if (line.cell.data, line.cell.arm) == (name, arm)
        }

    mine, whole = by_seed(arm), by_seed(SECOND)
    if not mine:
        return ""
    found = list(mine.values())
    value = spread(found) if len(found) > 1 else f"{found[0]:.4f}"
    both = mine.keys() & whole.keys()
    if arm == SECOND or not both:
        return value
    return f"{value} ({sum(mine[seed] - whole[seed] for seed in both) / len(both):+.4f})"


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
