"""Runs what the ledger does not have yet: two jobs of one thread each use two cores.

A job trains into a folder named by its content, so a killed one goes on from its last finished epoch, and a
finished one is never repeated, only scored again if asked in another way.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, get_args

import torch

import keat
from keat.datasets.loading import Dataset
from keat.errors import KeatError, unknown_name
from keat.experiments.graph_job import GraphJob, run_graph_job
from keat.experiments.job import Job
from keat.experiments.ledger import Ledger
from keat.experiments.sources import fingerprint_of, open_source
from keat.models.registry import create_link_model, create_node_model, trains_in_turn
from keat.tasks.link import LinkTask
from keat.tasks.making import make_task
from keat.tasks.node_property import NodeProperty
from keat.tasks.script import TGB_BATCH
from keat.training.description import read_description
from keat.training.evaluate import Evaluation, evaluate
from keat.training.lessons import usual_refresh
from keat.training.runs import best_epoch, configuration, evaluate_run, train_run

Engine = Literal["local", "ray"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
Told = Callable[[str], None]
Work = Callable[[Job, str, str], dict[str, Any]]  # (job, key, scratch) → a line of the ledger


def run_job(job: Job, key: str, scratch: str) -> dict[str, Any]:
    """Train, score, and say all there is to say in plain values. Runs in a process of its own."""
    torch.set_num_threads(1)
    started = time.perf_counter()
    if isinstance(job, GraphJob):
        found = run_graph_job(job, Path(scratch))
    else:
        data = open_source(job.source)
        found = {"events": len(data.stream)}
        found |= _score_heuristic(job, data) if job.is_heuristic else _train(job, data, Path(scratch))
    return line_of(job, key, found, time.perf_counter() - started)


def run_jobs(
    jobs: Sequence[Job],
    ledger: Ledger,
    scratch: Path,
    *,
    parallel: int = 1,
    engine: Engine = "local",
    told: Told = print,
    work: Work = run_job,
    suffix: str = "",
) -> list[dict[str, Any]]:
    """Run the jobs the ledger lacks and return the lines of all, in the order of the jobs. Other ``work``
    than training and scoring has its lines under other names, with a ``suffix``."""
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    keys = [key + suffix for key in keys_of(jobs)]
    done = ledger.keys()
    missing = {key: job for key, job in zip(keys, jobs, strict=True) if key not in done}
    total = len(set(keys))
    told(f"{total - len(missing)} of {total} runs are in {ledger.path}; {len(missing)} to go")
    for line in _run(missing, scratch, parallel, engine, work):
        ledger.append(line)
        told(_summary(line))
    by_key = {line["key"]: line for line in ledger.lines()}
    return [by_key[key] for key in keys]


def keys_of(jobs: Sequence[Job]) -> list[str]:
    """Names of jobs by content; each dataset is read once for its fingerprint."""
    prints = {source: fingerprint_of(source) for source in {job.source for job in jobs}}
    return [job.key(prints[job.source]) for job in jobs]


def line_of(job: Job, key: str, found: dict[str, Any], seconds: float) -> dict[str, Any]:
    """A line of the ledger: the job, what was found, and where it ran."""
    return {
        "key": key,
        **asdict(job),
        **found,
        "seconds": round(seconds, 1),
        "keat": keat.__version__,
        "commit": _commit(),
        "torch": torch.__version__,
        "machine": f"{platform.machine()}, 1 thread",
    }


def run_folder(job: Job, scratch: Path, data: Dataset | None = None) -> Path:
    """Where a job's training is kept, if it has begun."""
    return scratch / job.training_key(fingerprint_of(job.source, data))


def trained_run(job: Job, data: Dataset, scratch: Path) -> Path:
    """The folder of a job's finished training, which begins or goes on where it is not there yet."""
    folder = run_folder(job, scratch, data)
    config = configuration(job.model, **job.config)
    resume = (folder / "run.json").exists()
    name = (
        read_description(folder)["model"] if resume else job.model
    )  # `keat-tgn` in one table, `tgn` in another
    train_run(name, data, folder, config, job.fitting(), task=task_of(job, data, "val"), resume=resume)
    return folder


def refresh_of(job: Job, data: Dataset) -> int:
    """How fresh the state is where the job does not say: TGB's protocol, or as the model was trained."""
    if job.is_heuristic:
        return TGB_BATCH
    return usual_refresh(job.task, data.train, trains_in_turn(configuration(job.model, **job.config)))


def task_of(job: Job, data: Dataset, split: str) -> LinkTask | NodeProperty:
    task = make_task(data, split, kind=job.task)  # type: ignore[arg-type]
    assert isinstance(task, LinkTask | NodeProperty)
    if job.sample is None or isinstance(task, NodeProperty):
        return task
    return task.sample(job.sample, seed=0)  # one sample for all arms


def _train(job: Job, data: Dataset, scratch: Path) -> dict[str, Any]:
    folder = trained_run(job, data, scratch)
    task = task_of(job, data, "test")
    tested = {
        refresh: evaluate_run(folder, data, task, "test", refresh=refresh)
        for refresh in job.refresh or (refresh_of(job, data),)
    }
    config = asdict(configuration(job.model, **job.config))
    return {"config_full": config, **best_epoch(folder), "test": _by_refresh(tested)}


def _score_heuristic(job: Job, data: Dataset) -> dict[str, Any]:
    refreshes = job.refresh or (TGB_BATCH,)

    def scored(split: str) -> dict[int, Evaluation]:
        task = task_of(job, data, split)
        create = create_node_model if isinstance(task, NodeProperty) else create_link_model
        return {r: evaluate(create(job.model, data.train), task, refresh=r) for r in refreshes}

    return {"val": scored("val")[refreshes[0]].metrics, "test": _by_refresh(scored("test"))}


def _by_refresh(scored: dict[int, Evaluation]) -> dict[str, dict[str, Any]]:
    """Metrics by refresh, with their standard errors where a sample was asked."""
    return {
        str(refresh): result.metrics
        | ({} if result.standard_errors is None else {"standard_errors": result.standard_errors})
        for refresh, result in scored.items()
    }


def _run(
    missing: dict[str, Job], scratch: Path, parallel: int, engine: Engine, work: Work
) -> Iterable[dict[str, Any]]:
    if engine == "ray" and missing:
        from keat.experiments.ray_engine import run_on_ray  # the extra `ray`

        yield from run_on_ray(missing, scratch, parallel, work)
        return
    if parallel <= 1 or len(missing) <= 1:
        for key, job in missing.items():
            yield work(job, key, str(scratch))
        return
    spawn = multiprocessing.get_context("spawn")  # a fork would inherit torch's threads
    with ProcessPoolExecutor(parallel, spawn, initializer=_end_with, initargs=(os.getpid(),)) as pool:
        waiting: list[Future[dict[str, Any]]] = [
            pool.submit(work, job, key, str(scratch)) for key, job in missing.items()
        ]
        try:
            for future in as_completed(waiting):
                yield future.result()
        except (KeatError, KeyboardInterrupt):
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _end_with(parent: int) -> None:
    """Let a worker end when its parent is killed: the next plan may want to go on with the same run."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _summary(line: dict[str, Any]) -> str:
    options = " ".join(f"{name}={value}" for name, value in line["config"].items())
    headline = next(iter(line["val"]))
    test = ", ".join(f"{metrics[headline]:.4f}" for metrics in line["test"].values())
    return (
        f"{line['data']}  {line['model']} {options}  seed {line['seed']}: {headline} val "
        f"{line['val'][headline]:.4f} test {test}, {line['seconds']:.0f} s"
    )


def _commit() -> str | None:
    """Of the source this runs from, where it is a checkout."""
    try:
        answer = subprocess.run(
            ["git", "-C", str(Path(keat.__file__).parent), "rev-parse", "--short", "HEAD"],
            capture_output=True,
            text=True,
        )
    except OSError:
        return None
    return answer.stdout.strip() or None
