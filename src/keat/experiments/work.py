"""What a job is: train, or build what needs no training, score, and write down all there is to say."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

import keat
from keat.datasets.dgraphfin import DGraphFin
from keat.errors import unknown_name
from keat.experiments.job import Job, changes, fit_of, told_over
from keat.experiments.line import Line, Metrics, Score
from keat.experiments.provenance import provenance
from keat.experiments.sources import written
from keat.models.contract import LinkModel, NodeModel
from keat.runs.epochs import best_epoch, read_history
from keat.runs.run_evaluation import SomeTask, evaluate_run, heuristic, heuristics_for, usual_refresh_of
from keat.runs.run_file import is_run, read_run_file
from keat.runs.run_model import Data, open_model, train_run
from keat.runs.spec import RunSpec, SourceSpec
from keat.tasks.graph_label import GraphLabel
from keat.tasks.script import TGB_BATCH
from keat.tasks.task_spec import Split
from keat.training.evaluate import Evaluation, evaluate
from keat.training.fit import EpochReport


@dataclass(frozen=True, slots=True)
class Found:
    """What a job found."""

    events: int
    val: Metrics
    test: dict[str, Score]  # by refresh
    best: EpochReport | None = None  # epoch of training, if the line is to tell of it
    parameters: int | None = None
    history: Sequence[EpochReport] = ()
    milliseconds: dict[str, float] | None = None


def run_job(job: Job, key: str, scratch: str) -> Line:
    """Work for the runner: train and score."""
    return measure(
        job,
        key,
        lambda data: _scored(job, data) if job.is_heuristic else _trained(job, data, Path(scratch)),
    )


def measure(job: Job, key: str, find: Callable[[Data], Found]) -> Line:
    """The line of what ``find`` finds in the data of a job. Runs in a process of its own, on one thread."""
    torch.set_num_threads(1)
    started = time.perf_counter()
    found = find(job.open())
    return line_of(job, key, found, time.perf_counter() - started)


def line_of(job: Job, key: str, found: Found, seconds: float) -> Line:
    """A line of the ledger: the job, what was found, and where it ran."""
    spec, best = job.spec, found.best
    trained = spec if isinstance(spec, RunSpec) else None
    fit = {} if trained is None else dict(changes(trained.fitting, fit_of(spec.task)))
    fit.pop("seed", None)
    return Line(
        key=key,
        data=job.data,
        source=written(spec.source),
        model=spec.model,
        seed=job.seed,
        config={} if trained is None else changes(trained.config, told_over(spec.model)),
        fit=fit,
        task=str(spec.task.kind),
        refresh=job.refresh,
        sample=spec.task.sample,
        events=found.events,
        config_full=None if trained is None or best is None else asdict(trained.config),
        epoch=None if best is None else best.epoch,
        loss=None if best is None else best.loss,
        val=found.val,
        test=found.test,
        seconds=round(seconds, 1),
        parameters=found.parameters,
        epochs=len(found.history) or None,
        train_seconds=round(sum(each.cost for each in found.history), 2) if found.history else None,
        milliseconds=found.milliseconds,
        keat=keat.__version__,
        **provenance(),
    )


def run_folder(job: Job, scratch: Path, data: Data) -> Path:
    """Where a job's training is kept, if it has begun."""
    return scratch / job.training_key(job.fingerprint(data))


def trained_run(job: Job, data: Data, scratch: Path) -> Path:
    """The folder of a job's finished training, which begins or goes on where it is not there yet."""
    spec, folder = job.spec, run_folder(job, scratch, data)
    assert isinstance(spec, RunSpec)
    if not isinstance(data, DGraphFin):
        spec = replace(spec, source=SourceSpec.of(data, spec.source.labels))  # as it was read
    resume = is_run(folder)
    if resume:
        # The folder's name says that it is this run. One table may call its model `tgn` and another
        # `keat-tgn`, and runs of earlier versions do not say how labels were made.
        there = read_run_file(folder).spec
        source = replace(spec.source, labels=there.source.labels)
        spec = replace(spec, model=there.model, source=source)
    train_run(spec, data, folder, resume=resume)
    return folder


def task_of(job: Job, data: Data, split: Split) -> SomeTask:
    """What is asked in a split."""
    return GraphLabel(data, split) if isinstance(data, DGraphFin) else job.spec.task.make(data, split)


def refresh_of(job: Job, data: Data) -> int:
    """How fresh the state is where the job does not say: TGB's protocol, or as the model was trained."""
    return usual_refresh_of(job.spec, data) if isinstance(job.spec, RunSpec) else TGB_BATCH


def untrained_model(job: Job, data: Data, task: SomeTask) -> LinkModel | NodeModel:
    """A heuristic or baseline by the name in the job."""
    known = heuristics_for(task)
    if job.model not in known:
        raise unknown_name(f"heuristic of {task.kind}", job.model, known)
    return heuristic(job.model, data, task)


def _trained(job: Job, data: Data, scratch: Path) -> Found:
    folder = trained_run(job, data, scratch)
    task, best = task_of(job, data, "test"), best_epoch(folder)
    tested = {
        name: evaluate_run(folder, data, task, "test", refresh=refresh)
        for name, refresh in _refreshes(job, data).items()
    }
    model = open_model(folder, read_run_file(folder))
    parameters = sum(each.numel() for each in model.parameters() if each.requires_grad)
    history, took = read_history(folder), _milliseconds(tested)
    return Found(len(data.stream), best.val, _scores_of(tested), best, parameters, history, took)


def _scored(job: Job, data: Data) -> Found:
    """Score what needs no training, from an empty state for each split and refresh."""
    val, test = task_of(job, data, "val"), task_of(job, data, "test")
    refreshes = _refreshes(job, data)
    first = next(iter(refreshes.values()))
    validated = evaluate(untrained_model(job, data, val), val, refresh=first).metrics
    tested = {
        name: evaluate(untrained_model(job, data, test), test, refresh=refresh)
        for name, refresh in refreshes.items()
    }
    return Found(len(data.stream), validated, _scores_of(tested), milliseconds=_milliseconds(tested))


def _refreshes(job: Job, data: Data) -> dict[str, int]:
    """Of the test split, by what a line calls them. A whole graph has no time, and so nothing to refresh."""
    if job.is_of_graph:
        return {"all": TGB_BATCH}
    return {str(refresh): refresh for refresh in job.refresh or (refresh_of(job, data),)}


def _scores_of(tested: Mapping[str, Evaluation]) -> dict[str, Score]:
    return {name: Score(found.metrics, found.standard_errors) for name, found in tested.items()}


def _milliseconds(tested: Mapping[str, Evaluation]) -> dict[str, float]:
    """Of processor time for each question, by refresh."""
    return {name: round(1000 * found.answering / found.events, 4) for name, found in tested.items()}
