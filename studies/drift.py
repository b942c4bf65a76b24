"""Is a kernel robust where p(Δt) drifts? docs/results/drift.md.

    python -m studies.drift --data FOLDER     run what the ledger lacks, and print the tables
    python -m studies.drift --report          print the tables

One layer of TGAT is trained where gaps are short and where they are long, and both are tested on the same
questions of either. What a model loses by drift is the AUC of the one that was trained on such gaps less
that of the one that was not. FOLDER has the Parquet files of the real streams, whose gaps become longer where
three of four events are left out; the same events are asked about whether the others were seen or not.

What would refute the paper's claim was written down before anything ran: on the page, under "The claim".
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

import keat
from keat.datasets.loading import Dataset
from keat.errors import Notice
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec, configuration
from keat.tasks.attribute_source import columns_read, with_attribute
from keat.tasks.script import TGB_BATCH
from keat.tasks.task_spec import TaskSpec
from keat.training.fit import FitConfig
from studies.drift_worlds import DAY, WORLDS, drifting
from studies.study import Cell, Found, Result, StudyLedger, gain, spread, study_parser, table

SHORT, LONG = "short", "long"
GAPS = {SHORT: DAY / 8, LONG: DAY}  # of a source, on average
OTHER = {SHORT: LONG, LONG: SHORT}
REAL: dict[
    str, tuple[str, tuple[str, ...], int]
] = {  # target, known after, and how many of the latest events
    "us_flights": ("f_delay>15", ("f_delay=10800",), 100_000),
    "ml_100k": ("rating>3.5", (), 100_000),
}
KEPT = 0.25  # of the events of a real stream, where gaps are long
PLAIN, PAPER = "identity", "laplacian"
LEARNED, TOLD = "learnable", "planted"  # a Laplacian that is told the half-life of a made world
KERNELS = (PLAIN, PAPER, LEARNED, TOLD)
PLANNED = "fades in a day"  # the world of which the page says beforehand what would refute the claim
FIRST_SEED = 3  # two were spent on settling how long to train
TASK = TaskSpec(kind="edge-attribute")
SIZE = {"layers": 1, "neighbors": 20, "time_dim": 16, "out_dim": 32, "dropout": 0.0}
FIT: dict[str, Any] = {"epochs": 6, "patience": 6, "lr": 3e-3, "batch_size": 100}
FIT_OF_REAL: dict[str, Any] = {"epochs": 3, "patience": 3, "lr": 3e-3, "batch_size": 500}
REFRESH = 20  # of the made worlds, where 200 events would hide what a source did last
ELSEWHERE = 1_000  # the seed of a world that is only asked about is that much more
ASKED = (0.05, 0.3)  # shares of such a world that are not used, and asked about

Floats = npt.NDArray[np.float64]


class DriftCell(Cell, frozen=True, kw_only=True):
    world: str  # a made one, or a real stream
    trained_on: str  # short or long gaps
    kernel: str
    seed: int  # of the world and of the model


class DriftFound(Found, frozen=True, kw_only=True):
    """AUC, in test by the gaps that are asked about."""

    val: float
    test: dict[str, float]
    knows: dict[str, float] | None = None  # of one who knows the rule of a made world
    sigma: float
    cpu_seconds: float


DriftLine: TypeAlias = Result[DriftCell, DriftFound]


def cells(seeds: int) -> Iterator[DriftCell]:
    """A whole table of one seed comes before the next."""
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        of = partial(DriftCell, seed=seed)
        for kernel, gaps in product(KERNELS, GAPS):
            yield of(world=PLANNED, trained_on=gaps, kernel=kernel)
        for world, kernel, gaps in product([*WORLDS, *REAL], (PLAIN, PAPER), GAPS):
            if world != PLANNED:
                yield of(world=world, trained_on=gaps, kernel=kernel)


def ask(cell: DriftCell, folder: Path, scratch: Path) -> DriftFound:
    started = time.process_time()
    data = _data(cell.world, cell.trained_on, cell.seed, folder)
    kernel: dict[str, Any] = {"kernel": cell.kernel}
    if cell.kernel == TOLD:
        kernel = {"kernel": PAPER, "width": WORLDS[cell.world].half_life / math.log(2) / data.sigma()}
    config = configuration("tgat", **kernel, **SIZE)
    fit = FitConfig(**(FIT_OF_REAL if cell.world in REAL else FIT), seed=cell.seed)
    run = scratch / "-".join((cell.world, cell.trained_on, cell.kernel, str(cell.seed)))
    trained = train_run(RunSpec("tgat", config, fit, TASK), data, run, resume=run.exists())
    test, knows = {}, {}
    for gaps in GAPS:
        asked, truth = _asked(cell.world, gaps, cell.seed, folder)
        refresh = TGB_BATCH if cell.world in REAL else REFRESH
        tested = evaluate_run(run, asked, TASK.make(asked, "test"), "test", refresh=refresh)
        test[gaps] = tested.metrics["auc"]
        if truth is not None:
            assert asked.test.labels is not None
            knows[gaps] = float(roc_auc_score(asked.test.labels, truth[asked.test.offset :]))
    return DriftFound(
        val=max(report.val["auc"] for report in trained.reports if report.val),
        test=test,
        knows=knows or None,
        sigma=data.sigma(),
        cpu_seconds=round(time.process_time() - started, 1),
    )


@cache
def _asked(world: str, gaps: str, seed: int, folder: Path) -> tuple[Dataset, Floats | None]:
    """What is asked about, and of a made world how likely each event was to say yes. A made world is another
    one than models were trained on; of a real stream it is the test split."""
    if world in REAL:
        return _data(world, gaps, seed, folder), None
    stream, chance = drifting(WORLDS[world], GAPS[gaps], seed + ELSEWHERE)
    return Dataset(stream, held_out=ASKED), chance


@cache
def _data(world: str, gaps: str, seed: int, folder: Path) -> Dataset:
    if world not in REAL:
        return Dataset(drifting(WORLDS[world], GAPS[gaps], seed)[0])
    target, late, latest = REAL[world]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        read = keat.load(folder / f"{world}.parquet", features=columns_read(target, late))
    stream = read.stream[-latest:]
    kept = np.random.default_rng(seed).random(len(stream)) < KEPT
    if gaps == LONG:
        columns = {name: getattr(stream, name)[kept] for name in ("src", "dst", "t", "features")}
        return with_attribute(replace(read, stream=replace(stream, offset=0, **columns)), target, late)
    data = with_attribute(replace(read, stream=replace(stream, offset=0)), target, late)
    assert data.stream.labels is not None
    labels = data.stream.labels.copy()
    labels[np.flatnonzero(labels >= 0)[~kept]] = -1  # rows that are asked about are in the order of events
    return replace(data, stream=replace(data.stream, labels=labels))


def report(lines: list[DriftLine]) -> str:
    """A table for each world; differences are paired by seed."""
    text: list[str] = []
    for world in dict.fromkeys(line.cell.world for line in lines):
        mine = [line for line in lines if line.cell.world == world]
        seeds = {line.cell.seed for line in mine}
        text += [f"**{world}**, {len(seeds)} seeds{_known(mine)}", "", *_table(mine), ""]
    return "\n".join(text)


HEAD = (
    *("asked about gaps", "kernel", "trained on such gaps", "trained on the others", "lost by drift"),
    *("plain loses more by", "ahead of plain without drift", "ahead of plain under drift"),
)


def _table(lines: list[DriftLine]) -> list[str]:
    rows = []
    for gaps in (LONG, SHORT):
        plain_home, plain_away = (_aucs(lines, PLAIN, on, gaps) for on in (gaps, OTHER[gaps]))
        for kernel in KERNELS:
            home, away = (_aucs(lines, kernel, on, gaps) for on in (gaps, OTHER[gaps]))
            if home and away:
                row = [
                    gaps,
                    kernel,
                    spread(list(home.values())),
                    spread(list(away.values())),
                    gain(home, away),
                ]
                if kernel != PLAIN:
                    less = gain(_less(plain_home, plain_away), _less(home, away))
                    row += [less, gain(home, plain_home), gain(away, plain_away)]
                rows.append([*row, *[""] * (len(HEAD) - len(row))])
    return table(HEAD, rows)


def _aucs(lines: list[DriftLine], kernel: str, trained_on: str, asked: str) -> dict[int, float]:
    """By seed."""
    return {
        line.cell.seed: line.found.test[asked]
        for line in lines
        if (line.cell.kernel, line.cell.trained_on) == (kernel, trained_on)
    }


def _less(ours: dict[int, float], theirs: dict[int, float]) -> dict[int, float]:
    return {seed: ours[seed] - theirs[seed] for seed in ours.keys() & theirs.keys()}


def _known(lines: list[DriftLine]) -> str:
    """What one who knows the rule of a made world has."""
    known = [line.found.knows for line in lines if line.found.knows and line.cell.kernel == PLAIN]
    if not known:
        return ""
    told = (f"{np.mean([each[gaps] for each in known]):.4f} on {gaps} gaps" for gaps in (LONG, SHORT))
    return f"; one who knows the rule has {' and '.join(told)}"


def main() -> None:
    parser = study_parser("drift", __doc__)
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the Parquet files")
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    ledger = StudyLedger(given.ledger, DriftCell, DriftFound)
    if not given.report:
        ledger.complete(cells(given.seeds), partial(ask, folder=given.data, scratch=given.scratch))
    print(report(ledger.lines()))


if __name__ == "__main__":
    main()
