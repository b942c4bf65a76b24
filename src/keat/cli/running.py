"""What verbs share when they run models."""

from __future__ import annotations

from typing import Any

from keat.cli.console import progress_bar
from keat.datasets.loading import Dataset
from keat.models.registry import LINK_MODELS, NODE_MODELS, create_link_model, create_node_model
from keat.tasks.link import LinkClassification, LinkRanking
from keat.tasks.node_property import NodeProperty
from keat.training.evaluate import evaluate

AnyTask = LinkRanking | LinkClassification | NodeProperty


def heuristics_for(task: AnyTask) -> list[str]:
    """Names of the heuristics that can do a task."""
    registry = NODE_MODELS if isinstance(task, NodeProperty) else LINK_MODELS
    return [name for name, entry in registry.items() if entry.heuristic]


def evaluate_by_name(name: str, data: Dataset, task: AnyTask, split: str, refresh: int) -> dict[str, Any]:
    """Build a model from the training split, evaluate it, and say all there is to say in plain values."""
    create = create_node_model if isinstance(task, NodeProperty) else create_link_model
    model = create(name, data.train)
    with progress_bar(name) as progress:
        result = evaluate(model, task, refresh=refresh, progress=progress)
    facts: dict[str, Any] = {"model": name, "dataset": data.name, "split": split, "task": task.kind}
    if isinstance(task, LinkRanking):
        facts["candidates"] = task.candidates.width
    return facts | {
        "refresh": refresh,
        **result.metrics,
        "events": result.events,
        "seconds": round(result.seconds, 3),
    }
