"""What a run of a node task has besides that of a link task: a head, and perhaps an encoder that is given."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.models.contract import LearnedLinkModel
from keat.models.node_head import HEADS, NodeHead
from keat.models.registry import add_head
from keat.tasks.making import training_labels
from keat.tasks.node_label import NodeLabel
from keat.tasks.node_property import NodeProperty
from keat.training.checkpoint import load_parameters
from keat.training.description import read_description
from keat.training.lessons import Lessons
from keat.training.node_lessons import NodeLabelLessons, NodePropertyLessons

NodeTask = NodeProperty | NodeLabel


def node_model(
    encoder: LearnedLinkModel, task: NodeTask, config: Any, seed: int, trained: Path | None, counts: bool
) -> tuple[NodeHead, dict[str, Any]]:
    """The model of a node task, and what to keep of it with the run. If the run ``trained`` is given, the
    encoder gets its parameters, and they stay as they are. With ``counts`` the head for labels of events
    reads plain counts and recencies, too."""
    about: dict[str, Any] = {"task": {"kind": task.kind, "asked": len(task)}}
    if isinstance(task, NodeProperty):
        head, size = "node", task.labels.num_classes
        about["task"]["protocol"] = task.protocol
    else:
        head, size = "event+counts" if counts else "event", task.events.feature_dim
    if trained is not None:
        _load_encoder(encoder, config, trained)
        about["encoder"] = str(trained)
    about["head"] = {"kind": head, "size": size, "frozen": trained is not None}
    if isinstance(task, NodeProperty):
        about["head"]["first_class"] = task.labels.first_class
    return add_head(encoder, HEADS[head], size, frozen=trained is not None, seed=seed), about


def open_head(encoder: LearnedLinkModel, head: dict[str, Any]) -> NodeHead:
    """The model of a run's description, its parameters still to be loaded."""
    return add_head(encoder, HEADS[head["kind"]], head["size"], frozen=head["frozen"])


def node_lessons(task: NodeTask, data: Dataset, batch_size: int) -> Lessons:
    if isinstance(task, NodeProperty):
        return NodePropertyLessons(training_labels(task), batch_size)
    return NodeLabelLessons(data.train, batch_size)


def _load_encoder(encoder: LearnedLinkModel, config: Any, run: Path) -> None:
    there = read_description(run)
    if "head" in there:
        raise InputError(f"{run} was trained for a node task; an encoder is a run of links.")
    if there["config"] != asdict(config):
        different = sorted(key for key, value in asdict(config).items() if there["config"].get(key) != value)
        raise InputError(
            f"{run} is another model (different {', '.join(different) or 'kind'}); give the same options as "
            "it was trained with."
        )
    load_parameters(run, encoder)
