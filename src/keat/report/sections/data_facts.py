"""What a report says of its data: their size and time scale, and how many labels there were."""

from __future__ import annotations

from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.loading import Dataset
from keat.events import humanize
from keat.report.html.report_page import Section
from keat.report.html.text_table import Table
from keat.tasks.graph_label import PARTS, labelled_nodes


def about_data(data: Dataset | DGraphFin, sigma: float | None = None) -> str:
    """The size of the data and their time scale, in a few words."""
    stream = data.stream
    if isinstance(data, DGraphFin):
        sizes = " / ".join(f"{len(labelled_nodes(data, part)):,}" for part in PARTS)
        scale = "" if sigma is None else f", σ {humanize(sigma, stream.unit)}"
        return (
            f"{stream.num_nodes:,} nodes ({sizes} with a label to train, validate and test), "
            f"{len(stream):,} edges{scale}"
        )
    sizes = " / ".join(f"{size:,}" for size in data.splits.sizes.values())
    return (
        f"{stream.num_nodes:,} nodes, {len(stream):,} events ({sizes} to train, validate and test), "
        f"σ {humanize(data.sigma(), stream.unit)}"
    )


def labels_section(data: DGraphFin) -> Section:
    """Few frauds make an uncertain AUC; a reader should see how many there were."""
    rows = []
    for part in PARTS:
        y = data.y[labelled_nodes(data, part)]
        frauds = int((y == 1).sum())
        rows.append([part, f"{len(y):,}", f"{frauds:,}", f"{100 * frauds / len(y):.1f} %"])
    return Section(
        "What was labelled",
        "Labels are split, not time: every edge is input. Training sees the labels of its own part only.",
        tables=[Table("Labelled nodes", ["part", "nodes", "frauds", "share of frauds"], rows)],
    )
