"""A recipe is checked as a whole before anything is trained: a table that cannot be made costs no hour."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec

from keat.errors import InputError, KeatError, unknown_name
from keat.events.units import clock_of
from keat.experiments.job import FIT_OF_GRAPHS, GRAPH_LABEL, fit_of
from keat.experiments.line import COSTS, Settings
from keat.experiments.published import published
from keat.experiments.sources import source_of
from keat.models.architectures import ARCHITECTURES
from keat.models.gearsage import GEARSageConfig
from keat.models.registry import (
    ATTRIBUTE_MODELS,
    GRAPH_ARCHITECTURES,
    GRAPH_BASELINES,
    LINK_MODELS,
    NODE_MODELS,
    TRAINED,
    assemble,
    embeds_events,
)
from keat.runs.presets import usual_fit
from keat.runs.spec import configuration
from keat.tasks.task_spec import Kind, TaskSpec
from keat.training.fit import FitConfig

if TYPE_CHECKING:
    from keat.experiments.recipe import Arm, Recipe

METRICS = {  # of each task a recipe can be of
    "link-ranking": ("mrr", "hits@1", "hits@3", "hits@10"),
    "link-classification": ("ap", "auc", "ap_batch_mean", "auc_batch_mean"),
    "node-property": ("ndcg@10",),
    "edge-attribute": ("auc", "ap", "accuracy", "log_loss", "skill", "mae"),  # by what the target is
    GRAPH_LABEL: ("auc", "ap"),
}
MODELS_OF: dict[str, Collection[str]] = {  # but of links
    "node-property": NODE_MODELS,
    "edge-attribute": {
        *ATTRIBUTE_MODELS,
        *(name for name, entry in ARCHITECTURES.items() if embeds_events(entry)),
    },
}
BEST_HEURISTIC = "best heuristic"  # on a dataset: by its validation split
OVER_HEURISTIC = "over_heuristic"  # a column: how far the metric is above that of the best heuristic
BESIDE = ("loss", *COSTS, OVER_HEURISTIC)  # what can be shown besides metrics of the test split


def require_sound(recipe: Recipe) -> None:
    """Everything in it is of the right type, and every name is known."""
    try:
        _require_types(recipe, "")
        _require_names(recipe)
        for arm in recipe.arms:
            _require_arm(arm, recipe)
    except KeatError as error:
        raise InputError(f"The recipe {recipe.name} cannot be run: {error}") from error


def _require_names(recipe: Recipe) -> None:
    if recipe.usual and recipe.preset:
        raise InputError("It is trained as usual or by a preset, not by both; leave one out.")
    if recipe.task not in METRICS:
        raise unknown_name("task", str(recipe.task), METRICS)
    known = METRICS[recipe.task]
    _require_known(f"metric of {recipe.task}", [recipe.metric], known)
    theirs = [number.metric for number in published(recipe.name) if number.metric is not None]
    _require_known(f"metric of {recipe.task}", [*recipe.also, *theirs], [*known, *BESIDE])
    labels = [arm.label for arm in recipe.arms]
    for what, values in (("datasets", recipe.datasets), ("arms", labels)):
        if not values or not all(values):
            raise InputError(f"It needs at least one of its {what}, each with a name.")
        if len({*values}) < len(values):
            raise InputError(f"Two of its {what} have the same name.")
    _require_known("dataset in sample", recipe.sample, recipe.datasets)
    _require_known("dataset in reading", recipe.reading, recipe.datasets)
    for reading in recipe.reading.values():
        source_of("", reading)
    numbers = {"seeds": [recipe.seeds], "refresh": recipe.refresh, "sample": recipe.sample.values()}
    _require_positive(numbers)


def _require_arm(arm: Arm, recipe: Recipe) -> None:
    _require_types(arm, f" of the arm '{arm.label}'")
    if recipe.task == GRAPH_LABEL:
        models: Iterable[str] = {**GRAPH_ARCHITECTURES, **GRAPH_BASELINES}
    else:
        models = MODELS_OF.get(recipe.task, LINK_MODELS)
    _require_known(f"model of {recipe.task}", [arm.model], models)
    _require_known("dataset of an arm", [*arm.datasets, *arm.sample], recipe.datasets)
    others = [other.label for other in recipe.arms]
    _require_known("arm to compare with", [arm.against] if arm.against else [], [*others, BEST_HEURISTIC])
    _require_positive({"sample": arm.sample.values()})
    if not recipe.task.startswith("link-") and (recipe.sample or arm.sample):
        raise InputError(f"Only link tasks are sampled; leave the sample of {recipe.task} out.")
    _require_fit({**recipe.fit, **arm.fit}, recipe.task)
    if arm.model not in TRAINED:
        if arm.config:
            raise InputError(f"{arm.model} is a heuristic without settings, but '{arm.label}' has a config.")
        return
    if recipe.usual or recipe.preset:
        own = usual_fit(arm.model, recipe.task, recipe.preset or "usual")
        replace(own, **{**recipe.fit, **arm.fit})  # which go together
    _require_settings(f"the config of '{arm.label}'", arm.config, type(TRAINED[arm.model].config))
    _require_built(arm)


def _require_fit(fit: Settings, task: Kind) -> None:
    """An epoch of a whole graph is one step, so there are fewer settings."""
    hints = get_type_hints(FitConfig)
    known = [name for name in hints if task != GRAPH_LABEL or name in FIT_OF_GRAPHS]
    _require_settings("[fit]", fit, FitConfig, hints.keys() - known | {"seed"})
    counts = ("epochs", "patience", "batch_size", "negatives", "validate_every")
    _require_positive({name: [fit[name]] for name in counts if name in fit})
    replace(fit_of(TaskSpec(kind=task)), **fit)  # which looks at the rest


def _require_built(arm: Arm) -> None:
    """A model of this configuration can be made, if only for two nodes."""
    try:
        config = configuration(arm.model, **arm.config)
        if not isinstance(config, GEARSageConfig):
            assemble(config, 2, 0, 1.0, clock_of("s", config.clock))
    except KeatError:
        raise
    except Exception as error:  # whatever torch makes of sizes that make no sense
        raise InputError(f"No model can be made with the config of '{arm.label}' ({error}).") from error


def _require_settings(where: str, given: Settings, kind: type, besides: Iterable[str] = ()) -> None:
    known = {name: hint for name, hint in get_type_hints(kind).items() if name not in besides}
    _require_known(f"setting in {where}", given, known)
    for name, value in given.items():
        if not _fits(value, known[name]):
            raise InputError(f"'{name}' in {where} cannot be {value!r}.")


def _require_types(checked: Any, of: str) -> None:
    for name, hint in get_type_hints(type(checked)).items():
        value = getattr(checked, name)
        if name not in ("arms", "task") and not _fits(value, hint):  # which are looked at by themselves
            raise InputError(f"'{name}'{of} cannot be {value!r}.")


def _require_known(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    for name in names:
        if name not in known:
            raise unknown_name(kind, name, known)


def _require_positive(numbers: Mapping[str, Iterable[int]]) -> None:
    for name, values in numbers.items():
        if any(value < 1 for value in values):
            raise InputError(f"'{name}' must be at least 1.")


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value of a TOML file is what a field of a dataclass wants. "Not a number" fits nowhere."""
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError:
        return False
    of_numbers = isinstance(value, dict) and hint != Settings  # settings are looked at one by one
    numbers = value.values() if of_numbers else [value]
    return not any(isinstance(number, float) and math.isnan(number) for number in numbers)
