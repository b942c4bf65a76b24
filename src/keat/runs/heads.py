"""What a run of a node task has besides that of a link task: a head, and perhaps an encoder that is given."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from keat.errors import InputError
from keat.models.contract import LearnedLinkModel
from keat.models.node_head import HEADS, NodeHead
from keat.models.registry import add_head
from keat.runs.facts import HeadFacts
from keat.runs.run_file import read_run_file
from keat.runs.run_folder import load_parameters
from keat.runs.spec import RunSpec
from keat.tasks.making import AnyTask
from keat.training.node_tasks import NODE_TASKS


def node_model(encoder: LearnedLinkModel, spec: RunSpec, task: AnyTask) -> tuple[NodeHead, HeadFacts]:
    """The model of a node task, and what to keep of its head. If the spec names the run of an encoder, that
    has its parameters, and they stay as they are."""
    frozen = spec.encoder is not None
    if spec.encoder is not None:
        _load_encoder(encoder, spec, Path(spec.encoder))
    chosen = NODE_TASKS[task.kind].head(task, spec.counts)
    head = HeadFacts(chosen.kind, chosen.size, frozen, chosen.first_class)
    return add_head(encoder, HEADS[head.kind], head.size, frozen=frozen, seed=spec.fitting.seed), head


def open_head(encoder: LearnedLinkModel, head: HeadFacts) -> NodeHead:
    """The model of a run, its parameters still to be loaded."""
    return add_head(encoder, HEADS[head.kind], head.size, frozen=head.frozen)


def _load_encoder(encoder: LearnedLinkModel, spec: RunSpec, run: Path) -> None:
    there = read_run_file(run)
    if there.facts.head is not None:
        raise InputError(f"{run} was trained for a node task; an encoder is a run of links.")
    mine, theirs = asdict(spec.config), asdict(there.spec.config)
    if mine != theirs:
        different = sorted(key for key, value in mine.items() if theirs.get(key) != value)
        raise InputError(
            f"{run} is another model (different {', '.join(different) or 'kind'}); give the same options as "
            "it was trained with."
        )
    load_parameters(run, encoder)
