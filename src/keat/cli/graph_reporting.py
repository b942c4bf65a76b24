"""The report that a training on a whole labelled graph ends with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from keat.cli.reporting import beside_others, command_line, machine, results_section, scored, settings
from keat.datasets.dgraphfin import DGraphFin
from keat.events import humanize
from keat.models.gearsage import ContactGraph
from keat.report.curves import curves_section
from keat.report.fading import fading_section
from keat.report.page import Report, Section, present, write_report
from keat.report.tables import Table
from keat.training.gearsage import Part, labelled_nodes, open_gearsage
from keat.training.graph_baselines import GRAPH_BASELINES

HEADLINE = "auc"
UNTIL = {"target": "the latest edge of the one it tells about", "end": "the end of the graph"}


def graph_report(
    folder: Path, data: DGraphFin, graph: ContactGraph, result: Mapping[str, Any], device: str = "cpu"
) -> Path:
    """One run beside the baselines. ``result`` has metrics (``val``, ``test``, ``beside``); ``graph`` is the
    one that was trained on."""
    model, run = open_gearsage(folder)
    stream, name = data.stream, run["model"]
    about = {"dataset": stream.name, "split": "test", "task": run["task"], "events": len(data.test)}
    baselines = "; ".join(f"{other} {what}" for other, what in GRAPH_BASELINES.items())
    story, tiles = beside_others(name, folder, result, "baseline")
    frauds = int((data.y[data.test] == 1).sum())
    report = Report(
        title=f"{name} on {stream.name}",
        eyebrow="keat train · labels of a whole graph",
        facts=f"{_facts(data, model.sigma)} · {settings(run)} · {machine(device)}",
        tiles=tiles,
        story=f"{story} Of the {len(data.test):,} test nodes {frauds:,} are frauds.",
        sections=present(
            results_section(
                [scored(name, about, result)],
                HEADLINE,
                f"An AUC of 0.5 is a guess. Baselines pass no messages: {baselines}.",
                "Model and baselines",
            ),
            curves_section({name: folder}, HEADLINE),
            fading_section(
                model.config.kernel,
                model.kernel,
                graph.ages[graph.age].numpy(),
                stream.unit,
                UNTIL[model.config.delta],
            ),
            _labels_section(data),
        ),
        command=command_line(),
    )
    return write_report(report, folder / "report.html")


def _facts(data: DGraphFin, sigma: float) -> str:
    stream = data.stream
    sizes = " / ".join(f"{len(getattr(data, part)):,}" for part in get_args(Part))
    return (
        f"{stream.num_nodes:,} nodes ({sizes} with a label to train, validate and test), "
        f"{len(stream):,} edges, σ {humanize(sigma, stream.unit)}"
    )


def _labels_section(data: DGraphFin) -> Section:
    """Few frauds make an uncertain AUC; a reader should see how many there were."""
    rows = []
    for part in get_args(Part):
        y = data.y[labelled_nodes(data, part)]
        frauds = int((y == 1).sum())
        rows.append([part, f"{len(y):,}", f"{frauds:,}", f"{100 * frauds / len(y):.1f} %"])
    return Section(
        "What was labelled",
        "Labels are split, not time: every edge is input. Training sees the labels of its own part only.",
        tables=[Table("Labelled nodes", ["part", "nodes", "frauds", "share of frauds"], rows)],
    )
