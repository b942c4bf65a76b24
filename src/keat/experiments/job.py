"""One run of one arm on one dataset with one seed, and the name it goes by."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import keat
from keat.experiments.code_fingerprint import Code, code_of
from keat.experiments.line import Settings
from keat.experiments.sources import how_read
from keat.models.architectures import ARCHITECTURES
from keat.models.registry import (
    ATTRIBUTE_MODELS,
    GRAPH_BASELINES,
    LABEL_MODELS,
    LINK_MODELS,
    NODE_MODELS,
    TRAINED,
    has_pair_term,
)
from keat.runs.presets import WHOLE_GRAPH
from keat.runs.run_model import Data, facts_of
from keat.runs.spec import RunSpec, SourceSpec, configuration
from keat.tasks.task_spec import Kind, TaskSpec
from keat.training.fit import FitConfig

GRAPH_LABEL: Kind = "graph-label"
# Defaults of models that have changed since, as they were when lines of ledgers were first written: a line
# tells what differs from them.
FIRST_DEFAULTS: dict[str, Settings] = {"keat-rank": {"edition": 1}}
FIT_OF_GRAPHS = ("epochs", "patience", "lr", "clip", "seed", "validate_every")  # in the name of such a run


@dataclass(frozen=True, slots=True)
class Untrained:
    """What is scored as it is: a heuristic of streams, or a baseline of whole graphs."""

    model: str
    task: TaskSpec
    source: SourceSpec = field(default_factory=SourceSpec)


@dataclass(frozen=True, slots=True)
class Job:
    """What to train, if it is trained, and how to score it. Equal jobs on equal data have equal keys."""

    data: str  # what the user calls the dataset
    spec: RunSpec | Untrained
    refresh: tuple[int, ...] = ()  # of the test split; none: the model's own
    arm: str = ""  # label of the row of the table that it is for

    @property
    def model(self) -> str:
        return self.spec.model

    @property
    def seed(self) -> int:
        """There is nothing random in what is not trained."""
        return self.spec.fitting.seed if isinstance(self.spec, RunSpec) else 1

    @property
    def is_heuristic(self) -> bool:
        return isinstance(self.spec, Untrained)

    @property
    def is_of_graph(self) -> bool:
        return self.spec.task.kind == GRAPH_LABEL

    @property
    def model_files(self) -> tuple[str, ...]:
        """The modules its model is at home in: runs of one class of models have the same."""
        if self.model in TRAINED:
            entry = TRAINED[self.model]
            return (entry.kind.__module__, type(entry.config).__module__)
        for known in (LINK_MODELS, NODE_MODELS, LABEL_MODELS, ATTRIBUTE_MODELS):
            if self.model in known:
                build: Any = known[self.model].build
                while isinstance(build, partial):
                    build = build.func
                home = build.__module__
                return ("keat.models.forecasts" if home.endswith(".registry") else home,)
        return (GRAPH_BASELINES[self.model].__module__,)

    def code(self) -> Code:
        """That of the sources this process runs from."""
        spec, more = self.spec, tuple[str, ...]()
        if isinstance(spec, RunSpec) and has_pair_term(spec.config):
            more = ("keat.models.with_pair_term", "keat.models.rank")
        return code_of((*self.model_files, *more), str(spec.task.kind))

    def open(self) -> Data:
        """The data, with their labels."""
        source = self.spec.source
        return source.open_graph() if self.is_of_graph else source.open(self.spec.task)

    def fingerprint(self, data: Data | None = None) -> str:
        """Of the data and of how they are read; ``data`` are those of the job, if they are open already."""
        return facts_of(self.open() if data is None else data).fingerprint + how_read(self.spec.source)

    def training_key(self, fingerprint: str) -> str:
        """A name by content for what is trained: every choice, the data and the version of the code."""
        more = self._of_graph() if self.is_of_graph else self._of_stream()
        return _digest({"keat": keat.__version__, "data": fingerprint, "model": self.model, **more})

    def key(self, fingerprint: str) -> str:
        """A name for the result: what was trained and how it was scored."""
        return _digest({"trained": self.training_key(fingerprint), "refresh": self.refresh})

    def _of_stream(self) -> Settings:
        spec = self.spec
        content: dict[str, object] = {
            "model": _plain_name(spec.model),
            "task": spec.task.kind,
            "sample": spec.task.sample,
        }
        if isinstance(spec, RunSpec):
            content |= {"config": _choices(spec.config), "fit": _choices(spec.fitting)}
        return content

    def _of_graph(self) -> Settings:
        spec = self.spec
        if isinstance(spec, Untrained):
            return {}
        fit = {name: getattr(spec.fitting, name) for name in FIT_OF_GRAPHS}
        return {"config": asdict(spec.config), "fit": fit}


def spec_of(
    model: str, config: Settings, fit: Settings, seed: int, task: TaskSpec, source: SourceSpec
) -> RunSpec | Untrained:
    """Of settings over the defaults of the model, and of training over those of the task (`fit_of`)."""
    if model not in TRAINED:
        return Untrained(model, task, source)
    fitting = replace(fit_of(task), **fit, seed=seed)
    return RunSpec(model, configuration(model, **config), fitting, task, source)


def told_over(model: str) -> Any:
    """The configuration over which a line tells that of its run."""
    return configuration(model, **FIRST_DEFAULTS.get(model, {}))


def fit_of(task: TaskSpec) -> FitConfig:
    """What the settings of a recipe are given over: the same for every arm, whatever suits a model best."""
    return WHOLE_GRAPH if task.kind == GRAPH_LABEL else FitConfig()


def _plain_name(model: str) -> str:
    """`keat-tgn` is `tgn` with a kernel: one run serves tables that call it either."""
    if model not in ARCHITECTURES:
        return model
    return next(name for name, its in ARCHITECTURES.items() if its.kind is ARCHITECTURES[model].kind)


def _choices(settings: Any) -> Settings:
    """What differs from the defaults, so that a setting added later renames nothing that was run before."""
    return changes(settings, type(settings)())


def changes(settings: Any, defaults: Any) -> Settings:
    """Values of a dataclass that differ from those of another."""
    before = asdict(defaults)
    return {name: value for name, value in asdict(settings).items() if value != before[name]}


def _digest(content: Settings) -> str:
    text = json.dumps(content, sort_keys=True).encode()
    return hashlib.blake2b(text, digest_size=8).hexdigest()
