"""A recipe: the arms of one table, the data they are for, and how they are trained and scored. TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from keat.errors import InputError, unknown_name
from keat.experiments.graph_job import GRAPH_LABEL, GraphJob
from keat.experiments.job import Job
from keat.experiments.sources import source_with
from keat.models.gearsage import GEARSAGE_CONFIGS
from keat.models.registry import ARCHITECTURES

BEST_HEURISTIC = "best heuristic"  # on a dataset: by its validation split


@dataclass(frozen=True, slots=True)
class Arm:
    """One row: a model with its settings, and what others published for it, by dataset."""

    label: str
    model: str
    config: dict[str, Any] = field(default_factory=dict)
    fit: dict[str, Any] = field(default_factory=dict)  # over the recipe's
    published: dict[str, float] = field(default_factory=dict)
    against: str | None = None  # label of the arm it is compared with, or BEST_HEURISTIC
    datasets: tuple[str, ...] = ()  # where it is affordable; none: everywhere
    sample: dict[str, int] = field(default_factory=dict)  # over the recipe's

    def is_for(self, data: str) -> bool:
        return not self.datasets or data in self.datasets

    @property
    def is_heuristic(self) -> bool:
        return self.model not in ARCHITECTURES and self.model not in GEARSAGE_CONFIGS


@dataclass(frozen=True, slots=True)
class Recipe:
    """One table. ``metric`` is what is compared; every metric of the task is in the ledger."""

    name: str
    title: str
    about: str
    metric: str
    datasets: tuple[str, ...]
    arms: tuple[Arm, ...]
    seeds: int
    also: tuple[str, ...] = ()  # other metrics of the test split that are shown
    task: str = "link-ranking"
    refresh: tuple[int, ...] = ()
    sample: dict[str, int] = field(default_factory=dict)  # by dataset
    fit: dict[str, Any] = field(default_factory=dict)
    reading: dict[str, dict[str, str]] = field(default_factory=dict)  # of files, by dataset; see `sources`
    minutes: dict[str, float] = field(default_factory=dict)  # to expect for one run, by dataset
    published_by: str = ""
    paper: str = ""  # labels of the table in the paper, if it is one of its

    def jobs(self, sources: Mapping[str, str], seeds: int | None = None) -> list[Job]:
        """Runs for the datasets at hand, by seed first: a whole table of one seed comes before the next."""
        kind = GraphJob if self.task == GRAPH_LABEL else Job
        return [
            kind(
                data=name,
                source=self._source(name, sources[name]),
                model=arm.model,
                seed=seed,
                config=arm.config,
                fit=self.fit | arm.fit,
                task=self.task,
                refresh=self.refresh,
                sample=(self.sample | arm.sample).get(name),
            )
            for name in self.datasets
            if name in sources
            for seed in range(1, (seeds or self.seeds) + 1)
            for arm in self.arms
            if arm.is_for(name) and (seed == 1 or not arm.is_heuristic)
        ]

    def _source(self, name: str, source: str) -> str:
        return source_with(source, self.reading.get(name, {})) if source != name else source


def load_recipe(name: str) -> Recipe:
    """A recipe that comes with keat, or the file of one's own."""
    if name.endswith(".toml"):
        path = Path(name)
        try:
            return _read(path.stem, path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{name} cannot be read ({error.strerror}).") from error
    if name not in recipe_names():
        raise unknown_name("table or figure", name, recipe_names())
    return _read(name, (_folder() / f"{name}.toml").read_text(encoding="utf-8"))


def recipe_names() -> list[str]:
    names = (entry.name for entry in _folder().iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def _folder() -> Any:
    return files("keat.experiments") / "recipes"


def _read(name: str, text: str) -> Recipe:
    try:
        content = tomllib.loads(text)
        if "like" in content:
            return _like(load_recipe(content.pop("like")), name, content)
        arms = tuple(Arm(**_as_tuples(arm)) for arm in content.pop("arms"))
        return Recipe(name=name, arms=arms, **_as_tuples(content))
    except (tomllib.TOMLDecodeError, TypeError, KeyError) as error:
        raise InputError(
            f"The recipe {name} is not one ({error}); see docs/reproduce.md for the form."
        ) from error


def _like(other: Recipe, name: str, content: dict[str, Any]) -> Recipe:
    """Another view of the same runs: some arms of a recipe, trained and scored as there."""
    arms = {arm.label: arm for arm in other.arms}
    labels = content.pop("arms")
    chosen = [replace(arms[label], published={}) for label in labels]
    alone = [arm if arm.against in labels else replace(arm, against=None) for arm in chosen]
    return replace(other, name=name, arms=tuple(alone), published_by="", **_as_tuples(content))


def _as_tuples(content: dict[str, Any]) -> dict[str, Any]:
    lists = [key for key in ("datasets", "refresh", "also") if isinstance(content.get(key), Sequence)]
    return content | {key: tuple(content[key]) for key in lists}
