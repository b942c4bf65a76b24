"""Tasks about nodes: how each is taught, which head reads the embeddings for it, and what it is seen beside.

A task that is added here, beside its class and its name (`keat.tasks`), can be trained, evaluated and asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from keat.datasets.loading import Dataset
from keat.models.registry import ATTRIBUTE_MODELS, LABEL_MODELS, NODE_MODELS, NodeEntry
from keat.tasks.edge_attribute import EdgeAttribute
from keat.tasks.node_label import NodeLabel
from keat.tasks.node_property import NodeProperty
from keat.tasks.task_factory import training_labels
from keat.training.attribute_lessons import AttributeLessons
from keat.training.lessons import Lessons
from keat.training.node_lessons import NodeLabelLessons, NodePropertyLessons


class Head(NamedTuple):
    """Which head (`keat.models.node_head.HEADS`), how wide, and which node its first class is."""

    kind: str
    size: int
    first_class: int = 0


@dataclass(frozen=True, slots=True)
class NodeTask:
    """What belongs to a kind of task. Its functions take the task of the validation split."""

    asks_for: str  # in the plural
    lessons: Callable[[Any, Dataset, int], Lessons]  # (task, data, events between two updates)
    head: Callable[[Any, bool], Head]  # (task, whether it may read plain counts and recencies, too)
    models: Mapping[str, NodeEntry]  # heuristics among them


def _property_lessons(task: NodeProperty, data: Dataset, batch_size: int) -> Lessons:  # noqa: ARG001
    return NodePropertyLessons(training_labels(task), batch_size)


def _property_head(task: NodeProperty, counts: bool) -> Head:  # noqa: ARG001
    return Head("node", task.labels.num_classes, task.labels.first_class)


def _label_lessons(task: NodeLabel, data: Dataset, batch_size: int) -> Lessons:  # noqa: ARG001
    return NodeLabelLessons(data.train, batch_size)


def _label_head(task: NodeLabel, counts: bool) -> Head:
    return Head("event+counts" if counts else "event", task.events.feature_dim)


def _attribute_lessons(task: EdgeAttribute, data: Dataset, batch_size: int) -> Lessons:  # noqa: ARG001
    return AttributeLessons(data.train, batch_size)


def _attribute_head(task: EdgeAttribute, counts: bool) -> Head:  # noqa: ARG001
    return Head("attribute", task.outputs)


NODE_TASKS: dict[str, NodeTask] = {
    "node-property": NodeTask("node properties", _property_lessons, _property_head, NODE_MODELS),
    "edge-attribute": NodeTask("attributes of events", _attribute_lessons, _attribute_head, ATTRIBUTE_MODELS),
    "node-label": NodeTask("labels of events", _label_lessons, _label_head, LABEL_MODELS),
}
