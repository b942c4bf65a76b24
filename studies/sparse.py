"""Is a kernel of use where activity is sparse or clustered? docs/results/sparse.md.

    python -m studies.sparse              run what the ledger lacks, and print the table
    python -m studies.sparse --report     print the table

The paper names both as limits and tests neither. One layer of TGAT in worlds whose evidence fades in a day,
and whose sources act from eight times a day to once in eight days, evenly or in sessions of ten within an
hour.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from sklearn.metrics import roc_auc_score

from keat.datasets.loading import Dataset
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec, configuration
from keat.training.fit import FitConfig
from studies.drift import ASKED, ELSEWHERE, FIT, PAPER, PLAIN, PLANNED, REFRESH, SIZE, TASK
from studies.drift_worlds import DAY, WORLDS, Floats, drifting
from studies.study import Cell, Found, Result, StudyLedger, gain, spread, study_parser, table

GAPS = {"8 a day": DAY / 8, "1 a day": DAY, "1 in 8 days": 8 * DAY}  # events of a source
SESSIONS = {"even": 1, "in sessions": 10}
SMALL: dict[str, Any] = {
    **FIT,
    "batch_size": 20,
    "epochs": 2,
}  # more events at a time would hide the session that is under way


class SparseCell(Cell, frozen=True, kw_only=True):
    activity: str  # how many events of a source there are
    spacing: str  # even or in sessions
    kernel: str
    seed: int  # of the world and of the model


class SparseFound(Found, frozen=True, kw_only=True):
    test: float  # AUC in another world of the kind
    knows: float  # of one who knows the rule
    sigma: float
    cpu_seconds: float


SparseLine: TypeAlias = Result[SparseCell, SparseFound]


def cells(seeds: int) -> Iterator[SparseCell]:
    for seed, spacing, activity, kernel in product(range(1, seeds + 1), SESSIONS, GAPS, (PLAIN, PAPER)):
        yield SparseCell(activity=activity, spacing=spacing, kernel=kernel, seed=seed)


@cache
def _world(activity: str, spacing: str, seed: int) -> tuple[Dataset, Dataset, Floats]:
    """To learn from, and to be asked about with how likely each event was to say yes."""
    rule, gap, session = WORLDS[PLANNED], GAPS[activity], SESSIONS[spacing]
    stream, chance = drifting(rule, gap, seed + ELSEWHERE, session)
    learned = drifting(rule, gap, seed, session)[0]
    return Dataset(learned), Dataset(stream, held_out=ASKED), chance


def ask(cell: SparseCell, scratch: Path) -> SparseFound:
    started = time.process_time()
    data, asked, chance = _world(cell.activity, cell.spacing, cell.seed)
    config = configuration("tgat", kernel=cell.kernel, **SIZE)
    run = scratch / "-".join((cell.activity, cell.spacing, cell.kernel, str(cell.seed)))
    spec = RunSpec("tgat", config, FitConfig(**SMALL, seed=cell.seed), TASK)
    train_run(spec, data, run, resume=run.exists())
    tested = evaluate_run(run, asked, TASK.make(asked, "test"), "test", refresh=REFRESH)
    assert asked.test.labels is not None
    return SparseFound(
        test=tested.metrics["auc"],
        knows=float(roc_auc_score(asked.test.labels, chance[asked.test.offset :])),
        sigma=data.sigma(),
        cpu_seconds=round(time.process_time() - started, 1),
    )


def report(lines: list[SparseLine]) -> str:
    """Differences are paired by seed."""
    rows = []
    for spacing, activity in product(SESSIONS, GAPS):
        mine = [line for line in lines if (line.cell.spacing, line.cell.activity) == (spacing, activity)]
        plain, ours = (
            {line.cell.seed: line.found.test for line in mine if line.cell.kernel == kernel}
            for kernel in (PLAIN, PAPER)
        )
        known = {line.cell.seed: line.found.knows for line in mine}
        if plain and ours:
            levels = [spread(list(each.values())) for each in (known, plain, ours)]
            rows.append([f"{activity}, {spacing}", *levels, gain(ours, plain)])
    head = ["a source acts", "one who knows the rule", "plain", "Laplacian", "gain, paired"]
    return "\n".join(table(head, rows))


def main() -> None:
    parser = study_parser("sparse", __doc__)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    ledger = StudyLedger(given.ledger, SparseCell, SparseFound)
    if not given.report:
        ledger.complete(cells(given.seeds), partial(ask, scratch=given.scratch))
    print(report(ledger.lines()))


if __name__ == "__main__":
    main()
