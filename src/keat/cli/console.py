"""How keat speaks: results to standard output, everything else to standard error.

What is printed is what was meant: a path like ``runs[/b]`` or a node called ``user:x:42`` is no markup and no
emoji, so both consoles take text as it is.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
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
from rich.text import Text

from keat.cli.wide_tables import tables_within
from keat.errors import MissingExtraError, Notice

out = Console(highlight=False, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, markup=False, emoji=False)


def print_json(value: dict[str, Any]) -> None:
    """One JSON object, on one line of standard output. What is no number (NaN, an infinite age) is null,
    since JSON has no word for it."""
    sys.stdout.write(json.dumps(_finite(value), allow_nan=False) + "\n")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str = "",
    text_columns: int = 1,
) -> None:
    """A table; the first ``text_columns`` columns are text, the others numbers, which are never cut."""
    out.print(Text(title), style="italic")  # not the table's own, nor its caption: they wrap at its width
    for table in tables_within(out.width, columns, rows, text_columns):
        out.print(table)
    if caption:
        out.print(Text(caption), style="italic")


def print_line(text: str, console: Console = out) -> None:
    """One line, however long: a path in it can be copied."""
    console.print(text, soft_wrap=True)


def draw_picture(path: Path, draw: Callable[[Path], object]) -> Path | None:
    """Where a picture was drawn. None, and a notice, where what draws is not installed: the numbers are worth
    having without it."""
    try:
        draw(path)
    except MissingExtraError as error:
        warnings.warn(str(error), Notice, stacklevel=1)
        return None
    return path


def print_error(message: str) -> None:
    """One sentence on standard error."""
    err.print("error: ", style="red", end="")
    print_line(one_line(message), err)


def one_line(text: str) -> str:
    """What cannot be printed, as a line break in a file's name or a terminal's own codes, as its escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@contextlib.contextmanager
def progress_bar(what: str, unit: str = "events") -> Iterator[Callable[[int, int | None], None]]:
    """A bar on standard error while it is a terminal; silent otherwise. Yields (done, total) → None."""
    count = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    bar = Progress(
        TextColumn("{task.description}", markup=False),
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
            err.print("note: ", style="yellow", end="")
            print_line(one_line(str(message)), err)
        else:
            original(message, category, *rest, **more)

    warnings.showwarning = show
