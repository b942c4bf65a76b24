"""`keat demo`: the main job on the embedded default, in a minute or two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keat.cli.console import draw_picture, err, print_json, print_line
from keat.cli.evaluate_command import show_results
from keat.cli.options import Json, at_least
from keat.disk import require_folder

if TYPE_CHECKING:
    from keat.datasets.loading import Dataset
    from keat.report.html.report_page import Page
    from keat.report.sections.results import Result
    from keat.runs import Run
    from keat.tasks.link import LinkRanking

# Small networks and small batches: what a demo of two minutes is short of is steps. The two TGNs differ in
# the kernel alone. Chosen on the validation splits of other seeds than docs/results/demo.md tests.
SMALL: dict[str, Any] = {"delta": "query", "messages": "v2", "dim": 32, "neighbors": 5}
STEPS: dict[str, Any] = {"lr": 3e-3, "loss": "listwise", "negatives": 10, "batch_size": 50}
TRAINED: dict[str, dict[str, Any]] = {
    "tgn": SMALL | STEPS,
    "keat-tgn": SMALL | STEPS,
    "keat-rank": {  # as that page has it
        "edition": 1,
        "loss": "listwise",
        "lr": 1.5e-3,
        "schedule": "constant",
        "validate_every": 1,
        "patience": 1,
        "tolerance": 0.01,
    },
}
EVENTS, EPOCHS = 30_000, 8


def demo_command(
    events: Annotated[int, typer.Option(callback=at_least(1_000), help="Payments to simulate.")] = EVENTS,
    seed: Annotated[
        int, typer.Option(callback=at_least(0), help="Of the simulation and of the training.")
    ] = 0,
    epochs: Annotated[int, typer.Option(callback=at_least(1), help="Of training, for each model.")] = EPOCHS,
    folder: Annotated[
        Path, typer.Option("--out", help="Where the report, the picture and the trained models go.")
    ] = Path("keat-out"),
    json: Json = False,
) -> None:
    """Simulate card payments whose baskets tell of the next one while they are fresh, train TGN, KEAT-TGN and
    keat-rank, and set them beside every heuristic.

    A second run finds the trained models in the folder and only scores them.
    """
    require_folder(folder)  # before the work, not after it
    from keat.cli.models_by_name import evaluate_by_name  # brings torch: not for --help
    from keat.datasets.loading import Dataset
    from keat.datasets.payments import simulate_errands
    from keat.report.figures.overview import overview
    from keat.runs.run_evaluation import heuristics_for
    from keat.runs.trainer import train
    from keat.tasks.link import LinkRanking
    from keat.tasks.task_factory import make_task

    err.print(f"Simulating {events:,} card payments (seed {seed}) …")
    data = Dataset(simulate_errands(events, seed=seed))
    task = make_task(data)
    assert isinstance(task, LinkRanking)
    models, runs = {name: name for name in heuristics_for(task)}, {}
    for name, how in TRAINED.items():
        folder_of_run = folder / f"{name}-{events}-{seed}"
        err.print(f"Training {name} …")
        runs[name] = train(name, data, out=folder_of_run, epochs=epochs, seed=seed, resume=True, **how)
        models[name] = str(folder_of_run)
    results = []
    for refresh in (200, 1):
        found = [
            replace(evaluate_by_name(model, data, task, "test", refresh)[0], model=name)
            for name, model in models.items()
        ]
        results += found
        if not json:
            show_results(found)
    picture = draw_picture(folder / "demo.png", lambda path: overview(data, results, path))
    report = _report(data, task, results, runs, folder / "report.html")
    if json:
        files = {"picture": picture and str(picture), "report": str(report)}
        print_json({"dataset": data.name, "results": [r.to_json() for r in results], **files})
        return
    if picture is not None:
        print_line(f"The picture: {picture}")
    print_line(f"The report: {report}")


def _report(
    data: Dataset, task: LinkRanking, results: Sequence[Result], runs: Mapping[str, Run], path: Path
) -> Page:
    from keat.report.demo_page import write_demo_page
    from keat.runs.epochs import read_history
    from keat.runs.run_subject import subject_of_run

    histories = {name: read_history(run.folder) for name, run in runs.items()}
    return write_demo_page(data, task, results, histories, subject_of_run(runs["keat-tgn"]), path)
