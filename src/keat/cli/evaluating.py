"""`keat evaluate`: heuristics and trained runs on a split, by the benchmark's protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from keat.cli import whole_graph
from keat.cli.console import print_json, print_table
from keat.cli.node_options import (
    Labelled,
    LabelOptions,
    NodeLabelFile,
    Period,
    Positive,
    ProtocolOption,
    TaskOption,
    Undirected,
    Weight,
    options_of_run,
)
from keat.cli.options import (
    DatasetArgument,
    EvalSample,
    Json,
    at_least,
    open_dataset,
    reads_events,
)
from keat.events import Reading

if TYPE_CHECKING:
    from keat.report.tables import Table

HEURISTICS = "heuristics"
LINKS = "edgebank, edgebank-tw, poptrack, global-recency, local-global"  # a test keeps these two complete;
NODES = "persistent-forecast, moving-average"  # asking the registry would bring torch, too slow for --help
LABELS = "counts"


@reads_events()
def evaluate_command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help=f"The folder of a run (keat train); '{HEURISTICS}' for all side by side; or one of {LINKS}; "
            f"for node properties {NODES}; for labels of events {LABELS}.",
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
    task: TaskOption = None,
    period: Period = None,
    weight: Weight = None,
    undirected: Undirected = False,
    protocol: ProtocolOption = "strict",
    node_labels: NodeLabelFile = None,
    positive: Positive = 1.0,
    labelled: Labelled = "src",
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
    *,
    reading: Reading,
) -> None:
    """Score a split of a dataset and print the metrics.

    Everything before the split is observed first; then events are scored and observed in turn.
    """
    if split not in ("val", "test"):
        raise typer.BadParameter(f"'{split}' is not a split to score; use val or test.", param_hint="--split")
    from keat.cli.running import (  # brings torch: not for --help
        evaluate_by_name,
        heuristics_for,
        require_known,
        run_description,
        task_of,
    )

    require_known(model)  # before a download, not after it
    if run_description(model).get("model") in whole_graph.NAMES:
        whole_graph.evaluate_whole_graph(model, dataset, split, json)
        return
    labels = LabelOptions(period, weight, undirected, protocol, node_labels, positive, labelled)
    description = run_description(model)
    labels = options_of_run(labels, description)
    if task is None and "head" in description:
        task = description["task"]["kind"]
    task = labels.task(task, reading.label)
    data = labels.apply(open_dataset(dataset, labels.reading(reading)))
    job = task_of(
        data,
        split,  # type: ignore[arg-type]
        task,
        labels,
        eval_sample,
        seed,
        negatives=negatives,
        number=num_negatives,
        seed=seed,
        trust_pickle=trust_pickle,
    )
    names = heuristics_for(job) if model == HEURISTICS else [model]
    results = [evaluate_by_name(name, data, job, split, refresh) | {"seed": seed} for name in names]
    if json:
        print_json({"dataset": data.name, "results": results} if model == HEURISTICS else results[0])
    else:
        show_results(results)


def show_results(results: list[dict[str, Any]]) -> None:
    """Results of one task as a table, best first."""
    table = results_table(results)
    print_table(table.title, table.columns, table.rows, table.caption)


def results_table(results: list[dict[str, Any]]) -> Table:
    """The same for a report."""
    from keat.report.tables import Table

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
        "intervals",
    )
    metrics = [key for key in first if key not in told]
    timed = ["seconds"] if "seconds" in first else []
    rows = [
        [r["model"], *(f"{r[metric]:.4f}" for metric in metrics), *(f"{r[name]:.1f}" for name in timed)]
        for r in sorted(results, key=lambda r: -float(r[metrics[0]]))
    ]
    title = f"{first['dataset']}, {first['split']} split: {first['task']}"
    caption = f"{first['events']:,} targets{_against(first)}{_freshness(first)}."
    if "standard_errors" in first:
        largest = max(r["standard_errors"][metrics[0]] for r in results)
        caption += f" A sample of the split: standard error of {metrics[0]} at most {largest:.4f}."
    if "intervals" in first:
        spans = [
            f"{name} {low:.3f} to {high:.3f} ({r['model']})"
            for r in results
            for name, (low, high) in r["intervals"].items()
        ]
        caption += f" 95 % by the bootstrap over nodes: {', '.join(spans)}."
    return Table(title, ["model", *metrics, *timed], rows, caption)


def _against(result: dict[str, Any]) -> str:
    """How many negatives a target was ranked against."""
    if "negatives" not in result:
        return ""
    fewest, most = result["negatives"]["fewest"], result["negatives"]["most"]
    return f", each against {most:,} negatives" + (f" (some {fewest:,})" if fewest < most else "")


def _freshness(result: dict[str, Any]) -> str:
    """How often the state was refreshed; a whole graph has none."""
    if "refresh" not in result:
        return ""
    often = "at every distinct time" if result["refresh"] == 1 else f"every {result['refresh']} events"
    return f"; state refreshed {often}"
