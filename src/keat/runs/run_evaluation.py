"""How good a run is: metrics of a split, and of the test split with heuristics and reliability beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch

from keat.calibration.calibrations import Calibration, probabilities
from keat.calibration.collectors import Judgement, judge_of
from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.labelled_graph import open_labelled_graph
from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.models.contract import LinkModel, NodeModel, NodeQueries
from keat.models.gearsage import GEARSage, build_graph
from keat.models.registry import (
    GRAPH_BASELINES,
    LINK_MODELS,
    LinkEntry,
    NodeEntry,
    trains_in_turn,
)
from keat.runs.answer import Answer
from keat.runs.answers import finite
from keat.runs.run_file import RunFile, whole_run_file
from keat.runs.run_model import Data, TrainedModel, facts_of, open_model, task_of
from keat.runs.spec import RunSpec
from keat.tasks.graph_label import GraphLabel
from keat.tasks.node_label import NodeLabel
from keat.tasks.script import TGB_BATCH
from keat.tasks.task_factory import AnyTask
from keat.training.evaluate import Collector, Evaluation, Progress, continue_evaluation, evaluate
from keat.training.lessons import usual_refresh
from keat.training.node_tasks import NODE_TASKS

if TYPE_CHECKING:
    from keat.runs.run import Run

SomeTask = AnyTask | GraphLabel


def models_for(kind: str) -> Mapping[str, LinkEntry | NodeEntry]:
    """Models of streams that a kind of task is asked of."""
    return NODE_TASKS[kind].models if kind in NODE_TASKS else LINK_MODELS


@dataclass(frozen=True, slots=True)
class Tested:
    """A run on the test split of its data."""

    evaluation: Evaluation
    task: SomeTask
    refresh: int
    beside: dict[str, dict[str, float]]  # metrics of the heuristics of the task
    intervals: dict[str, tuple[float, float]] | None  # 95 %, of a task that has them
    judged: Judgement | None  # how far shares or probabilities can be trusted


def tested(run: Run, data: Data, task: SomeTask | None) -> Tested:
    """The test split with every heuristic beside the model; its state is as fresh as it was in training."""
    task = task_of(run.spec, data, "test") if task is None else task
    refresh = usual_refresh_of(run.spec, data)
    judge = judge_of(task, run.calibration)
    found = evaluate_run(
        run.folder, data, task, "test", file=run.file, refresh=refresh, device=run.device, collector=judge
    )
    return Tested(
        evaluation=found,
        task=task,
        refresh=refresh,
        beside=heuristics_beside(data, task, refresh),
        intervals=intervals_of(task, found),
        judged=None if judge is None else judge.judgement(),
    )


def evaluate_run(
    folder: Path,
    data: Data,
    task: SomeTask,
    split: str,
    *,
    file: RunFile | None = None,
    refresh: int = TGB_BATCH,
    device: str = "cpu",
    progress: Progress | None = None,
    collector: Collector | None = None,
) -> Evaluation:
    """A run on a split. The test split of the data it was trained on continues from the state kept after
    validation; anything else is replayed from the first event."""
    file = whole_run_file(folder) if file is None else file
    facts, model = file.facts, open_model(folder, file, device)
    facts.require_features(data.stream.name, data.stream.feature_dim)
    model = with_graph(model, data)
    known = split == "test" and facts.data.fingerprint == facts_of(data).fingerprint
    play = continue_evaluation if known else evaluate
    return play(model, task, refresh=refresh, progress=progress, collector=collector)


def with_graph(model: TrainedModel, data: Data) -> TrainedModel:
    """The model. One of whole graphs has then read the graph it is asked about."""
    if isinstance(model, GEARSage):
        if not isinstance(data, DGraphFin):
            raise InputError(
                "This run reads whole graphs: 'dgraphfin', or an .npz file with the same arrays."
            )
        model.read(build_graph(data.stream, data.y, model.config.delta))
    elif isinstance(data, DGraphFin):
        raise InputError("This run reads streams of events, and this is a whole labelled graph.")
    return model


def usual_refresh_of(spec: RunSpec, data: Data) -> int:
    """How fresh the state is where nobody says: as the model was trained."""
    if isinstance(data, DGraphFin):
        return TGB_BATCH
    return usual_refresh(spec.task.kind or "link-ranking", data.train, trains_in_turn(spec.config))


def intervals_of(task: SomeTask, result: Evaluation) -> dict[str, tuple[float, float]] | None:
    """95 % intervals, of a task that has them."""
    return task.intervals(result.outcomes) if isinstance(task, NodeLabel | GraphLabel) else None


def heuristics_for(task: SomeTask) -> list[str]:
    """Names of what needs no training and can do a task."""
    if isinstance(task, GraphLabel):
        return list(GRAPH_BASELINES)
    return [name for name, entry in models_for(task.kind).items() if entry.heuristic]


def heuristic(name: str, data: Data, task: SomeTask) -> LinkModel | NodeModel:
    """A heuristic by its name, built of the training split."""
    if isinstance(data, DGraphFin):
        return GRAPH_BASELINES[name](data.stream, data.y, data.train)
    return models_for(task.kind)[name].build(data.train)


def heuristics_beside(data: Data, task: SomeTask, refresh: int) -> dict[str, dict[str, float]]:
    """Metrics of all of them, to be shown beside a model's."""
    with one_thread():
        return {
            name: evaluate(heuristic(name, data, task), task, refresh=refresh).metrics
            for name in heuristics_for(task)
        }


@contextmanager
def one_thread() -> Iterator[None]:
    """Heuristics compare small matrices. A second thread gains nothing there, and where another program
    has the second core, threads that wait for each other made them five to ten times slower."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def most_suspect(
    folder: Path, file: RunFile, calibration: Calibration | None, graph: str | Path | Data | None, top: int
) -> Answer:
    """The test nodes that look most like frauds, of the graph it was trained on where no other is given."""
    if isinstance(graph, Dataset) or not file.spec.is_of_graph:
        raise InputError(f"{folder} is no run of a whole graph; ask it for destinations or scores.")
    if graph is None:
        data = file.spec.source.open_graph()
    else:
        data = graph if isinstance(graph, DGraphFin) else open_labelled_graph(graph)
    model = with_graph(open_model(folder, file), data)
    nodes = data.test.astype(np.int32)
    with torch.no_grad():
        scores = model.score(NodeQueries(nodes, np.zeros(len(nodes), dtype=np.int64)))[:, 0].cpu()  # type: ignore[arg-type]
    best = scores.topk(min(top, len(nodes)))
    columns = {"node": nodes[best.indices.numpy()], "score": finite(best.values.double().numpy())}
    likely = probabilities(calibration, columns["score"])
    if likely is not None:
        columns["probability"] = likely
    about = f"Of {len(nodes):,} test nodes of {data.stream.name}, whose labels training was not told."
    return Answer(pa.table(columns), about)
