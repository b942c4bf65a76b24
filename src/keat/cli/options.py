"""Options that several verbs share, and the one function that turns them into a dataset."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import Field, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from keat.cli.console import progress_bar
from keat.datasets.loading import Dataset, load
from keat.disk import require_place
from keat.errors import InputError
from keat.events import Reading
from keat.tasks.label_source import LabelSource
from keat.tasks.task_spec import TaskSpec

DatasetArgument = Annotated[
    str, typer.Argument(metavar="DATASET", help="A name (keat data list) or a CSV, Parquet or Arrow file.")
]
_FILE, _NODES = "Reading your own file", "Node tasks"
COLUMNS = ("src", "dst", "time")
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp")
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]


LARGEST = 2**63 - 1  # of 64 bits, in which times, seeds and counts are kept


def at_least(lowest: int, most: int = LARGEST) -> Callable[[int | None], int | None]:
    """Check of a number. (Typer's own ``min`` widens the help by a column that nobody needs.)"""

    def check(value: int | None) -> int | None:
        if value is not None and value < lowest:
            raise typer.BadParameter(f"it must be at least {lowest}, not {value}.")
        if value is not None and value > most:
            raise typer.BadParameter(f"it must be at most {most}, not {value}.")
        return value

    return check


def picture_place(path: Path | None) -> Path | None:
    """Where a picture can be drawn, looked at before the work it shows; a PNG if its name does not say."""
    if path is None:
        return None
    require_place(path)
    if path.suffix.lower() not in PICTURES and path.suffix:
        raise InputError(f"A picture is not drawn as {path.name}; let its name end in {', '.join(PICTURES)}.")
    return path if path.suffix else path.with_suffix(".png")


TaskOption = Annotated[
    str | None,
    typer.Option(
        "--task",
        help="link-ranking, link-classification, node-property or node-label.",
        show_default="what the data is made for",
    ),
]
EvalSample = Annotated[
    int | None,
    typer.Option(
        callback=at_least(1),
        help="Ask only so many positives, drawn at random, against the full candidate set; the standard "
        "error is reported.",
    ),
]


def reads_events(
    *, without: Collection[str] = (), column_options: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command that takes ``reading`` an option for every field of a `Reading`, and hands it over as
    one. ``without`` are fields it has no use for; with ``column_options`` the columns of sources,
    destinations and times are ``--src-column`` and so on, where ``--src`` is something else."""
    return _with_options(Reading, "reading", _FILE, without, COLUMNS if column_options else ())


def asks_of_nodes(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command that takes ``labels`` and ``asked`` the options of node tasks: the fields of a
    `LabelSource`, and those of a `TaskSpec` that have a help."""

    labelled = _with_options(LabelSource, "labels", _NODES, (), ())(command)
    return _with_options(TaskSpec, "asked", _NODES, (), ())(labelled)


def _with_options(
    kind: type[Any], argument: str, panel: str, without: Collection[str], columns: Collection[str]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A dataclass whose fields are options of a command, which gets it whole as one argument."""
    offered = [each for each in fields(kind) if "help" in each.metadata and each.name not in without]
    names = {each.name: _option_name(each, columns) for each in offered}
    options = [_option(each, names[each.name], panel) for each in offered]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_it(**given: Any) -> None:
            said = {each: given.pop(name.replace("-", "_")) for each, name in names.items()}
            command(**given, **{argument: _made(kind, said)})

        signature = inspect.signature(command, eval_str=True)
        own = [each for each in signature.parameters.values() if each.name != argument]
        return with_parameters(with_it, [*own, *options])

    return decorate


def with_parameters(
    command: Callable[..., None], parameters: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """The same command; Typer makes its options and arguments of these parameters."""

    @wraps(command)
    def same_command(**given: Any) -> None:
        command(**given)

    same_command.__signature__ = inspect.Signature(list(parameters))  # type: ignore[attr-defined]
    same_command.__annotations__ = {each.name: each.annotation for each in parameters}
    return same_command


def _made(kind: type[Any], said: Mapping[str, Any]) -> Any:
    """From options as they are typed: several columns are one text, and a flag turns its default round."""
    typed: dict[str, object] = {}
    for each in fields(kind):
        value = said.get(each.name)
        if value is None or value is False:
            continue
        if isinstance(each.default, bool):
            value = not each.default
        elif isinstance(each.default, tuple):
            value = value.split(",")
        typed[each.name] = value
    return kind.of(**typed) if kind is Reading else kind(**typed)


def _option_name(each: Field[Any], columns: Collection[str]) -> str:
    name = each.name.replace("_", "-")
    if each.default is True:
        return f"no-{name}"
    return f"{name}-column" if each.name in columns else name


def _option(each: Field[Any], name: str, panel: str) -> inspect.Parameter:
    """What Typer reads: a flag for what is yes or no, a number, else a text."""
    flag, number = isinstance(each.default, bool), isinstance(each.default, float)
    default = None if each.default is None or flag or not each.default else str(each.default)
    about = typer.Option(
        f"--{name}", help=each.metadata["help"], rich_help_panel=panel, show_default=default or False
    )
    return inspect.Parameter(
        name.replace("-", "_"),
        inspect.Parameter.KEYWORD_ONLY,
        default=False if flag else None,
        annotation=Annotated[bool if flag else (float if number else str) | None, about],
    )


def open_dataset(source: str, reading: Reading) -> Dataset:
    """Load what the user named."""
    with progress_bar(f"getting {source}", unit="bytes") as progress:
        return load(source, reading=reading, progress=progress)
