"""`RunSpec`: everything that is decided about a run before it is trained, in one typed value.

The data and how they are read, split and labelled; the task; the model and its configuration; the fitting,
with the seed. Two runs of equal specs on equal data are equal to the bit. A spec is written to ``run.json``
as it is; `keat.runs.run_file` reads it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.labelled_graph import open_labelled_graph
from keat.datasets.loading import Dataset, is_settled, load
from keat.errors import InputError, unknown_name
from keat.events import Reading
from keat.events.splitting import HELD_OUT
from keat.models.gearsage import GEARSageConfig
from keat.models.registry import TRAINED, ModelConfig
from keat.runs.presets import Preset, usual_fit, usual_settings
from keat.tasks.label_source import LabelSource
from keat.tasks.task_spec import Kind, TaskSpec
from keat.training.fit import FitConfig

Progress = Callable[[int, int | None], None]  # (bytes done, bytes in all)


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Where the events are, how they are read and split, and where labels come from."""

    name: str | None = None  # a name of the registry or a path; None for what was given in memory
    reading: Reading = field(default_factory=Reading)
    held_out: tuple[float, float] = HELD_OUT  # shares of events for validation and test
    labels: LabelSource = field(default_factory=LabelSource)
    latest: int | None = None  # events that are taken, the last ones; None: all

    @classmethod
    def of(cls, data: Dataset, labels: LabelSource | None = None) -> Self:
        """The source of a dataset that is open."""
        return cls(data.origin, data.reading or Reading(), data.held_out, labels or LabelSource())

    def like(self, name: str, given: Reading) -> Self:
        """Another source, to be read, split and labelled as this one: columns have to be named only where
        they are called otherwise there."""
        own, settled = self.reading, is_settled(name)
        if given == Reading():
            return replace(self, name=name, reading=given if settled else own, latest=None)
        same = (given.features, given.categorical) == (own.features, own.categorical)
        label = own.label if given.label is None else given.label
        reading = replace(given, label=label, encoding=own.encoding if same else None)
        return replace(self, name=name, reading=reading, latest=None)

    def open(self, task: TaskSpec, progress: Progress | None = None) -> Dataset:
        """Read the data, with their labels."""
        reading = self.labels.reading(self.reading)
        data = load(self._known_name(), reading=reading, held_out=self.held_out, progress=progress)
        if self.latest is not None:
            data = latest_of(data, self.latest)
        return self.labels.label(data, task.labelled)

    def open_graph(self) -> DGraphFin:
        """Read the data where they are a whole labelled graph."""
        return open_labelled_graph(self._known_name())

    def _known_name(self) -> str:
        if self.name is None:
            raise InputError("The data were given in memory and are not kept with the run; give them again.")
        return self.name


def latest_of(data: Dataset, events: int) -> Dataset:
    """The last so many events of a dataset, which are then split."""
    if events < 1:
        raise InputError(f"The latest events must be at least one, not {events}.")
    return replace(data, stream=data.stream[-events:])


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What to train, on what, for which task, and how."""

    model: str
    config: ModelConfig
    fitting: FitConfig = field(default_factory=FitConfig)
    task: TaskSpec = field(default_factory=TaskSpec)
    source: SourceSpec = field(default_factory=SourceSpec)
    encoder: str | None = None  # a run of links whose model a node task uses as it is
    counts: bool = True  # whether the head for labels of events reads plain counts and recencies, too

    @property
    def is_of_graph(self) -> bool:
        """Whether it is about a whole graph, and not about a stream."""
        return isinstance(self.config, GEARSageConfig)

    @classmethod
    def of(
        cls,
        model: str,
        *,
        settings: Mapping[str, Any] | None = None,
        fitting: Mapping[str, Any] | None = None,
        preset: Preset = "usual",
        task: TaskSpec | None = None,
        source: SourceSpec | None = None,
        encoder: str | None = None,
        counts: bool = True,
        data: str = "",
    ) -> Self:
        """A spec with what is given in place of the defaults of the model and of its training. ``data`` is
        the name of the dataset, on which a preset may depend."""
        require_trainable(model)
        task, source = task or TaskSpec(kind="link-ranking"), source or SourceSpec()
        if encoder is not None and not task.is_of_nodes:
            raise InputError("An encoder is for node tasks: node-label or node-property, and edge-attribute.")
        usual = usual_settings(model, preset, data, features=bool(source.reading.features))
        return cls(
            model=model,
            config=configuration(model, **{**usual, **(settings or {})}),
            fitting=replace(usual_fit(model, task.kind, preset, data), **(fitting or {})),
            task=task,
            source=source,
            encoder=encoder,
            counts=counts,
        )


def require_trainable(name: str) -> None:
    if name not in TRAINED:
        raise unknown_name("trainable model", name, TRAINED)


def configuration(name: str, **changes: Any) -> Any:
    """The configuration of a trainable model, with what was given in place of its defaults."""
    require_trainable(name)
    config = TRAINED[name].config
    for key in changes:
        if not hasattr(config, key):
            raise InputError(f"{name} has no setting '{key}'; leave it out.")
    return replace(config, **changes)


@dataclass(frozen=True, slots=True)
class Choice:
    """What somebody chose who has a model trained. What they did not choose is the best we know for it."""

    reading: Reading = field(default_factory=Reading)
    labels: LabelSource = field(default_factory=LabelSource)
    task: TaskSpec = field(default_factory=TaskSpec)
    held_out: tuple[float, float] = HELD_OUT
    latest: int | None = None  # events that are taken, the last ones; None: all
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the model
    fitting: Mapping[str, Any] = field(default_factory=dict)
    preset: Preset = "usual"
    encoder: str | None = None
    counts: bool = True

    @classmethod
    def of(cls, model: str, kind: Kind | None, options: Mapping[str, Any], **others: Any) -> Self:
        """Sorts options by their names: each belongs to the reading, the labels, the task, the fitting or the
        model. ``others`` are further fields."""
        require_trainable(model)
        parts = (Reading, LabelSource, TaskSpec, FitConfig, type(TRAINED[model].config))
        known = [{setting.name for setting in fields(part)} for part in parts]
        known[0].discard("weight")  # labels say that
        known[2] -= {"kind", "seed", "number", "negatives"}
        for name in options:
            if not any(name in names for names in known):
                raise unknown_name(f"option of {model}", name, sorted(set().union(*known)))
        of_reading, of_labels, of_task, of_fitting, of_model = (
            {name: value for name, value in options.items() if name in names} for names in known
        )
        return cls(
            reading=Reading.of(**of_reading),
            labels=LabelSource(**of_labels),
            task=TaskSpec(kind=kind, **of_task),
            settings=of_model,
            fitting=of_fitting,
            **others,
        )
