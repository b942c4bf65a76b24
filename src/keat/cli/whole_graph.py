"""GEARSage and KEAT-GEARSage: models of a whole labelled graph (DGraphFin) rather than of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from keat.cli.console import err, out, print_json, print_line, print_table
from keat.cli.training_bar import TrainingBar
from keat.disk import safe_name

NAMES = ("gearsage", "keat-gearsage")
OPTIONS = ("model", "dataset", "folder", "resume", "threads", "device", "json")  # besides their settings


def train_whole_graph(
    model: str,
    source: str,
    folder: Path | None,
    *,
    resume: bool,
    settings: Mapping[str, object],  # of the model, where given
    fitting: Mapping[str, object],  # of the training, where given
    device: str,
    json: bool,
) -> None:
    """Train on the labelled training nodes, keep the epoch with the best validation AUC, score the test."""
    from keat.cli.graph_reporting import graph_report
    from keat.models.gearsage import build_graph
    from keat.training.description import read_description
    from keat.training.gearsage import (
        GEARSageFit,
        evaluate_gearsage,
        gearsage_configuration,
        labelled_nodes,
        open_labelled_graph,
        train_gearsage,
    )
    from keat.training.graph_baselines import GRAPH_BASELINES, evaluate_baseline
    from keat.training.runs import best_epoch

    data = open_labelled_graph(source)
    labelled_nodes(data, "test")  # which are scored at the end
    config = gearsage_configuration(model, **settings)
    fit: Any = GEARSageFit()
    fit = replace(fit, **fitting)
    graph = build_graph(data.stream, data.y, config.delta)
    folder = folder or Path("runs") / f"{model}-{safe_name(Path(source).stem)}-{fit.seed}"
    try:
        with TrainingBar(fit.epochs, "auc") as bar:
            reports = train_gearsage(
                model, data, folder, config, fit, resume=resume, device=device, watchers=[bar], graph=graph
            )
    except KeyboardInterrupt:
        print_line(
            f"stopped; finished epochs are in {folder}. Continue with the same command and --resume.", err
        )
        raise typer.Exit(130) from None
    test = evaluate_gearsage(folder, data, "test", device=device, graph=graph)
    known = graph.x.numpy()
    result = best_epoch(folder) | {
        "test": test,
        "run": str(folder),
        "epochs_now": len(reports),
        "beside": {name: evaluate_baseline(name, data, ["test"], known)[0] for name in GRAPH_BASELINES},
    }
    result["report"] = str(graph_report(folder, data, graph, result, device))
    if json:
        sigma = read_description(folder)["sigma"]
        print_json({"model": model, "dataset": source, "seed": fit.seed, "sigma": sigma, **result})
        return
    print_line(f"best epoch {result['epoch']} by validation auc; kept in {folder}")
    for part, metrics in (("val", result["val"]), ("test", test)):
        out.print(f"  {part:<4}  " + "  ".join(f"{name} {value:.4f}" for name, value in metrics.items()))
    for name, metrics in result["beside"].items():
        told = "  ".join(f"{metric} {value:.4f}" for metric, value in metrics.items())
        out.print(f"  test of {name}, beside it: {told}")
    print_line(f"The report: {result['report']}")


def predict_whole_graph(run: Path, source: str, top: int, json: bool) -> None:
    """The test nodes that look most like frauds."""
    from keat.training.gearsage import most_suspect, open_labelled_graph

    data = open_labelled_graph(source)
    rows = most_suspect(run, data, top)
    if json:
        print_json({"dataset": source, "of": len(data.test), "nodes": rows})
        return
    table = [[str(row["node"]), f"{row['score']:.4f}"] for row in rows]
    asked = f"of {len(data.test):,} test nodes, whose labels training was not told"
    caption = f"{asked}; the score is a logit, uncalibrated"
    print_table(f"The most suspect nodes of {source}", ["node", "score"], table, caption)


def evaluate_whole_graph(run: str, source: str, split: str, json: bool) -> None:
    """Score the validation or test nodes with a run."""
    from keat.training.gearsage import evaluate_gearsage, open_labelled_graph

    part = "valid" if split == "val" else "test"
    metrics = evaluate_gearsage(Path(run), open_labelled_graph(source), part)  # type: ignore[arg-type]
    if json:
        print_json({"model": run, "dataset": source, "split": split, "task": "node-label", **metrics})
    else:
        row = [run, *(f"{value:.4f}" for value in metrics.values())]
        print_table(f"{source}, {split} nodes: node-label", ["model", *metrics], [row])
