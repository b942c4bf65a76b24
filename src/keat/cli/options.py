"""Options that several verbs share, and the one function that turns them into a dataset."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from keat.cli.console import progress_bar
from keat.datasets.loading import Dataset, load
from keat.disk import require_place
from keat.errors import InputError

DatasetArgument = Annotated[
    str, typer.Argument(metavar="DATASET", help="A name (keat data list) or a CSV, Parquet or Arrow file.")
]
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp")
_FILE = "Reading your own file"
Src = Annotated[str | None, typer.Option("--src", help="Column of sources.", rich_help_panel=_FILE)]
Dst = Annotated[str | None, typer.Option("--dst", help="Column of destinations.", rich_help_panel=_FILE)]
Time = Annotated[str | None, typer.Option("--time", help="Column of times.", rich_help_panel=_FILE)]
Features = Annotated[
    str | None,
    typer.Option(
        "--features", help="Feature columns, comma-separated, or an .npy matrix.", rich_help_panel=_FILE
    ),
]
Label = Annotated[str | None, typer.Option("--label", help="Column of event labels.", rich_help_panel=_FILE)]
Unit = Annotated[
    str | None,
    typer.Option(
        "--unit", help="Unit of whole-number times: s, ms, us, ns, day, year.", rich_help_panel=_FILE
    ),
]
Bipartite = Annotated[
    bool,
    typer.Option(
        "--bipartite",
        help="Sources and destinations are different things even where their ids coincide.",
        rich_help_panel=_FILE,
    ),
]
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


moment = at_least(0)  # times are never negative


def picture_place(path: Path | None) -> Path | None:
    """Where a picture can be drawn, looked at before the work it shows; a PNG if its name does not say."""
    if path is None:
        return None
    require_place(path)
    if path.suffix.lower() not in PICTURES and path.suffix:
        raise InputError(f"A picture is not drawn as {path.name}; let its name end in {', '.join(PICTURES)}.")
    return path if path.suffix else path.with_suffix(".png")


EvalSample = Annotated[
    int | None,
    typer.Option(
        callback=at_least(1),
        help="Ask only so many positives, drawn at random, against the full candidate set; the standard "
        "error is reported.",
    ),
]


def open_dataset(
    source: str,
    src: str | None,
    dst: str | None,
    time: str | None,
    features: str | None,
    label: str | None,
    unit: str | None,
    bipartite: bool,
) -> Dataset:
    """Load what the user named; only options that were given count."""
    columns: dict[str, Any] = {"src": src, "dst": dst, "time": time, "label": label, "unit": unit}
    if features is not None:
        columns["features"] = features if features.endswith(".npy") else features.split(",")
    given = {name: value for name, value in columns.items() if value is not None}
    if bipartite:
        given["bipartite"] = True
    with progress_bar(f"getting {source}", unit="bytes") as progress:
        return load(source, progress=progress, **given)
