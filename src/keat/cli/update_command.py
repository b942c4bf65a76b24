"""`keat update`: show a run what has happened since."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from keat.cli.console import print_json, print_line
from keat.cli.options import Json
from keat.errors import unknown_name

LATE = ("refuse", "clamp")


def update_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run (keat train --out).")],
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Events since, with the columns of the training data.")
    ],
    late: Annotated[
        str, typer.Option(help="Rows older than what was seen: 'refuse', or 'clamp' them to that time.")
    ] = "refuse",
    json: Json = False,
) -> None:
    """Let a run observe the rows of a file that it has not seen yet; new nodes join. Safe to repeat."""
    from keat.runs import open  # noqa: A004  (brings torch: not for --help)

    if late not in LATE:
        raise unknown_name("way with late rows", late, LATE)
    opened = open(run)
    seen = opened.observe(file, late=late)  # type: ignore[arg-type]
    if seen.events:
        opened.save()
    if json:
        memory = {} if opened.memory is None else {"state_memory": opened.memory._asdict()}
        print_json({"run": str(run), **asdict(seen), **memory})
        return
    print_line(
        f"{seen.events:,} events observed, {seen.newcomers:,} new nodes; {seen.known:,} rows had been seen"
        + (f", {seen.clamped:,} were late" if seen.clamped else "")
        + f". The run knows everything up to {seen.last_time}."
    )
    if opened.memory is not None:
        print_line(str(opened.memory))
