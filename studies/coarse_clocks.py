"""Clocks so coarse that one time holds more events than a batch: steps, memory and metrics of every model:
docs/results/coarse_clocks.md.

    python -m studies.coarse_clocks --data FOLDER     run what the ledger lacks, and print the tables
    python -m studies.coarse_clocks --report          print the tables

FOLDER has icews14.parquet, trade.parquet and online_retail.parquet; the streams of 12 and 300 distinct times
are made. A line of the ledger for every (source, model), each measured in a process of its own, so that its
peak memory is its own.
"""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow.parquet as pq
import torch

import keat
from keat.datasets.loading import Dataset
from keat.errors import Notice
from keat.events import EventStream
from keat.models.registry import LINK_MODELS, create_link_model, trains_in_turn
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec, configuration
from keat.tasks.task_spec import TaskSpec
from keat.training.evaluate import Evaluation, evaluate
from keat.training.fit import FitConfig
from keat.training.lessons import LinkLessons
from studies.study import Cell, Found, Result, StudyLedger, study_parser, table

BATCH = 200
HEURISTICS = [name for name, entry in LINK_MODELS.items() if entry.heuristic]
MODELS = ["tgn", "keat-tgn", "tgat", "graphmixer", "dygformer", "keat-rank"]


@dataclass(frozen=True)
class Source:
    """A stream with a coarse clock, and how much of it and of its questions is used."""

    rows: int  # from the first; of the real ones as many as DyGFormer learns from in minutes on one core
    times: int | None = None  # of a made one
    epochs: int = 1
    file: str | None = None
    unit: str | None = None
    asked: tuple[int, int] = (2000, 200)  # positives of the test split: for AP, and for the MRR


SOURCES = {
    "12 times": Source(60_000, 12, asked=(400, 20)),
    "300 times": Source(75_000, 300, asked=(400, 20)),
    "icews14": Source(24_000, file="icews14.parquet", epochs=2),
    "trade": Source(24_000, file="trade.parquet", unit="year", epochs=2),
    "online_retail": Source(24_000, file="online_retail.parquet", epochs=2),
}


def made(source: Source, seed: int = 0) -> Dataset:
    """Votes: who votes is drawn anew each time, for whom depends on a group that stays."""
    assert source.times is not None
    rng = np.random.default_rng(seed)
    voters, subjects, groups = 2_000, 300, 12
    src = rng.integers(0, voters, source.rows)
    favoured = rng.integers(0, subjects, (groups, 8))
    liked = favoured[src % groups, rng.integers(0, 8, source.rows)]
    dst = voters + np.where(rng.random(source.rows) < 0.7, liked, rng.integers(0, subjects, source.rows))
    t = np.sort(rng.integers(0, source.times, source.rows))
    return Dataset(
        EventStream.from_arrays(src, dst, t, num_nodes=voters + subjects, unit="day", name="votes")
    )


def load(source: Source, folder: Path) -> Dataset:
    if source.file is None:
        return made(source)
    rows = pq.read_table(folder / source.file).slice(0, source.rows)
    options: dict[str, Any] = {} if source.unit is None else {"unit": source.unit}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        return keat.load(rows.select(["src", "dst", "t"]), **options)


class ClockCell(Cell, frozen=True, kw_only=True):
    source: str
    model: str


class ClockFound(Found, frozen=True, kw_only=True):
    """Metrics of a sample of the test split with their standard errors, and what training took."""

    ap: float
    ap_se: float | None = None
    mrr: float | None = None
    mrr_se: float | None = None
    steps: int | None = None  # of an epoch
    train_seconds: float | None = None
    train_events: int
    distinct_times: int
    longest_tie: int
    epochs: int
    peak_mb: int
    seconds: float


ClockLine: TypeAlias = Result[ClockCell, ClockFound]


def in_fresh_process(cell: ClockCell, folder: Path) -> ClockFound:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn) as pool:
        return pool.submit(ask, cell, folder).result()


def ask(cell: ClockCell, folder: Path) -> ClockFound:
    """Train and test one model."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", Notice)
    started, source, is_heuristic = time.perf_counter(), SOURCES[cell.source], cell.model in HEURISTICS
    data = load(source, folder)
    for_ap, for_mrr = source.asked
    tasks = {"ap": TaskSpec(kind="link-classification", sample=for_ap)}
    if cell.source != "trade":  # where every source meets every destination at once
        tasks["mrr"] = TaskSpec(kind="link-ranking", sample=for_mrr)
    if is_heuristic:
        training: dict[str, Any] = {}
        results = {
            metric: evaluate(create_link_model(cell.model, data.train), task.make(data, "test"), refresh=1)
            for metric, task in tasks.items()
        }
    else:
        training, results = train_and_test(cell.model, data, source.epochs, tasks)
    tested: dict[str, float | None] = {}
    for metric, result in results.items():
        tested[metric] = result.metrics[metric]
        tested[f"{metric}_se"] = (result.standard_errors or {}).get(metric)
    _, ties = np.unique(data.stream.t, return_counts=True)
    return ClockFound(
        **tested,  # type: ignore[arg-type]  # by name
        **training,
        train_events=len(data.train),
        distinct_times=len(ties),
        longest_tie=int(ties.max()),
        epochs=0 if is_heuristic else source.epochs,
        peak_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        seconds=round(time.perf_counter() - started, 1),
    )


def train_and_test(
    model: str, data: Dataset, epochs: int, tasks: dict[str, TaskSpec]
) -> tuple[dict[str, Any], dict[str, Evaluation]]:
    """Steps and seconds of training, and results by metric."""
    fitting = FitConfig(epochs=epochs, batch_size=BATCH, lr=1e-3)
    if model == "keat-rank":
        fitting = replace(fitting, loss="listwise", negatives=50, lr=3e-3)
    config = configuration(model)
    with tempfile.TemporaryDirectory() as scratch:
        run = Path(scratch) / "run"
        reports = train_run(RunSpec(model, config, fitting, tasks["ap"]), data, run).reports
        results = {
            metric: evaluate_run(run, data, task.make(data, "test"), "test", refresh=1)
            for metric, task in tasks.items()
        }
    lessons = LinkLessons(data, BATCH, in_turn=trains_in_turn(config)).epoch(1, 1)
    training = {
        "steps": sum(lesson.queries is not None for lesson in lessons),
        "train_seconds": round(sum(report.train_seconds for report in reports), 1),
    }
    return training, results


def report(lines: list[ClockLine]) -> str:
    head = ["model", "epochs", "steps an epoch", "AP", "MRR", "peak memory", "training"]
    text = []
    for source in dict.fromkeys(line.cell.source for line in lines):
        mine = [line for line in lines if line.cell.source == source]
        first = mine[0].found
        text += [
            "",
            f"{source}: {first.train_events:,} training events, {first.distinct_times:,} distinct "
            f"times, at most {first.longest_tie:,} events at one",
            "",
            *table(head, [_row(line.cell.model, line.found) for line in mine]),
        ]
    return "\n".join(text)


def _row(model: str, found: ClockFound) -> list[str]:
    return [
        model,
        str(found.epochs or "–"),
        "–" if found.steps is None else f"{found.steps:,}",
        _number(found.ap, found.ap_se),
        _number(found.mrr, found.mrr_se),
        f"{found.peak_mb:,} MB",
        "–" if found.train_seconds is None else f"{found.train_seconds:.0f} s",
    ]


def _number(value: float | None, error: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" + ("" if error is None else f" ± {error:.3f}")


def main() -> None:
    parser = study_parser("coarse_clocks", __doc__)
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the Parquet files")
    given = parser.parse_args()
    ledger = StudyLedger(given.ledger, ClockCell, ClockFound)
    if not given.report:
        cells = (
            ClockCell(source=source, model=model)
            for model, source in product([*HEURISTICS, *MODELS], SOURCES)
        )
        ledger.complete(cells, partial(in_fresh_process, folder=given.data))
    print(report(ledger.lines()))


if __name__ == "__main__":
    main()
