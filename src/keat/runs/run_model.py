"""Training the model of a spec into a folder, and getting it back out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import keat
from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.labelled_graph import graph_fingerprint
from keat.datasets.loading import Dataset
from keat.errors import InputError, KeatError
from keat.events.attributes import center_and_size
from keat.events.fingerprint import DataFacts
from keat.events.units import clock_of
from keat.models.contract import LearnedLinkModel, LearnedNodeModel
from keat.models.gearsage import GEARSage, GEARSageConfig
from keat.models.node_head import HEADS, AttributeHead, NodeHead
from keat.models.registry import add_head, assemble, build_graph_model, build_model
from keat.runs.facts import HeadFacts, RunFacts
from keat.runs.run_file import RunFile, read_run_file
from keat.runs.run_folder import RunFolder, load_best, load_parameters
from keat.runs.spec import RunSpec
from keat.tasks.edge_attribute import EdgeAttribute
from keat.tasks.graph_label import GraphLabel
from keat.tasks.link import LinkTask
from keat.tasks.task_factory import AnyTask
from keat.tasks.task_spec import TaskSpec
from keat.training.bfloat16 import require_bfloat16
from keat.training.fit import EpochReport, Watcher, fit
from keat.training.graph_lessons import GraphLessons
from keat.training.lessons import Lessons, LinkLessons
from keat.training.node_tasks import NODE_TASKS

Data = Dataset | DGraphFin
TrainedModel = LearnedLinkModel | LearnedNodeModel


@dataclass(frozen=True, slots=True)
class Trained:
    """What training wrote to a folder, and the epochs it had this time."""

    file: RunFile
    reports: list[EpochReport]


def train_run(
    spec: RunSpec,
    data: Data,
    folder: Path,
    *,
    resume: bool = False,
    device: str = "cpu",
    watchers: Sequence[Watcher] = (),
) -> Trained:
    """Train on the training split, choose the epoch by the task of the validation split, keep all in
    ``folder``."""
    if spec.fitting.bf16:
        require_bfloat16(device)
    task = task_of(spec, data, "val")
    with _enough_memory():
        model, head = _fresh_model(spec, data, task)
    model = model.to(device)
    stream = data.stream
    facts = RunFacts(
        data=facts_of(data),
        unit=stream.unit,
        sigma=model.sigma,
        num_nodes=stream.num_nodes,
        feature_dim=stream.feature_dim,
        asked=len(task),
        head=head,
        keat=keat.__version__,
    )
    file = RunFile(replace(spec, task=settled(spec.task, task)), facts)
    lessons = _lessons(spec, data, task, model)
    kept_in = RunFolder(folder, file, stream.ids, resume=resume)
    with _enough_memory(), kept_in as run:
        return Trained(file, fit(model, lessons, task, spec.fitting, run, watchers))


def settled(asked: TaskSpec, task: AnyTask | GraphLabel) -> TaskSpec:
    """The spec of a task with what the dataset decided: its kind, and against whom a positive is ranked."""
    negatives = task.strategy if isinstance(task, LinkTask) else None
    return replace(asked, kind=task.kind, negatives=negatives)  # type: ignore[arg-type]


def task_of(spec: RunSpec, data: Data, split: str) -> AnyTask | GraphLabel:
    """What the model of a spec is asked in a split."""
    if isinstance(data, DGraphFin):
        return GraphLabel(data, split)  # type: ignore[arg-type]
    if isinstance(spec.config, GEARSageConfig):
        raise InputError(f"{spec.model} reads whole graphs ('dgraphfin', or an .npz file), not {data.name}.")
    return spec.task.make(data, split)  # type: ignore[arg-type]


def open_model(folder: Path, file: RunFile, device: str = "cpu") -> TrainedModel:
    """The best model of a run, with the state it had after validation."""
    spec, facts = file.spec, file.facts
    config = spec.config

    def build() -> TrainedModel:
        if isinstance(config, GEARSageConfig):
            return GEARSage(facts.sigma, config).eval()
        clock = clock_of(facts.unit, config.clock)
        model: LearnedLinkModel = assemble(
            config, facts.num_nodes, facts.feature_dim, facts.sigma, clock
        ).eval()
        if facts.head is None:
            return model
        head = facts.head
        return add_head(model, HEADS[head.kind], head.size, frozen=head.frozen)

    with _enough_memory():
        model: TrainedModel = load_best(folder, build).to(device)
        return model


def facts_of(data: Data) -> DataFacts:
    """Which data they are."""
    if isinstance(data, DGraphFin):
        return DataFacts(data.stream.name, len(data.stream), graph_fingerprint(data))
    return DataFacts.of(data.name, data.stream)


def _fresh_model(
    spec: RunSpec, data: Data, task: AnyTask | GraphLabel
) -> tuple[TrainedModel, HeadFacts | None]:
    if isinstance(data, DGraphFin):
        if not isinstance(spec.config, GEARSageConfig):
            raise InputError(f"{spec.model} reads streams of events, not a whole labelled graph.")
        return build_graph_model(data.stream, data.y, spec.config, spec.fitting.seed), None
    assert not isinstance(spec.config, GEARSageConfig)  # `task_of` refuses that
    sigma = data.sigma(clock_of(data.stream.unit, spec.config.clock))
    model: LearnedLinkModel = build_model(data.train, spec.config, spec.fitting.seed, sigma)
    if isinstance(task, LinkTask):
        return model, None
    assert not isinstance(task, GraphLabel)
    headed, head = _node_model(model, spec, task)
    if isinstance(headed, AttributeHead) and isinstance(task, EdgeAttribute) and task.attribute == "value":
        assert data.train.labels is not None
        headed.scale_answers(*center_and_size(data.train.labels))
    return headed, head


def _node_model(encoder: LearnedLinkModel, spec: RunSpec, task: AnyTask) -> tuple[NodeHead, HeadFacts]:
    """The model of a node task, and what to keep of its head. If the spec names the run of an encoder, that
    has its parameters, and they stay as they are."""
    frozen = spec.encoder is not None
    if spec.encoder is not None:
        _load_encoder(encoder, spec, Path(spec.encoder))
    chosen = NODE_TASKS[task.kind].head(task, spec.counts)
    head = HeadFacts(chosen.kind, chosen.size, frozen, chosen.first_class)
    return add_head(encoder, HEADS[head.kind], head.size, frozen=frozen, seed=spec.fitting.seed), head


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


def _lessons(spec: RunSpec, data: Data, task: AnyTask | GraphLabel, model: TrainedModel) -> Lessons:
    if isinstance(data, DGraphFin):
        return GraphLessons(data)
    fitting = spec.fitting
    if isinstance(task, LinkTask):
        assert isinstance(model, LearnedLinkModel)
        return LinkLessons(
            data,
            fitting.batch_size,
            in_turn=model.trains_in_turn,
            recipe=fitting.recipe,
            loss=fitting.loss,
            negatives=fitting.negatives,
            historical=fitting.historical,
        )
    return NODE_TASKS[task.kind].lessons(task, data, fitting.batch_size)


@contextmanager
def _enough_memory() -> Iterator[None]:
    """Torch and numpy each have their own way to say that there is not."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
            raise
        raise KeatError(
            "There is not enough memory for a model of this size; choose smaller settings or a smaller "
            "batch size."
        ) from error
