"""What verbs share when they evaluate models by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from keat.cli.console import progress_bar
from keat.datasets.labelled_graph import open_labelled_graph
from keat.datasets.loading import Dataset
from keat.disk import look_at
from keat.errors import InputError, unknown_name
from keat.events import Reading
from keat.experiments.engines import Engine, require_engine
from keat.experiments.sliced_evaluation import Sliced, evaluate_in_slices
from keat.models.registry import GRAPH_BASELINES, LINK_MODELS, TRAINED
from keat.report.sections.results import Negatives, Result
from keat.runs.run_evaluation import (
    SomeTask,
    evaluate_run,
    heuristic,
    heuristics_for,
    intervals_of,
    one_thread,
)
from keat.runs.run_file import RunFile, is_run, read_run_file, require_run, whole_run_file
from keat.runs.run_model import Data
from keat.runs.spec import SourceSpec
from keat.tasks.graph_label import GraphLabel
from keat.tasks.label_source import LabelSource
from keat.tasks.link import LinkClassification, LinkRanking, LinkTask
from keat.tasks.task_spec import TaskSpec
from keat.training.evaluate import Evaluation, evaluate
from keat.training.node_tasks import NODE_TASKS

HEURISTICS = "heuristics"
PREDICTED = {kind: task.asks_for for kind, task in NODE_TASKS.items()} | {"graph-label": "labels of graphs"}
MODELS: dict[str, Mapping[str, object]] = {  # by what they predict
    "links": LINK_MODELS,
    **{task.asks_for: task.models for task in NODE_TASKS.values()},
    PREDICTED["graph-label"]: GRAPH_BASELINES,
}


def predicted(kind: str | None) -> str:
    """What a kind of task asks for."""
    return PREDICTED.get(kind or "", "links")


@dataclass(frozen=True, slots=True)
class Askers:
    """By whom a run is asked, where that is not this process alone."""

    asked: Sliced
    engine: Engine
    workers: int

    @classmethod
    def of(cls, asked: Sliced, task: SomeTask, engine: str, workers: int | None) -> Self:
        require_engine(engine)
        if not isinstance(task, LinkTask):
            raise InputError(f"Only questions about links are shared by workers, and these are {task.kind}.")
        return cls(asked, engine, workers or os.cpu_count() or 1)  # type: ignore[arg-type]


def evaluate_by_name(
    name: str,
    data: Data,
    task: SomeTask,
    split: str,
    refresh: int,
    seed: int | None = None,
    askers: Askers | None = None,
) -> tuple[Result, Evaluation]:
    """Evaluate a heuristic, or the run in a folder."""
    if is_run(name):
        file = whole_run_file(Path(name))
        what = predicted(file.spec.task.kind)
        if what != predicted(task.kind):
            raise InputError(f"The run {name} predicts {what}, but the task is {task.kind}.")
        with progress_bar(name) as progress:
            if askers is None:
                found = evaluate_run(
                    Path(name), data, task, split, file=file, refresh=refresh, progress=progress
                )
            else:
                assert isinstance(data, Dataset)
                assert isinstance(task, LinkTask)
                found = evaluate_in_slices(
                    askers.asked,
                    data,
                    task,
                    workers=askers.workers,
                    engine=askers.engine,
                    progress=progress,
                )
    else:
        _require_right_kind(name, task)
        with progress_bar(name) as progress, one_thread():
            found = evaluate(heuristic(name, data, task), task, refresh=refresh, progress=progress)
    return _result(name, data, task, split, refresh, found, seed), found


def _result(
    name: str, data: Data, task: SomeTask, split: str, refresh: int, found: Evaluation, seed: int | None
) -> Result:
    candidates, negatives = None, None
    if isinstance(task, LinkRanking):
        candidates = task.candidates.width
        counts = task.candidates.negatives_per_positive()
        negatives = Negatives(task.strategy, int(counts.min()), int(counts.max()))
    elif isinstance(task, LinkClassification):
        negatives = Negatives(task.strategy, 1, 1)
    return Result(
        model=name,
        dataset=data.name,
        split=split,
        task=task.kind,
        metrics=found.metrics,
        events=found.events,
        refresh=None if isinstance(task, GraphLabel) else refresh,
        candidates=candidates,
        negatives=negatives,
        standard_errors=found.standard_errors,
        intervals=intervals_of(task, found),
        seconds=round(found.seconds, 3),
        seed=seed,
    )


def require_known(name: str) -> None:
    """A model's name, the word for all heuristics, or the folder of a run."""
    known = {*TRAINED, *(name for models in MODELS.values() for name in models)}
    if name in known or name == HEURISTICS or is_run(name):
        return
    if "/" in name or look_at(Path(name)) is not None:
        require_run(Path(name))
    raise unknown_name("model", name, [*known, HEURISTICS])


def run_file(name: str) -> RunFile | None:
    """What a run is; None for what is no run."""
    return read_run_file(Path(name)) if is_run(name) else None


def graph_and_task(name: str, split: str) -> tuple[Data, SomeTask]:
    """A whole labelled graph, and what is asked of it."""
    graph = open_labelled_graph(name)
    return graph, GraphLabel(graph, split)  # type: ignore[arg-type]


def source_and_task(
    file: RunFile | None, dataset: str, reading: Reading, labels: LabelSource, asked: TaskSpec
) -> tuple[SourceSpec, TaskSpec]:
    """Where the data are and what is asked of them. A run's are read and labelled as those it was trained on,
    and it is asked what it was trained for, unless something else is said."""
    source = SourceSpec(dataset, reading, labels=labels)
    kind = asked.kind or labels.task or ("node-label" if reading.label is not None else None)
    if file is None or labels != LabelSource():
        return source, replace(asked, kind=kind)
    own = file.spec.task
    if own.is_of_nodes and asked.kind in (None, own.kind):
        protocol = own.protocol if asked.protocol == "strict" else asked.protocol
        asked, kind = replace(asked, labelled=own.labelled, protocol=protocol), own.kind
    return file.spec.source.like(dataset, reading), replace(asked, kind=kind)


def _require_right_kind(name: str, task: SomeTask) -> None:
    """A model of another kind exists, so "unknown" would be the wrong word for it."""
    if name in TRAINED:
        raise InputError(
            f"{name} has to be trained first: keat train {name} DATASET --out RUN; then evaluate RUN instead."
        )
    if name not in MODELS[predicted(task.kind)]:
        what = next(what for what, models in MODELS.items() if name in models)
        raise InputError(
            f"{name} predicts {what}, but the task is {task.kind}; use {', '.join(heuristics_for(task))}."
        )
