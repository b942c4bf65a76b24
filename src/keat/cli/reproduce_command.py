"""`keat reproduce`: every table and figure by name; what was measured once is never run again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from keat.cli.console import err, out, print_json, print_line, print_table
from keat.cli.options import Json, at_least, picture_place, takes
from keat.disk import look_at, safe_name
from keat.errors import InputError, unknown_name
from keat.experiments.ledger import USUAL_LEDGER

if TYPE_CHECKING:
    from keat.experiments.recipe import Recipe
    from keat.report.figures.made import Made
    from keat.report.html.report_page import Page
    from keat.report.html.text_table import Table

LIST = "list"
SCRATCH = Path("keat-out/runs")


@dataclass(frozen=True, slots=True)
class HowRun:
    """How the runs of a recipe are run, and where what is known of them is kept."""

    seeds: Annotated[
        int | None, typer.Option(callback=at_least(1), help="Runs of each cell.", show_default="the recipe's")
    ] = None
    jobs: Annotated[int, typer.Option(callback=at_least(1), help="Runs at a time, one thread each.")] = 1
    ledger: Annotated[Path, typer.Option(help="Results so far, one JSON line each.")] = USUAL_LEDGER
    scratch: Annotated[Path, typer.Option(help="Where runs are kept while they train.")] = SCRATCH
    again: Annotated[
        bool, typer.Option("--again", help="Run again what is not known to be of today's code.")
    ] = False
    engine: Annotated[str, typer.Option(help="local, or ray for a cluster (keat\\[ray]).")] = "local"


@takes(HowRun, "how")
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
    *,
    how: HowRun,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--out",
            callback=picture_place,
            help="Where a figure goes; the report goes beside it.",
            show_default="keat-out/NAME.png",
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print tables for a page.")] = False,
    json: Json = False,
) -> None:
    """Run what is missing of a table or figure, and show paper and measured numbers side by side.

    A run that is interrupted goes on from its last epoch when the same command is given again.
    """
    from keat.experiments.catalogue import EXPLAINED, all_names
    from keat.experiments.computed import COMPUTED
    from keat.experiments.recipe import load_recipe
    from keat.report.figures.made import write_computed_page

    sources = _sources(data or [])
    path = figure or Path("keat-out") / f"{safe_name(Path(name).stem)}.png"
    if name == LIST:
        _list(sources, how.ledger, json)
    elif name in EXPLAINED:
        raise InputError(f"{name} ({EXPLAINED[name][1]}) is {EXPLAINED[name][2]}.")
    elif name in COMPUTED:
        entry = COMPUTED[name]
        made = entry.make(sources, path, how.ledger)
        page = write_computed_page(made, name, entry.title, entry.paper, path.with_suffix(".html"))
        _show({"name": name}, made, made.tables(entry.title), page, json, markdown)
    elif not name.endswith(".toml") and name not in all_names():
        raise unknown_name("table or figure", name, [LIST, *all_names()])
    else:
        _show_recipe(load_recipe(name), sources, how, path, json, markdown)


def _show_recipe(
    recipe: Recipe, sources: dict[str, str], how: HowRun, path: Path, json: bool, markdown: bool
) -> None:
    """Run what the ledger lacks of a recipe, and show its tables and its figure."""
    from keat.experiments.ledger import Ledger
    from keat.experiments.recipe_report import recipe_report
    from keat.experiments.reproduction import reproduce
    from keat.experiments.run_figures import FIGURES
    from keat.report.figures.made import Made
    from keat.report.sections.comparison import shown, side_by_side

    found = reproduce(
        recipe,
        sources,
        Ledger(how.ledger),
        how.scratch,
        seeds=how.seeds,
        parallel=how.jobs,
        engine=how.engine,  # type: ignore[arg-type]
        listener=_print_news,
        again=how.again,
    )
    drawn = FIGURES[recipe.name](found, path) if recipe.name in FIGURES else Made()
    page = recipe_report(found, drawn, path.with_suffix(".html"))
    about = {"name": recipe.name, "title": recipe.title, "about": recipe.about, "tables": found.tables}
    tables = [*map(shown, found.tables), *side_by_side(found.tables), *drawn.tables(recipe.title)]
    _show(about, drawn, tables, page, json, markdown)


def _print_news(text: str) -> None:
    print_line(text, err)


def _show(
    about: Mapping[str, object], made: Made, tables: list[Table], page: Page, json: bool, markdown: bool
) -> None:
    """Everything that was found, and last where the report is."""
    if json:
        print_json({**about, **made.to_json(), "report": str(page)})
        return
    for table in tables:
        if markdown:
            print(f"{table.markdown()}\n")
            if table.caption:
                print(f"{table.caption}\n")
        else:
            print_table(table.title, table.columns, table.rows, table.caption)
    console = err if markdown else out  # Markdown may go into a file
    for picture in made.pictures:
        print_line(f"The picture: {picture}", console)
    print_line(f"The report: {page}", console)


def _list(sources: dict[str, str], ledger: Path, json: bool) -> None:
    from keat.experiments.catalogue import states

    entries = states(sources, ledger)
    if json:
        print_json({"entries": entries})
        return
    for entry in entries:
        out.print(Text.assemble((entry["name"], "bold"), f": {entry['title']}"))
        where = [f"{entry['paper']} in the paper"] if entry["paper"] else []
        out.print(Padding(Text("\n".join([*where, entry["state"]])), (0, 0, 0, 2)))
        if entry["command"]:  # on a line of its own, however long, to be copied
            out.print(Text(f"  {entry['command']}", "cyan"), soft_wrap=True)
    out.print(
        "\nEvery cell, measured or published, and what it would take: keat reproduce list --json",
        style="italic",
        soft_wrap=True,
    )


def _sources(given: list[str]) -> dict[str, str]:
    """Datasets by name: those of the registry that are on this machine, and those given as NAME=FILE."""
    from keat.datasets.cache import is_here
    from keat.datasets.dataset_entries import DATASETS

    sources = {name: name for name in DATASETS if is_here(name)}
    for item in given:
        name, equals, path = item.partition("=")
        if not equals or look_at(Path(path)) is None:
            raise InputError(f"--data wants NAME=FILE with a file that exists, not '{item}'.")
        sources[name] = path
    return sources
