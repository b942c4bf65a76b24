"""What verbs share when they run models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch

from keat.cli.console import progress_bar
from keat.cli.node_options import LabelOptions
from keat.datasets.loading import Dataset
from keat.disk import look_at
from keat.errors import InputError, unknown_name
from keat.models.registry import LABEL_MODELS, LINK_MODELS, NODE_MODELS
from keat.tasks.link import LinkClassification, LinkRanking
from keat.tasks.making import make_task
from keat.tasks.node_label import NodeLabel
from keat.tasks.node_property import NodeProperty
from keat.training.description import read_description, require_run
from keat.training.evaluate import Evaluation, evaluate
from keat.training.runs import evaluate_run, is_run

AnyTask = LinkRanking | LinkClassification | NodeProperty | NodeLabel
MODELS: dict[str, Mapping[str, Any]] = {  # by what they predict
    "links": LINK_MODELS,
    "node properties": NODE_MODELS,
    "labels of events": LABEL_MODELS,
}


def heuristics_for(task: AnyTask) -> list[str]:
    """Names of the heuristics that can do a task."""
    return [name for name, entry in MODELS[predicted(task)].items() if entry.heuristic]


def predicted(task: AnyTask) -> str:
    """What a task asks for."""
    if isinstance(task, NodeProperty):
        return "node properties"
    return "labels of events" if isinstance(task, NodeLabel) else "links"


def task_of(
    data: Dataset,
    split: Literal["val", "test"],
    kind: str | None,
    labels: LabelOptions,
    sample: int | None,
    sample_seed: int,
    **negatives: Any,
) -> AnyTask:
    """The task of a split, or of a sample of it; ``negatives`` is what `make_task` takes about them."""
    end, protocol = labels.labelled, labels.protocol
    task = make_task(data, split, kind=kind, protocol=protocol, end=end, **negatives)  # type: ignore[arg-type]
    if sample is None:
        return task
    if isinstance(task, NodeProperty | NodeLabel):
        raise InputError("--eval-sample is for link tasks; node tasks are quick to ask in full.")
    return task.sample(sample, sample_seed)


def intervals_of(task: AnyTask, result: Evaluation) -> dict[str, tuple[float, float]] | None:
    """95 % intervals, of a task that has them."""
    return task.intervals(result.outcomes) if isinstance(task, NodeLabel) else None


def heuristics_beside(data: Dataset, task: AnyTask, refresh: int) -> dict[str, dict[str, float]]:
    """Metrics of the heuristics of a task, to be shown beside a model's."""
    with _one_thread():
        return {
            name: evaluate(MODELS[predicted(task)][name].build(data.train), task, refresh=refresh).metrics
            for name in heuristics_for(task)
        }


def evaluate_by_name(name: str, data: Dataset, task: AnyTask, split: str, refresh: int) -> dict[str, Any]:
    """Evaluate a heuristic, or the run in a folder, and say all there is to say in plain values."""
    if is_run(name):
        what = predicted_by_run(name)
        if what != predicted(task):
            raise InputError(f"The run {name} predicts {what}, but the task is {task.kind}.")
        with progress_bar(name) as progress:
            result = evaluate_run(Path(name), data, task, split, refresh=refresh, progress=progress)
    else:
        _require_right_kind(name, task)
        model = MODELS[predicted(task)][name].build(data.train)
        with progress_bar(name) as progress, _one_thread():
            result = evaluate(model, task, refresh=refresh, progress=progress)
    facts: dict[str, Any] = {"model": name, "dataset": data.name, "split": split, "task": task.kind}
    if isinstance(task, LinkRanking):
        facts["candidates"] = task.candidates.width
        negatives = task.candidates.negatives_per_positive()
        counts = {"fewest": int(negatives.min()), "most": int(negatives.max())}
        facts["negatives"] = {"strategy": task.strategy, **counts}
    elif isinstance(task, LinkClassification):
        facts["negatives"] = {"strategy": task.strategy, "fewest": 1, "most": 1}
    if result.standard_errors is not None:
        facts["standard_errors"] = result.standard_errors
    if isinstance(task, NodeLabel):
        facts["intervals"] = task.intervals(result.outcomes)
    return facts | {
        "refresh": refresh,
        **result.metrics,
        "events": result.events,
        "seconds": round(result.seconds, 3),
    }


def require_known(name: str) -> None:
    """A model's name, the word for all heuristics, or the folder of a run."""
    known = {name: entry for models in MODELS.values() for name, entry in models.items()}
    if name in known or name == "heuristics" or is_run(name):
        return
    if "/" in name or look_at(Path(name)) is not None:
        require_run(Path(name))
    raise unknown_name("model", name, [*known, "heuristics"])


def run_description(name: str) -> dict[str, Any]:
    """What a run is; empty for what is no run."""
    return read_description(Path(name)) if is_run(name) else {}


def predicted_by_run(name: str) -> str:
    """What a run was trained to predict."""
    description = run_description(name)
    if "head" not in description:
        return "links"
    return "node properties" if description["head"]["kind"] == "node" else "labels of events"


def _require_right_kind(name: str, task: AnyTask) -> None:
    """A model of another kind exists, so "unknown" would be the wrong word for it."""
    mine = MODELS[predicted(task)]
    if name not in mine:
        what = next(what for what, models in MODELS.items() if name in models)
        raise InputError(
            f"{name} predicts {what}, but the task is {task.kind}; use {', '.join(heuristics_for(task))}."
        )
    if not mine[name].heuristic:
        raise InputError(
            f"{name} has to be trained first: keat train {name} DATASET --out RUN; then evaluate RUN instead."
        )


@contextmanager
def _one_thread() -> Iterator[None]:
    """Heuristics compare small matrices. A second thread gains nothing there, and where another program
    has the second core, threads that wait for each other made them five to ten times slower."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
