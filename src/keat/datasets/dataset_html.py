"""A dataset in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from keat.events import humanize

if TYPE_CHECKING:
    from keat.datasets.loading import Dataset


def dataset_html(data: Dataset) -> str:
    """Its size, its splits and its time scale."""
    stream, unit = data.stream, data.stream.unit
    span = int(stream.t[-1]) - int(stream.t[0])
    rows = {
        "events": f"{len(stream):,}",
        "nodes": f"{stream.num_nodes:,}",
        "features of an event": f"{stream.feature_dim:,}",
        "span": humanize(span, unit),
        **{f"{name} events": f"{size:,}" for name, size in data.splits.sizes.items()},
        "σ, from the training split": humanize(data.sigma(), unit),
    }
    cells = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in rows.items()
    )
    return f"<p><b>{escape(data.name)}</b></p><table>{cells}</table>"
