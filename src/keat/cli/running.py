"""What verbs share when they run models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch

from keat.cli.console import progress_bar
from keat.datasets.loading import Dataset
from keat.errors import InputError, unknown_name
from keat.models.registry import LINK_MODELS, NODE_MODELS, create_link_model, create_node_model
from keat.tasks.link import LinkClassification, LinkRanking
from keat.tasks.making import make_task
from keat.tasks.node_property import NodeProperty
from keat.training.evaluate import evaluate
from keat.training.runs import evaluate_run, is_run

AnyTask = LinkRanking | LinkClassification | NodeProperty


def heuristics_for(task: AnyTask) -> list[str]:
    """Names of the heuristics that can do a task."""
    registry = NODE_MODELS if isinstance(task, NodeProperty) else LINK_MODELS
    return [name for name, entry in registry.items() if entry.heuristic]


def link_task(
    data: Dataset, split: Literal["val", "test"], kind: str, sample: int | None, seed: int
) -> LinkRanking | LinkClassification:
    """A link task of a split, or of a sample of it."""
    task = make_task(data, split, kind=kind)  # type: ignore[arg-type]
    if isinstance(task, NodeProperty):
        raise InputError(f"A link model cannot do {kind}; use link-ranking or link-classification.")
    return task if sample is None else task.sample(sample, seed)


def evaluate_by_name(name: str, data: Dataset, task: AnyTask, split: str, refresh: int) -> dict[str, Any]:
    """Evaluate a heuristic, or the run in a folder, and say all there is to say in plain values."""
    if is_run(name):
        if not isinstance(task, LinkRanking | LinkClassification):
            raise InputError(f"The run {name} predicts links, but the task is {task.kind}.")
        with progress_bar(name) as progress:
            result = evaluate_run(Path(name), data, task, split, refresh=refresh, progress=progress)
    else:
        _require_right_kind(name, task)
        create = create_node_model if isinstance(task, NodeProperty) else create_link_model
        model = create(name, data.train)
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
    return facts | {
        "refresh": refresh,
        **result.metrics,
        "events": result.events,
        "seconds": round(result.seconds, 3),
    }


def require_known(name: str) -> None:
    """A model's name, the word for all heuristics, or the folder of a run."""
    known = {**LINK_MODELS, **NODE_MODELS}
    if name in known or name == "heuristics" or is_run(name):
        return
    if "/" in name or Path(name).is_dir():
        raise InputError(
            f"{name} is not a keat run: it has no run.json; make one with keat train --out {name}."
        )
    raise unknown_name("model", name, [*known, "heuristics"])


def _require_right_kind(name: str, task: AnyTask) -> None:
    """A model of the other kind exists, so "unknown" would be the wrong word for it."""
    mine, other, what = LINK_MODELS, NODE_MODELS, "node properties"
    if isinstance(task, NodeProperty):
        mine, other, what = other, mine, "links"  # type: ignore[assignment]
    if name not in mine and name in other:
        raise InputError(f"{name} predicts {what}, but the task is {task.kind}; use {', '.join(mine)}.")
    if name in mine and not mine[name].heuristic:
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
