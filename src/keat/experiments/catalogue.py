"""All tables and figures by name, and the state of each cell: what is measured, what others have, what is
missing, and the command that would get it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NotRequired, TypedDict

from keat.datasets.cache import raw_folder
from keat.datasets.dataset_entries import DATASETS
from keat.experiments.computed import COMPUTED, Computed, parameter_counts
from keat.experiments.job import GRAPH_LABEL
from keat.experiments.ledger import USUAL_LEDGER
from keat.experiments.measured import Known, measured
from keat.experiments.published import paper, published
from keat.experiments.recipe import Recipe, load_recipe, recipe_names
from keat.experiments.recipe_table import Lines, table_of

EXPLAINED = {  # in the paper, with nothing in them that could be measured
    "table-notation": ("Symbols of the paper", "tab:notation", "a list of symbols: nothing to measure"),
    "figure-mismatch": (
        "Nodes change slowly, edges fast",
        "fig:temporal-mismatch",
        "a drawing: nothing to measure; figure-gaps has the gaps of real data",
    ),
}


class Place(TypedDict):
    """What is missing of a dataset, if anything, and the command that runs the table with it."""

    why: str | None
    command: str


class Runs(Place):
    """How many of the planned runs of a dataset have been done."""

    runs: int
    of: int


class Cell(TypedDict, total=False):
    """One number of a table, as far as there is one; ``state`` says what else there is of it."""

    row: str
    data: str
    metric: str
    state: str
    measured: object  # where it is counted and no model is run
    val: str
    test: str
    seeds: int
    of: int
    why: str | None
    command: str
    paper: dict[str, object]
    leaderboard: dict[str, object]
    DyGLib: dict[str, object]
    TPNet: dict[str, object]


class Entry(TypedDict):
    """A table or figure."""

    name: str
    title: str
    paper: str  # where it is there
    state: str
    datasets: NotRequired[dict[str, Runs]]
    cells: list[Cell]
    command: str | None


def states(sources: Mapping[str, str], ledger: Path) -> list[Entry]:
    """An entry for each table and figure."""
    entries: list[Entry] = [
        {"name": name, "title": title, "paper": paper, "state": state, "cells": [], "command": None}
        for name, (title, paper, state) in EXPLAINED.items()
    ]
    entries += [_computed(name, entry, sources, ledger) for name, entry in COMPUTED.items()]
    known = Known.of(ledger)
    entries += [_of_recipe(load_recipe(name), sources, ledger, known) for name in recipe_names()]
    return sorted(entries, key=lambda entry: entry["name"])


def all_names() -> list[str]:
    """Everything that `keat reproduce` knows."""
    return sorted([*EXPLAINED, *COMPUTED, *recipe_names()])


def how_to_get(
    table: str, data: str, sources: Mapping[str, str], ledger: Path = USUAL_LEDGER, suffix: str = ".parquet"
) -> Place:
    """What is missing to run a table with a dataset, and the command that gets and runs it."""
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


def _of_recipe(recipe: Recipe, sources: Mapping[str, str], ledger: Path, known: Known) -> Entry:
    results = measured(recipe, sources, known)
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
        "datasets": {data: {"runs": done, "of": of, **places[data]} for data, (done, of) in runs.items()},
        "cells": [cell for data in recipe.datasets for cell in _cells(recipe, data, results, places[data])],
        "command": _command(recipe.name, here, sources, ledger)
        if here
        else places[recipe.datasets[0]]["command"],
    }


def _cells(recipe: Recipe, data: str, results: Lines, place: Place) -> list[Cell]:
    table = table_of(recipe, data, results)
    rows = {row["label"]: row for row in table["rows"]}
    cells: list[Cell] = []
    for arm in recipe.arms:
        if not arm.is_for(data):
            continue
        row = rows.get(arm.label)
        cell = _cell(recipe, arm.label, data)
        seeds = 1 if arm.is_heuristic else recipe.seeds
        if row is None:
            cell["state"] = "to run" if place["why"] is None else "data missing"
        else:
            cell |= {"state": "measured", "val": row["val"], "test": row["test"]}
            cell |= {"seeds": row["seeds"], "of": seeds}
        if row is None or row["seeds"] < seeds:  # how to get it, or the others
            cell |= {"why": place["why"], "command": place["command"]}
        cells.append(cell)
    known = {arm.label for arm in recipe.arms}
    theirs = [other["label"] for other in table["others"] if other["label"] not in known]
    cells += [{**_cell(recipe, label, data), "state": "published only"} for label in theirs]
    return cells


def _cell(recipe: Recipe, label: str, data: str) -> Cell:
    """A cell with what others published for it: ``"paper": {"test": …, "val": …}``."""
    cell: Cell = {"row": label, "data": data, "metric": recipe.metric}
    for number in published(recipe.name):
        if (number.row, number.data) == (label, data):
            other = number.metric not in (None, recipe.metric)
            what = f"{number.split} {number.metric}" if other else number.split
            cell.setdefault(number.by, {})[what] = str(number)
    return cell


def _computed(name: str, entry: Computed, sources: Mapping[str, str], ledger: Path) -> Entry:
    ledger = ledger if entry.reads_ledger else USUAL_LEDGER
    made = [data for data in entry.datasets if data in sources]
    made += [data for data in sources if entry.datasets and data not in entry.datasets]
    command = _command(name, made, sources, ledger)
    if not entry.datasets:
        state = "computed on demand"
        cells: list[Cell] = [{"row": entry.title, "state": state, "why": None, "command": command}]
    else:
        absent = [data for data in entry.datasets if data not in sources]
        said = [f"computed on demand for {', '.join(made)}"] if made else []
        state = "; ".join([*said, *([f"not here: {', '.join(absent)}"] if absent else [])])
        cells = [_cell_of_data(name, data, sources) for data in entry.datasets]
    if name == "table-params":
        cells = [
            {
                "row": str(row["encoding"]),
                "metric": "parameters",
                "state": "measured",
                "measured": row["total"],
                "paper": {"total": row["paper's total"]},
            }
            for row in parameter_counts().rows
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


def _cell_of_data(name: str, data: str, sources: Mapping[str, str]) -> Cell:
    place = how_to_get(name, data, sources)
    state = "computed on demand" if place["why"] is None else "data missing"
    cell: Cell = {"row": data, "data": data, "state": state, "why": place["why"], "command": place["command"]}
    if name == "table-data":
        cell["paper"] = dict(zip(("nodes", "edges"), paper("sizes")[data], strict=True))
    return cell
