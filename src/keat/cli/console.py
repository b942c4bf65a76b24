"""How keat speaks: results to standard output, everything else to standard error."""

from __future__ import annotations

import contextlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from keat.errors import Notice

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def print_json(value: dict[str, Any]) -> None:
    """One JSON object, on one line of standard output."""
    sys.stdout.write(json.dumps(value) + "\n")


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str = "",
    text_columns: int = 1,
) -> None:
    """A table; the first ``text_columns`` columns are text, the others numbers."""
    table = Table(title=Text(title), title_justify="left")
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position < text_columns else "right")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # a node may be called "[bold]" or ":dog:"
    out.print(table)
    if caption:  # not the table's own caption, which would wrap at the table's width
        out.print(Text(caption), style="italic")


def print_error(message: str) -> None:
    """One sentence on standard error."""
    err.print("[red]error:[/] ", end="")
    err.print(one_line(message), soft_wrap=True, markup=False)


def one_line(text: str) -> str:
    """What cannot be printed, as a line break in a file's name or a terminal's own codes, as its escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@contextlib.contextmanager
def progress_bar(what: str, unit: str = "events") -> Iterator[Callable[[int, int | None], None]]:
    """A bar on standard error while it is a terminal; silent otherwise. Yields (done, total) → None."""
    count = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        count,
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )
    with bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def show_notices() -> None:
    """Print keat's own notices as one line each instead of a Python warning."""
    original = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, Notice):
            err.print("[yellow]note:[/] ", end="")
            err.print(one_line(str(message)), soft_wrap=True, markup=False)
        else:
            original(message, category, *rest, **more)

    warnings.showwarning = show
