"""`keat demo`: the main job on the embedded default, in a minute."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from keat.cli.console import err, out, print_json
from keat.cli.evaluating import show_results
from keat.cli.options import Json, at_least
from keat.errors import CacheError, MissingExtraError, Notice


def demo_command(
    events: Annotated[int, typer.Option(callback=at_least(1_000), help="Payments to simulate.")] = 100_000,
    seed: Annotated[int, typer.Option(callback=at_least(0), help="Of the simulation.")] = 0,
    folder: Annotated[Path, typer.Option("--out", help="Where the picture goes.")] = Path("keat-out"),
    json: Json = False,
) -> None:
    """Simulate card payments, rank merchants with every heuristic, and draw what came out."""
    _make(folder)  # before the work, not after it
    from keat.cli.running import evaluate_by_name, heuristics_for  # brings torch: not for --help
    from keat.datasets.loading import Dataset
    from keat.datasets.payments import simulate_payments
    from keat.report.plots import overview
    from keat.tasks.making import make_task

    err.print(f"Simulating {events:,} card payments (seed {seed}) …")
    data = Dataset(simulate_payments(events, seed=seed))
    task = make_task(data)
    results = []
    for refresh in (200, 1):
        found = [evaluate_by_name(name, data, task, "test", refresh) for name in heuristics_for(task)]
        results += found
        if not json:
            show_results(found)
    picture: Path | None = folder / "demo.png"
    try:
        overview(data, results, folder / "demo.png")
    except MissingExtraError as error:  # the numbers are worth having without it
        warnings.warn(str(error), Notice, stacklevel=1)
        picture = None
    if json:
        print_json({"dataset": data.name, "results": results, "picture": picture and str(picture)})
    elif picture is not None:
        out.print(f"The picture: {picture}", soft_wrap=True)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CacheError(
            f"Cannot make the folder {folder} ({error.strerror}); choose another one with --out."
        ) from error
