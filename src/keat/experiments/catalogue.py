"""All tables and figures by name, and the state of each: what is measured, what is missing, how to get it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keat.experiments.computed import COMPUTED
from keat.experiments.ledger import Ledger
from keat.experiments.recipe import Recipe, load_recipe, recipe_names
from keat.experiments.runner import keys_of


def states(sources: Mapping[str, str], ledger: Path) -> list[dict[str, Any]]:
    """One entry a table or figure: name, title, where in the paper, state, and the command."""
    done = Ledger(ledger).keys()
    entries = [
        {
            "name": name,
            "title": entry.title,
            "paper": entry.paper,
            "state": "computed on demand",
            "command": f"keat reproduce {name}",
        }
        for name, entry in COMPUTED.items()
    ]
    entries += [_state(load_recipe(name), sources, done) for name in recipe_names()]
    return sorted(entries, key=lambda entry: entry["name"])


def _state(recipe: Recipe, sources: Mapping[str, str], done: set[str]) -> dict[str, Any]:
    here = [name for name in recipe.datasets if name in sources]
    missing = [name for name in recipe.datasets if name not in sources]
    finished = {
        name: _share(recipe, {name: sources[name]}, done) for name in here
    }  # a dataset is read for its fingerprint only if it was given
    said = [f"{name}: {finished[name]}" for name in here]
    if missing:
        said.append(f"not here: {', '.join(missing)}")
    return {
        "name": recipe.name,
        "title": recipe.title,
        "paper": recipe.paper,
        "state": "; ".join(said),
        "datasets": {"here": finished, "missing": missing},
        "command": f"keat reproduce {recipe.name} "
        + " ".join(f"--data {name}={sources.get(name, 'FILE')}" for name in recipe.datasets[:1]),
    }


def _share(recipe: Recipe, sources: Mapping[str, str], done: set[str]) -> str:
    keys = set(keys_of(recipe.jobs(sources)))
    return f"{len(keys & done)} of {len(keys)} runs"
