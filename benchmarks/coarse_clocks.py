"""Clocks so coarse that one time holds more events than a batch: steps, memory and metrics of every model.

    python -m benchmarks.coarse_clocks made                                     12 and 300 distinct times
    python -m benchmarks.coarse_clocks real --data FOLDER --ledger FILE         icews14, trade, online_retail
    python -m benchmarks.coarse_clocks show --ledger FILE

Each cell runs in a process of its own, whose peak memory is its own, on one thread, and is one line of the
ledger; what is there is not run again.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch

import keat
from benchmarks.ledgers import append, commit, read
from keat.datasets.loading import Dataset
from keat.errors import Notice
from keat.events import EventStream
from keat.models.registry import ARCHITECTURES, LINK_MODELS, create_link_model, trains_in_turn
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec, configuration
from keat.runs.testing import evaluate_run
from keat.tasks.kinds import TaskKind
from keat.tasks.link import LinkClassification, LinkRanking
from keat.tasks.making import make_task
from keat.tasks.task_spec import TaskSpec
from keat.training.evaluate import evaluate
from keat.training.fit import EpochReport, FitConfig
from keat.training.lessons import LinkLessons

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


MADE = {
    "12 times": Source(60_000, 12, asked=(400, 20)),
    "300 times": Source(75_000, 300, asked=(400, 20)),
}
REAL = {
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


def load(name: str, folder: Path) -> Dataset:
    source = (MADE | REAL)[name]
    if source.file is None:
        return made(source)
    table = pq.read_table(folder / source.file).slice(0, source.rows)
    options: dict[str, Any] = {} if source.unit is None else {"unit": source.unit}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        return keat.load(table.select(["src", "dst", "t"]), **options)


def asked_of(data: Dataset, kind: TaskKind, number: int) -> LinkRanking | LinkClassification:
    task = make_task(data, "test", kind=kind)
    assert isinstance(task, LinkRanking | LinkClassification)
    return task.sample(number, seed=0)


def run_cell(name: str, model: str, folder: Path) -> dict[str, Any]:
    """Train and test one model; to be called in a fresh process."""
    torch.set_num_threads(1)
    source, started = (MADE | REAL)[name], time.perf_counter()
    data = load(name, folder)
    kinds: tuple[TaskKind, ...] = ("link-classification", "link-ranking")
    warnings.simplefilter("ignore", Notice)
    tasks = {
        kind: asked_of(data, kind, number)
        for kind, number in zip(kinds, source.asked, strict=True)
        if not (kind == "link-ranking" and name == "trade")  # every source meets every destination at once
    }
    line: dict[str, Any] = {}
    if model in HEURISTICS:
        found = {
            kind: evaluate(create_link_model(model, data.train), task, refresh=1)
            for kind, task in tasks.items()
        }
    else:
        with tempfile.TemporaryDirectory() as scratch:
            run = Path(scratch) / "run"
            fitting = FitConfig(epochs=source.epochs, batch_size=BATCH, lr=1e-3)
            if model == "keat-rank":
                fitting = replace(fitting, loss="listwise", negatives=50, lr=3e-3)
            config = configuration(model)
            task = TaskSpec(kind="link-classification", sample=source.asked[0])
            reports: list[EpochReport] = train_run(RunSpec(model, config, fitting, task), data, run).reports
            found = {kind: evaluate_run(run, data, task, "test", refresh=1) for kind, task in tasks.items()}
        lessons = LinkLessons(data, BATCH, in_turn=trains_in_turn(config)).epoch(1, 1)
        line["steps"] = sum(lesson.queries is not None for lesson in lessons)
        line["train_seconds"] = round(sum(report.train_seconds for report in reports), 1)
    for kind, result in found.items():
        metric = {"link-classification": "ap", "link-ranking": "mrr"}[kind]
        line[metric] = result.metrics[metric]
        line[f"{metric}_se"] = (result.standard_errors or {}).get(metric)
    return line | {
        "source": name,
        "model": model,
        "train_events": len(data.train),
        "distinct_times": len(np.unique(data.stream.t)),
        "longest_tie": int(np.unique(data.stream.t, return_counts=True)[1].max()),
        "epochs": 0 if model in HEURISTICS else source.epochs,
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "seconds": round(time.perf_counter() - started, 1),
        "commit": commit(),
        "machine": f"{platform.machine()}, 1 thread",
    }


def run_all(names: list[str], models: list[str], folder: Path, ledger: Path) -> None:
    done = {(line["source"], line["model"]) for line in read(ledger)}
    for model in models:
        for name in names:
            if (name, model) in done:
                continue
            command = [sys.executable, "-m", "benchmarks.coarse_clocks", "cell", "--data", str(folder)]
            answer = subprocess.run(
                [*command, "--name", name, "--model", model], stdout=subprocess.PIPE, text=True, check=True
            )
            append(ledger, json.loads(answer.stdout))
            print(answer.stdout.strip(), flush=True)


def show(lines: list[dict[str, Any]]) -> None:
    for name in dict.fromkeys(line["source"] for line in lines):
        mine = [line for line in lines if line["source"] == name]
        first = mine[0]
        print(
            f"\n{name}: {first['train_events']:,} training events, {first['distinct_times']:,} distinct "
            f"times, at most {first['longest_tie']:,} events at one\n"
        )
        print("| model | epochs | steps an epoch | AP | MRR | peak memory | training |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for line in mine:
            numbers = [_number(line, metric) for metric in ("ap", "mrr")]
            spent = f"{line['train_seconds']:.0f} s" if "train_seconds" in line else "–"
            steps = f"{line['steps']:,}" if "steps" in line else "–"
            print(
                f"| {line['model']} | {line['epochs'] or '–'} | {steps} | {' | '.join(numbers)} "
                f"| {line['peak_mb']:,} MB | {spent} |"
            )


def _number(line: dict[str, Any], metric: str) -> str:
    if metric not in line:
        return "–"
    error = line[f"{metric}_se"]
    return f"{line[metric]:.3f}" + ("" if error is None else f" ± {error:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("made", "real", "show", "cell"))
    parser.add_argument("--data", type=Path, default=Path())
    parser.add_argument("--ledger", type=Path)
    parser.add_argument("--models", nargs="*", default=[*HEURISTICS, *MODELS])
    parser.add_argument("--name")
    parser.add_argument("--model", choices=[*HEURISTICS, *ARCHITECTURES])
    given = parser.parse_args()
    if given.what == "cell":
        print(json.dumps(run_cell(given.name, given.model, given.data)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        path = given.ledger or Path(scratch) / "ledger.jsonl"
        if given.what != "show":
            run_all(list(MADE if given.what == "made" else REAL), given.models, given.data, path)
        show(read(path))


if __name__ == "__main__":
    main()
