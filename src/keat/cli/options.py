"""Options that several verbs share, and options that a verb takes together, as one value."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import Field, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from keat.cli.console import progress_bar
from keat.datasets.loading import Dataset, load
from keat.disk import require_place
from keat.errors import InputError
from keat.events import Reading
from keat.tasks.label_source import LabelSource
from keat.tasks.task_spec import TaskSpec

Command = Callable[..., None]
Decorator = Callable[[Command], Command]

LARGEST = 2**63 - 1  # of 64 bits, in which times, seeds and counts are kept
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp")
OWN_FILE, NODE_TASKS = "Reading your own file", "Node tasks"  # panels of the help
COLUMNS = ("src", "dst", "time")


def at_least(lowest: int, most: int = LARGEST) -> Callable[[int | None], int | None]:
    """Check of a number. (Typer's own ``min`` widens the help by a column that nobody needs.)"""

    def check(value: int | None) -> int | None:
        if value is None or lowest <= value <= most:
            return value
        bound = f"at least {lowest}" if value < lowest else f"at most {most}"
        raise typer.BadParameter(f"it must be {bound}, not {value}.")

    return check


def held_out_split(name: str) -> str:
    """Check of a split that can be scored."""
    if name not in ("val", "test"):
        raise typer.BadParameter(f"'{name}' is not a split to score; use val or test.")
    return name


def picture_place(path: Path | None) -> Path | None:
    """Where a picture can be drawn, looked at before the work it shows; a PNG if its name does not say."""
    if path is None:
        return None
    require_place(path)
    if path.suffix.lower() not in PICTURES and path.suffix:
        raise InputError(f"A picture is not drawn as {path.name}; let its name end in {', '.join(PICTURES)}.")
    return path if path.suffix else path.with_suffix(".png")


DatasetArgument = Annotated[
    str, typer.Argument(metavar="DATASET", help="A name (keat data list) or a CSV, Parquet or Arrow file.")
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run (keat train --out).")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
TaskOption = Annotated[
    str | None,
    typer.Option(
        "--task",
        help="link-ranking, link-classification, node-property, node-label or edge-attribute.",
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


def takes(kind: type[Any], argument: str) -> Decorator:
    """Gives a command the options that the fields of a dataclass are annotated with. It is handed them as one
    value, by the name of its ``argument``."""
    hints = get_type_hints(kind, include_extras=True)
    options = [keyword_parameter(each.name, hints[each.name], each.default) for each in fields(kind)]
    return _gathered(argument, options, lambda given: kind(**given))


def reads_events(*, without: Collection[str] = (), column_options: bool = False) -> Decorator:
    """Gives a command that takes ``reading`` an option for every field of a `Reading`. ``without`` are fields
    that it has no use for. With ``column_options`` the columns of sources, destinations and times are named
    by ``--src-column`` and so on, for a command where ``--src`` is something else."""
    return _from_helps(Reading, "reading", OWN_FILE, without, COLUMNS if column_options else ())


def asks_of_nodes(command: Command) -> Command:
    """Gives a command that takes ``labels`` and ``asked`` the options of node tasks: the fields of a
    `LabelSource`, and those of a `TaskSpec` that have a help."""
    labelled = _from_helps(LabelSource, "labels", NODE_TASKS)(command)
    return _from_helps(TaskSpec, "asked", NODE_TASKS)(labelled)


def names_target(command: Command) -> Command:
    """Gives a command that takes ``labels`` the options that name an attribute of events."""
    others = {each.name for each in fields(LabelSource)} - {"target", "known_after"}
    return _from_helps(LabelSource, "labels", NODE_TASKS, without=others)(command)


def as_typed(*values: Any) -> list[str]:
    """The words of a command that say what these values (of a `Reading`, a `LabelSource`) do."""
    words: list[str] = []
    for each, value in ((each, getattr(of, each.name)) for of in values for each in fields(of)):
        if "help" not in each.metadata or value == each.default:
            continue
        words.append(f"--{_parameter_name(each, ()).replace('_', '-')}")
        if not isinstance(value, bool):
            words.append(shlex.quote(",".join(value) if isinstance(value, tuple) else str(value)))
    return words


def _from_helps(
    kind: type[Any], argument: str, panel: str, without: Collection[str] = (), columns: Collection[str] = ()
) -> Decorator:
    """Options for the fields with a help of a dataclass that knows nothing of commands."""
    offered = {
        _parameter_name(each, columns): each
        for each in fields(kind)
        if "help" in each.metadata and each.name not in without
    }

    def made(given: Mapping[str, Any]) -> Any:
        typed = {each.name: _typed(each, given[name]) for name, each in offered.items()}
        return kind(**{name: value for name, value in typed.items() if value is not None})

    return _gathered(argument, [_option(each, name, panel) for name, each in offered.items()], made)


def _parameter_name(each: Field[Any], columns: Collection[str]) -> str:
    if each.default is True:
        return f"no_{each.name}"
    return f"{each.name}_column" if each.name in columns else each.name


def _option(each: Field[Any], name: str, panel: str) -> inspect.Parameter:
    """What Typer reads: a flag for what is yes or no, a number, else a text."""
    flag, number = isinstance(each.default, bool), isinstance(each.default, float)
    default = None if each.default is None or flag or not each.default else str(each.default)
    words = f"--{name.replace('_', '-')}"  # said, or Typer would add a flag that says no
    help_text = each.metadata["help"]
    about = typer.Option(words, help=help_text, rich_help_panel=panel, show_default=default or False)
    kind: Any = bool if flag else (float if number else str) | None
    return keyword_parameter(name, Annotated[kind, about], False if flag else None)


def _typed(each: Field[Any], given: Any) -> object:
    """The value of a field by its option: several columns are one text, and a flag turns its default round.
    None where nothing was typed."""
    if given is None or given is False:
        return None
    if isinstance(each.default, bool):
        return not each.default
    return tuple(given.split(",")) if isinstance(each.default, tuple) else given


def _gathered(
    argument: str, options: Sequence[inspect.Parameter], made: Callable[[Mapping[str, Any]], Any]
) -> Decorator:
    """Options in place of one argument of a command, which is made of them."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def gathering_command(**given: Any) -> None:
            typed = {each.name: given.pop(each.name) for each in options}
            command(**given, **{argument: made(typed)})

        signature = inspect.signature(command, eval_str=True)
        every = [options if each.name == argument else [each] for each in signature.parameters.values()]
        return with_parameters(gathering_command, [each for some in every for each in some])

    return decorate


def with_parameters(command: Command, parameters: Sequence[inspect.Parameter]) -> Command:
    """The same command; Typer makes its options and arguments of these parameters."""

    @wraps(command)
    def same_command(**given: Any) -> None:
        command(**given)

    same_command.__signature__ = inspect.Signature(list(parameters))  # type: ignore[attr-defined]
    same_command.__annotations__ = {each.name: each.annotation for each in parameters}
    return same_command


def keyword_parameter(name: str, annotation: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def open_dataset(source: str, reading: Reading) -> Dataset:
    """Load what the user named."""
    with progress_bar(f"getting {source}", unit="bytes") as progress:
        return load(source, reading=reading, progress=progress)
