"""`keat reproduce`: every table and figure by name; what was measured once is never run again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keat.cli.console import err, out, print_json, print_table
from keat.cli.options import Json, at_least
from keat.errors import InputError

if TYPE_CHECKING:
    from keat.experiments.recipe import Recipe

LIST = "list"


def reproduce_command(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help=f"A table, a figure or a .toml of your own; '{LIST}' for all."),
    ],
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data", help="Where a dataset is: NAME=FILE. Repeat for more. Registry names need none."
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(callback=at_least(1), help="Runs a cell.", show_default="the recipe's")
    ] = None,
    jobs: Annotated[int, typer.Option(callback=at_least(1), help="Runs at a time, one thread each.")] = 1,
    ledger: Annotated[Path, typer.Option(help="Results so far, one JSON line each.")] = Path(
        "keat-out/ledger.jsonl"
    ),
    scratch: Annotated[Path, typer.Option(help="Where runs are kept while they train.")] = Path(
        "keat-out/runs"
    ),
    engine: Annotated[str, typer.Option(help="local, or ray for a cluster (keat[ray]).")] = "local",
    figure: Annotated[
        Path | None, typer.Option("--out", help="Where a figure goes.", show_default="keat-out/NAME.png")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print tables for a page.")] = False,
    json: Json = False,
) -> None:
    """Run what is missing of a table or figure, and show paper and measured numbers side by side.

    A run that is interrupted goes on from its last epoch when the same command is given again.
    """
    from keat.experiments.computed import COMPUTED
    from keat.experiments.recipe import load_recipe

    sources = _sources(data or [])
    if name == LIST:
        _list(sources, ledger, json)
    elif name in COMPUTED:
        result = COMPUTED[name].make(sources, figure or Path("keat-out") / f"{name}.png")
        if json:
            print_json({"name": name, **result})
        else:
            _show_computed(COMPUTED[name].title, result)
    else:
        results = _run(load_recipe(name), sources, seeds, jobs, ledger, scratch, engine)
        _show_tables(load_recipe(name), results, json, markdown)


def _run(
    recipe: Recipe,
    sources: dict[str, str],
    seeds: int | None,
    jobs: int,
    ledger: Path,
    scratch: Path,
    engine: str,
) -> list[dict[str, Any]]:
    """The tables of a recipe, one for each dataset at hand."""
    from keat.experiments.ledger import Ledger
    from keat.experiments.runner import run_jobs
    from keat.experiments.tables import table_of

    planned = recipe.jobs(sources, seeds)
    if not planned:
        wanted = " ".join(f"--data {dataset}=FILE" for dataset in recipe.datasets)
        raise InputError(f"{recipe.name} needs data: give one or more of {wanted}.")
    lines = run_jobs(
        planned,
        Ledger(ledger),
        scratch,
        parallel=jobs,
        engine=engine,  # type: ignore[arg-type]
        told=lambda text: err.print(text, soft_wrap=True),
    )
    results = list(zip(planned, lines, strict=True))
    return [table_of(recipe, dataset, results) for dataset in recipe.datasets if dataset in sources]


def _show_tables(recipe: Recipe, tables: list[dict[str, Any]], json: bool, markdown: bool) -> None:
    from keat.experiments.tables import markdown as as_markdown

    if json:
        print_json({"name": recipe.name, "title": recipe.title, "about": recipe.about, "tables": tables})
        return
    for table in tables:
        if markdown:
            print(f"{as_markdown(table)}\n")
        else:
            _show(recipe, table)


def _show(recipe: Recipe, table: dict[str, Any]) -> None:
    also = [f"test {metric}" for metric in recipe.also]
    columns = ["model", "seeds", f"val {recipe.metric}", f"test {recipe.metric}", *also, "paired difference"]
    published = any(row["published"] for row in table["rows"])
    rows = [
        [
            row["label"],
            str(row["seeds"]),
            row["val"],
            row["test"],
            *row["also"].values(),
            row["difference"] or "",
        ]
        + ([row["published"]] if published else [])
        for row in table["rows"]
    ]
    if published:
        columns.append(recipe.published_by or "published")
    print_table(f"{recipe.title}: {table['data']}", columns, rows, recipe.about)


def _show_computed(title: str, result: dict[str, Any]) -> None:
    if rows := result.get("rows"):
        print_table(title, list(rows[0]), [[str(value) for value in row.values()] for row in rows])
    if result.get("picture"):
        out.print(f"The picture: {result['picture']}", soft_wrap=True)


def _list(sources: dict[str, str], ledger: Path, json: bool) -> None:
    from keat.experiments.catalogue import states

    entries = states(sources, ledger)
    if json:
        print_json({"entries": entries})
        return
    rows = [[entry["name"], entry["paper"], entry["state"]] for entry in entries]
    print_table("Tables and figures", ["name", "in the paper", "state"], rows, text_columns=3)


def _sources(given: list[str]) -> dict[str, str]:
    """Datasets by name: those of the registry that are on this machine, and those given as NAME=FILE."""
    from keat.datasets.cache import is_here
    from keat.datasets.registry import DATASETS

    sources = {name: name for name in DATASETS if is_here(name)}
    for item in given:
        name, equals, path = item.partition("=")
        if not equals or not Path(path).exists():
            raise InputError(f"--data wants NAME=FILE with a file that exists, not '{item}'.")
        sources[name] = path
    return sources
