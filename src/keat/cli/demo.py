"""`keat demo`: the main job on the embedded default, in a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keat.cli.console import err, out, print_json
from keat.cli.evaluating import show_results
from keat.cli.options import Json


def demo_command(
    events: Annotated[int, typer.Option(help="Payments to simulate.")] = 100_000,
    seed: Annotated[int, typer.Option(help="Of the simulation.")] = 0,
    folder: Annotated[Path, typer.Option("--out", help="Where the picture goes.")] = Path("keat-out"),
    json: Json = False,
) -> None:
    """Simulate card payments, rank merchants with every heuristic, and draw what came out."""
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
    folder.mkdir(parents=True, exist_ok=True)
    picture = folder / "demo.png"
    overview(data, results, picture)
    if json:
        print_json({"dataset": data.name, "results": results, "picture": str(picture)})
    else:
        out.print(f"The picture: {picture}")
