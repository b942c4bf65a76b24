"""`keat evaluate`: heuristics (and later, checkpoints) on a split, by the benchmark's protocol."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from keat.cli.console import print_json, print_table
from keat.cli.options import (
    Bipartite,
    DatasetArgument,
    Dst,
    Features,
    Json,
    Label,
    Src,
    Time,
    Unit,
    open_dataset,
)

HEURISTICS = "heuristics"


def evaluate_command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help=f"A model, or '{HEURISTICS}' for all of them side by side.")
    ],
    dataset: DatasetArgument,
    split: Annotated[str, typer.Option(help="Which part to score: val or test.")] = "test",
    refresh: Annotated[
        int,
        typer.Option(
            help="Events that may pass before the state sees them: 200 is TGB's protocol, 1 the freshest."
        ),
    ] = 200,
    task: Annotated[
        str | None, typer.Option(help="link-ranking, link-classification or node-property.")
    ] = None,
    negatives: Annotated[
        str | None,
        typer.Option(
            help="Ranking: all, hist-rnd, random, official. Classification: random, historical, inductive."
        ),
    ] = None,
    num_negatives: Annotated[int | None, typer.Option(help="Sampled negatives a positive.")] = None,
    seed: Annotated[int, typer.Option(help="Of sampled negatives.")] = 42,
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Open the official negatives, which TGB ships as a pickle.")
    ] = False,
    json: Json = False,
    src: Src = None,
    dst: Dst = None,
    time: Time = None,
    features: Features = None,
    label: Label = None,
    unit: Unit = None,
    bipartite: Bipartite = False,
) -> None:
    """Score a split of a dataset and print the metrics."""
    if split not in ("val", "test"):
        raise typer.BadParameter(f"'{split}' is not a split to score; use val or test.", param_hint="--split")
    from keat.cli.running import evaluate_by_name, heuristics_for  # brings torch: not for --help
    from keat.tasks.making import make_task

    data = open_dataset(dataset, src, dst, time, features, label, unit, bipartite)
    job = make_task(
        data,
        split,  # type: ignore[arg-type]
        kind=task,  # type: ignore[arg-type]
        negatives=negatives,  # type: ignore[arg-type]
        number=num_negatives,
        seed=seed,
        trust_pickle=trust_pickle,
    )
    names = heuristics_for(job) if model == HEURISTICS else [model]
    results = [evaluate_by_name(name, data, job, split, refresh) for name in names]
    if json:
        print_json({"dataset": data.name, "results": results} if model == HEURISTICS else results[0])
    else:
        show_results(results)


def show_results(results: list[dict[str, Any]]) -> None:
    """Results of one task as a table, best first."""
    first = results[0]
    told = ("model", "dataset", "split", "task", "candidates", "refresh", "events", "seconds")
    metrics = [key for key in first if key not in told]
    rows = [
        [r["model"], *(f"{r[metric]:.4f}" for metric in metrics), f"{r['seconds']:.1f}"]
        for r in sorted(results, key=lambda r: -float(r[metrics[0]]))
    ]
    among = f", each among {first['candidates']:,} candidates" if "candidates" in first else ""
    fresh = "at every distinct time" if first["refresh"] == 1 else f"every {first['refresh']} events"
    caption = (
        f"{first['events']:,} {first['split']} targets of {first['dataset']}{among}; state refreshed {fresh}."
    )
    print_table(first["task"], ["model", *metrics, "seconds"], rows, caption)
