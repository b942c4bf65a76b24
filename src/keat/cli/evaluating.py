"""`keat evaluate`: heuristics and trained runs on a split, by the benchmark's protocol."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from keat.cli.console import print_json, print_table
from keat.cli.options import (
    Bipartite,
    DatasetArgument,
    Dst,
    EvalSample,
    Features,
    Json,
    Label,
    Src,
    Time,
    Unit,
    at_least,
    open_dataset,
)
from keat.errors import InputError

HEURISTICS = "heuristics"
LINKS = "edgebank, edgebank-tw, poptrack, global-recency, local-global"  # a test keeps these two complete;
NODES = "persistent-forecast, moving-average"  # asking the registry would bring torch, too slow for --help


def evaluate_command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help=f"The folder of a run (keat train); '{HEURISTICS}' for all side by side; or one of {LINKS}; "
            f"for node properties {NODES}.",
        ),
    ],
    dataset: DatasetArgument,
    split: Annotated[str, typer.Option(help="Which part to score: val or test.")] = "test",
    refresh: Annotated[
        int,
        typer.Option(
            callback=at_least(1),
            help="Events scored before any of them is observed: 200 is TGB's protocol; at 1 every earlier "
            "time has been observed.",
        ),
    ] = 200,
    task: Annotated[
        str | None,
        typer.Option(
            help="link-ranking, link-classification or node-property.", show_default="the dataset's own"
        ),
    ] = None,
    negatives: Annotated[
        str | None,
        typer.Option(
            help="Against whom. Ranking: all, hist-rnd, random, official. Classification: random, "
            "historical, inductive.",
            show_default="the dataset's own; for your file all, or hist-rnd beyond 12,000 destinations",
        ),
    ] = None,
    num_negatives: Annotated[
        int | None,
        typer.Option(
            callback=at_least(1),
            help="How many to sample for each positive.",
            show_default="the dataset's, or 100",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(callback=at_least(0), help="Of the sampling.")] = 42,
    eval_sample: EvalSample = None,
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
    """Score a split of a dataset and print the metrics.

    Everything before the split is observed first; then events are scored and observed in turn.
    """
    if split not in ("val", "test"):
        raise typer.BadParameter(f"'{split}' is not a split to score; use val or test.", param_hint="--split")
    from keat.cli.running import (
        evaluate_by_name,
        heuristics_for,
        require_known,
    )  # brings torch: not for --help
    from keat.tasks.making import make_task
    from keat.tasks.node_property import NodeProperty

    require_known(model)  # before a download, not after it
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
    if eval_sample is not None:
        if isinstance(job, NodeProperty):
            raise InputError("--eval-sample is for link tasks.")
        job = job.sample(eval_sample, seed)
    names = heuristics_for(job) if model == HEURISTICS else [model]
    results = [evaluate_by_name(name, data, job, split, refresh) | {"seed": seed} for name in names]
    if json:
        print_json({"dataset": data.name, "results": results} if model == HEURISTICS else results[0])
    else:
        show_results(results)


def show_results(results: list[dict[str, Any]]) -> None:
    """Results of one task as a table, best first."""
    first = results[0]
    told = (
        "model",
        "dataset",
        "split",
        "task",
        "candidates",
        "negatives",
        "refresh",
        "events",
        "seconds",
        "seed",
        "standard_errors",
    )
    metrics = [key for key in first if key not in told]
    rows = [
        [r["model"], *(f"{r[metric]:.4f}" for metric in metrics), f"{r['seconds']:.1f}"]
        for r in sorted(results, key=lambda r: -float(r[metrics[0]]))
    ]
    fresh = "at every distinct time" if first["refresh"] == 1 else f"every {first['refresh']} events"
    title = f"{first['dataset']}, {first['split']} split: {first['task']}"
    caption = f"{first['events']:,} targets{_against(first)}; state refreshed {fresh}."
    if "standard_errors" in first:
        largest = max(r["standard_errors"][metrics[0]] for r in results)
        caption += f" A sample of the split: standard error of {metrics[0]} at most {largest:.4f}."
    print_table(title, ["model", *metrics, "seconds"], rows, caption)


def _against(result: dict[str, Any]) -> str:
    """How many negatives a target was ranked against."""
    if "negatives" not in result:
        return ""
    fewest, most = result["negatives"]["fewest"], result["negatives"]["most"]
    return f", each against {most:,} negatives" + (f" (some {fewest:,})" if fewest < most else "")
