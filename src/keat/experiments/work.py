"""What a job is: train, or build what needs no training, score, and write down all there is to say."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

import keat
from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.loading import Dataset
from keat.errors import unknown_name
from keat.experiments.job import Job, changes, fit_of, told_over
from keat.experiments.line import Line, Metrics, Score
from keat.experiments.provenance import provenance
from keat.experiments.same_code import known_as
from keat.experiments.sources import written
from keat.experiments.statistics import without_blocks
from keat.models.contract import LinkModel, NodeModel
from keat.runs.epochs import best_epoch, read_history
from keat.runs.run_evaluation import SomeTask, evaluate_run, heuristic, heuristics_for, usual_refresh_of
from keat.runs.run_file import is_run, read_run_file
from keat.runs.run_model import Data, open_model, train_run
from keat.runs.spec import RunSpec, SourceSpec
from keat.tasks.edge_attribute import EdgeAttribute
from keat.tasks.graph_label import GraphLabel
from keat.tasks.link import LinkTask
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
    val_refresh: int | None = None  # how fresh the state was in validation, of a stream
    features: tuple[str, ...] = ()  # columns that the model read
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
        features=found.features,
        events=found.events,
        config_full=None if trained is None or best is None else asdict(trained.config),
        epoch=None if best is None else best.epoch,
        loss=None if best is None else best.loss,
        val=found.val,
        val_refresh=found.val_refresh,
        test=found.test,
        seconds=round(seconds, 1),
        parameters=found.parameters,
        epochs=len(found.history) or None,
        train_seconds=round(sum(each.cost for each in found.history), 2) if found.history else None,
        milliseconds=found.milliseconds,
        keat=keat.__version__,
        code=job.code(),
        **provenance(),
    )


def run_folder(job: Job, scratch: Path, data: Data) -> Path:
    """Where a job's training is kept, if it has begun: what one code has begun another does not finish."""
    code, key = job.code(), job.training_key(job.fingerprint(data))
    return scratch / f"{key}-{known_as(code.protocol)}-{known_as(code.model)}"


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
    return Found(
        len(data.stream),
        best.val,
        {name: score_of(task, found) for name, found in tested.items()},
        best,
        val_refresh=None if job.is_of_graph else refresh_of(job, data),
        features=features_of(data),
        parameters=sum(each.numel() for each in model.parameters() if each.requires_grad),
        history=read_history(folder),
        milliseconds=_milliseconds(tested),
    )


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
    return Found(
        len(data.stream),
        validated,
        {name: score_of(test, found) for name, found in tested.items()},
        val_refresh=None if job.is_of_graph else first,
        features=features_of(data),
        milliseconds=_milliseconds(tested),
    )


def _refreshes(job: Job, data: Data) -> dict[str, int]:
    """Of the test split, by what a line calls them. A whole graph has no time, and so nothing to refresh."""
    if job.is_of_graph:
        return {"all": TGB_BATCH}
    return {str(refresh): refresh for refresh in job.refresh or (refresh_of(job, data),)}


def score_of(task: SomeTask, found: Evaluation) -> Score:
    """Metrics with what the sampling error of a difference needs, where outcomes are all that they are of."""
    blocks = (
        without_blocks(task.metrics, found.outcomes) if isinstance(task, LinkTask | EdgeAttribute) else None
    )
    return Score(found.metrics, found.standard_errors, blocks)


def _milliseconds(tested: Mapping[str, Evaluation]) -> dict[str, float]:
    """Of processor time for each question, by refresh."""
    return {name: round(1000 * found.answering / found.events, 4) for name, found in tested.items()}


def features_of(data: Data) -> tuple[str, ...]:
    """Columns of the events that a model reads, by their names as far as they have any."""
    reading = data.reading if isinstance(data, Dataset) else None
    if reading is not None:
        return reading.features
    number = data.stream.feature_dim
    return (f"all {number} of the dataset",) if number else ()
