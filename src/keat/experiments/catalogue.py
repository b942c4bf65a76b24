"""All tables and figures by name, and the state of each cell: what is measured, what others have, what is
missing, and the command that would get it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from keat.datasets.cache import raw_folder
from keat.datasets.registry import DATASETS
from keat.experiments.computed import COMPUTED, PAPER_SIZES, Computed, parameter_counts
from keat.experiments.graph_job import GRAPH_LABEL
from keat.experiments.ledger import USUAL_LEDGER
from keat.experiments.measured import measured
from keat.experiments.published import published
from keat.experiments.recipe import Recipe, load_recipe, recipe_names
from keat.experiments.tables import Lines, table_of

EXPLAINED = {  # in the paper, with nothing in them that could be measured
    "table-notation": ("Symbols of the paper", "tab:notation", "a list of symbols: nothing to measure"),
    "figure-mismatch": (
        "Nodes change slowly, edges fast",
        "fig:temporal-mismatch",
        "a drawing: nothing to measure; figure-gaps has the gaps of real data",
    ),
}


def states(sources: Mapping[str, str], ledger: Path) -> list[dict[str, Any]]:
    """One entry a table or figure: name, title, where in the paper, state, cells, and the command."""
    entries: list[dict[str, Any]] = [
        {"name": name, "title": title, "paper": paper, "state": state, "cells": [], "command": None}
        for name, (title, paper, state) in EXPLAINED.items()
    ]
    entries += [_computed(name, entry, sources, ledger) for name, entry in COMPUTED.items()]
    entries += [_of_recipe(load_recipe(name), sources, ledger) for name in recipe_names()]
    return sorted(entries, key=lambda entry: entry["name"])


def all_names() -> list[str]:
    """Everything that `keat reproduce` knows."""
    return sorted([*EXPLAINED, *COMPUTED, *recipe_names()])


def how_to_get(
    table: str, data: str, sources: Mapping[str, str], ledger: Path = USUAL_LEDGER, suffix: str = ".parquet"
) -> dict[str, Any]:
    """What is missing for a dataset, if anything, and the command that runs the table with it."""
    run = _command(table, [data], sources, ledger)
    info = DATASETS.get(data)
    if data in sources:
        return {"why": None, "command": run}
    if info is None:
        file = f"{data}{suffix}"
        return {"why": f"{file} was not given", "command": f"{run} --data {data}={file}"}
    files = ", ".join(info.raw_files)
    why = f"{files} {'are' if len(info.raw_files) > 1 else 'is'} not in {raw_folder(data)}"
    if info.url is None:
        return {"why": f"{why}; its owners hand it out by hand", "command": f"{run} --data {data}={files}"}
    return {"why": why, "command": f"keat data get {data} && {run}"}


def _command(table: str, datasets: Iterable[str], sources: Mapping[str, str], ledger: Path) -> str:
    """As it is typed: with the files given, and with the ledger, without which finished runs would start
    again."""
    words = ["keat", "reproduce", table]
    for data in datasets:
        if sources.get(data, data) != data:
            words += ["--data", f"{data}={sources[data]}"]
    return shlex.join(words + (["--ledger", str(ledger)] if ledger != USUAL_LEDGER else []))


def _of_recipe(recipe: Recipe, sources: Mapping[str, str], ledger: Path) -> dict[str, Any]:
    results = measured(recipe, sources, ledger)
    suffix = ".npz" if recipe.task == GRAPH_LABEL else ".parquet"
    places = {data: how_to_get(recipe.name, data, sources, ledger, suffix) for data in recipe.datasets}
    here = [data for data in recipe.datasets if data in sources]
    planned = recipe.jobs({name: name for name in recipe.datasets})
    runs = {
        data: (sum(job.data == data for job, _ in results), sum(job.data == data for job in planned))
        for data in recipe.datasets
    }
    said = [f"{data}: {done} of {of} runs" for data, (done, of) in runs.items() if done or data in sources]
    missing = [data for data, (done, _) in runs.items() if not done and data not in sources]
    return {
        "name": recipe.name,
        "title": recipe.title,
        "paper": recipe.paper,
        "state": "; ".join([*said, *([f"not here: {', '.join(missing)}"] if missing else [])]),
        "datasets": {data: {"runs": runs[data][0], "of": runs[data][1], **places[data]} for data in runs},
        "cells": [cell for data in recipe.datasets for cell in _cells(recipe, data, results, places[data])],
        "command": _command(recipe.name, here, sources, ledger)
        if here
        else places[recipe.datasets[0]]["command"],
    }


def _cells(recipe: Recipe, data: str, results: Lines, place: Mapping[str, Any]) -> list[dict[str, Any]]:
    table = table_of(recipe, data, results)
    rows = {row["label"]: row for row in table["rows"]}
    cells: list[dict[str, Any]] = []
    for arm in recipe.arms:
        if not arm.is_for(data):
            continue
        row = rows.get(arm.label)
        cell: dict[str, Any] = {
            "row": arm.label,
            "data": data,
            "metric": recipe.metric,
            **_published(recipe, arm.label, data),
        }
        if row is not None:
            seeds = 1 if arm.is_heuristic else recipe.seeds
            cell |= {"state": "measured", "val": row["val"], "test": row["test"]}
            cell |= {"seeds": row["seeds"], "of": seeds}
            cell |= place if row["seeds"] < seeds else {}  # how to get the others
        else:
            cell |= {"state": "to run" if place["why"] is None else "data missing", **place}
        cells.append(cell)
    known = {arm.label for arm in recipe.arms}
    cells += [
        {"row": other["label"], "data": data, "metric": recipe.metric, "state": "published only"}
        | _published(recipe, other["label"], data)
        for other in table["others"]
        if other["label"] not in known
    ]
    return cells


def _published(recipe: Recipe, label: str, data: str) -> dict[str, dict[str, str]]:
    """{"paper": {"test": …, "val": …}, "leaderboard": …} as far as they have it."""
    found: dict[str, dict[str, str]] = {}
    for number in published(recipe.name):
        if (number.row, number.data) == (label, data):
            other = number.metric not in (None, recipe.metric)
            what = f"{number.split} {number.metric}" if other else number.split
            found.setdefault(number.by, {})[what] = str(number)
    return found


def _computed(name: str, entry: Computed, sources: Mapping[str, str], ledger: Path) -> dict[str, Any]:
    ledger = ledger if entry.reads_ledger else USUAL_LEDGER
    made = [data for data in entry.datasets if data in sources]
    made += [data for data in sources if entry.datasets and data not in entry.datasets]
    command = _command(name, made, sources, ledger)
    if not entry.datasets:
        state = "computed on demand"
        cells = [{"row": entry.title, "state": state, "why": None, "command": command}]
    else:
        absent = [data for data in entry.datasets if data not in sources]
        said = [f"computed on demand for {', '.join(made)}"] if made else []
        state = "; ".join([*said, *([f"not here: {', '.join(absent)}"] if absent else [])])
        cells = [_cell_of_data(name, data, sources) for data in entry.datasets]
    if name == "table-params":
        cells = [
            {"row": row["encoding"], "metric": "parameters", "state": "measured"}
            | {"measured": row["total"], "paper": {"total": row["paper's total"]}}
            for row in parameter_counts()["rows"]
        ]
    if entry.needs_data and not made:
        command = how_to_get(name, entry.datasets[0], sources)["command"]
    return {
        "name": name,
        "title": entry.title,
        "paper": entry.paper,
        "state": state,
        "cells": cells,
        "command": command,
    }


def _cell_of_data(name: str, data: str, sources: Mapping[str, str]) -> dict[str, Any]:
    cell: dict[str, Any] = {"row": data, "data": data, **how_to_get(name, data, sources)}
    cell["state"] = "computed on demand" if cell["why"] is None else "data missing"
    if name == "table-data":
        nodes, edges = PAPER_SIZES[data]
        cell["paper"] = {"nodes": nodes, "edges": edges}
    return cell
