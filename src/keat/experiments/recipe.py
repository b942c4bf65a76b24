"""A recipe: the arms of one table, the data they are for, and how they are trained and scored. TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from keat.disk import is_file, reading, reason_of
from keat.errors import InputError, unknown_name
from keat.experiments.job import Job, spec_of
from keat.experiments.line import Settings
from keat.experiments.recipe_checking import BEST_HEURISTIC, require_sound
from keat.experiments.sources import source_of
from keat.models.registry import TRAINED
from keat.runs.presets import Preset, usual_fit, usual_settings
from keat.tasks.task_spec import Kind, TaskSpec

__all__ = ["BEST_HEURISTIC", "Arm", "Recipe", "load_recipe", "recipe_names"]


@dataclass(frozen=True, slots=True)
class Arm:
    """One row: a model with its settings, and what others published for it, by dataset."""

    label: str
    model: str
    config: Settings = field(default_factory=dict)  # over the model's defaults
    fit: Settings = field(default_factory=dict)  # over the recipe's
    published: Mapping[str, float] = field(default_factory=dict)
    against: str | None = None  # label of the arm it is compared with, or BEST_HEURISTIC
    datasets: tuple[str, ...] = ()  # where it is affordable; none: everywhere
    sample: Mapping[str, int] = field(default_factory=dict)  # over the recipe's

    def is_for(self, data: str) -> bool:
        return not self.datasets or data in self.datasets

    @property
    def is_heuristic(self) -> bool:
        return self.model not in TRAINED


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
    task: Kind = "link-ranking"
    refresh: tuple[int, ...] = ()
    sample: Mapping[str, int] = field(default_factory=dict)  # by dataset
    fit: Settings = field(default_factory=dict)
    usual: bool = False  # whether an arm is trained as its model usually is, but for what ``fit`` says
    preset: Preset | None = None  # the same by a published setting: "paper" or "tgb"
    reading: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # of files, by dataset
    published_by: str = ""
    paper: str = ""  # labels of the table in the paper, if it is one of its

    def jobs(self, sources: Mapping[str, str], seeds: int | None = None) -> list[Job]:
        """Runs for the datasets at hand, by seed first: a whole table of one seed comes before the next."""
        return [
            self._job(arm, name, sources[name], seed)
            for name in self.datasets
            if name in sources
            for seed in range(1, (seeds or self.seeds) + 1)
            for arm in self.arms
            if arm.is_for(name) and (seed == 1 or not arm.is_heuristic)
        ]

    def _job(self, arm: Arm, data: str, place: str, seed: int) -> Job:
        reading = self.reading.get(data, {}) if place != data else {}  # what has a name is read in its way
        task = TaskSpec(kind=self.task, sample={**self.sample, **arm.sample}.get(data))
        preset: Preset | None = "usual" if self.usual else self.preset
        own, settings = dict[str, Any](), dict[str, Any]()
        if preset is not None and not arm.is_heuristic:
            own = asdict(usual_fit(arm.model, self.task, preset, data))
            settings = usual_settings(arm.model, preset, data)
        own.pop("seed", None)
        fit, config = {**own, **self.fit, **arm.fit}, {**settings, **arm.config}
        spec = spec_of(arm.model, config, fit, seed, task, source_of(place, reading))
        return Job(data, spec, self.refresh, arm.label)


def load_recipe(name: str) -> Recipe:
    """A recipe that comes with keat, or the file of one's own. What cannot be run is refused here."""
    if name.endswith(".toml"):
        path = Path(name)
        if not is_file(path):
            raise InputError(f"There is no recipe {name}; give a .toml file, or one of keat reproduce list.")
        try:
            with reading(path):
                text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{name} cannot be read ({reason_of(error)}).") from error
        return _read(path.stem, text)
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
        arms = content.pop("arms", [])
        if not isinstance(arms, list):
            raise InputError(f"The recipe {name} has no list of arms.")
        recipe = _like(name, arms, content) if "like" in content else _alone(name, arms, content)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(
            f"The recipe {name} is not one ({error}); see docs/use/reproduce.md for the form."
        ) from error
    require_sound(recipe)
    return recipe


def _alone(name: str, arms: list[Any], content: Settings) -> Recipe:
    for arm in arms:
        _require_entries(f"an arm of the recipe {name}", arm, Arm)
    _require_entries(f"the recipe {name}", {"name": name, "arms": arms, **content}, Recipe)
    return Recipe(name=name, arms=tuple(Arm(**_as_tuples(arm)) for arm in arms), **_as_tuples(content))


def _like(name: str, labels: list[Any], content: dict[str, Any]) -> Recipe:
    """Another view of the same runs: some arms of a recipe, trained and scored as there."""
    other = load_recipe(str(content.pop("like")))
    arms = {arm.label: arm for arm in other.arms}
    for label in labels:
        if label not in arms:
            raise unknown_name(f"arm of {other.name}", str(label), arms)
    chosen = [replace(arms[label], published={}) for label in labels]
    alone = [arm if arm.against in labels else replace(arm, against=None) for arm in chosen]
    whole = {entry.name: getattr(other, entry.name) for entry in fields(other)} | content
    _require_entries(f"the recipe {name}", whole, Recipe)
    return replace(other, name=name, arms=tuple(alone), published_by="", **_as_tuples(content))


def _require_entries(what: str, content: Any, kind: type[Arm] | type[Recipe]) -> None:
    """Every entry that has no default is there, and no entry is unknown."""
    known = {entry.name: entry for entry in fields(kind)}
    if not isinstance(content, dict):
        raise InputError(f"In {what}, {content!r} is no table; see docs/use/reproduce.md for the form.")
    for name in content:
        if name not in known:
            raise unknown_name(f"entry of {what}", name, known)
    for name, entry in known.items():
        if name not in content and entry.default is MISSING and entry.default_factory is MISSING:
            raise InputError(f"There is no '{name}' in {what}; see docs/use/reproduce.md for the form.")


def _as_tuples(content: Settings) -> Settings:
    lists = [key for key in ("datasets", "refresh", "also") if isinstance(content.get(key), list)]
    return {**content, **{key: tuple(content[key]) for key in lists}}
