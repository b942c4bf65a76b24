"""p(Δt) of each split: how the gaps between the events of a node drift between training and test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keat.analysis.gaps import comparable_gaps, gap_summaries
from keat.datasets.loading import Dataset
from keat.events import humanize
from keat.events.units import SECONDS_PER
from keat.report.html.line_chart import BLUE, GREEN, ORANGE, Curve, chart, figures, legend
from keat.report.html.report_page import Section
from keat.report.html.text_table import Table

TICKS = {"1 s": 1, "1 min": 60, "1 h": 3600, "1 day": 86_400, "1 month": 2_629_746, "1 year": 31_556_952}
BINS = 60
TICK_SHARE = 0.16  # of the axis, that the name of a tick takes
STYLES = {"train": (BLUE, ""), "val": (ORANGE, "6 3"), "test": (GREEN, "2 3")}


@dataclass(frozen=True, slots=True)
class GapShares:
    """Shares of gaps in bins that are equal on a logarithmic scale, in seconds, for each split, as drift
    compares them: up to a horizon that every event in them has behind it. Gaps of 0 have no place there
    and are counted by themselves, and so are longer gaps and first events, which have no gap."""

    edges: npt.NDArray[np.float64]
    shares: dict[str, npt.NDArray[np.float64]]
    none: dict[str, float]  # share of gaps that are 0
    beyond: dict[str, float]  # share of longer gaps and first events
    sigma: float  # seconds

    @property
    def ticks(self) -> dict[str, float]:
        """Round times within the bins, by name, as far as their names do not run into each other."""
        apart = (self.edges[-1] / self.edges[0]) ** TICK_SHARE
        chosen: dict[str, float] = {}
        for name, at in TICKS.items():
            clear = all(at >= before * apart for before in chosen.values())
            if clear and self.edges[0] <= at <= self.edges[-1]:
                chosen[name] = at
        return chosen


def gap_shares(data: Dataset) -> GapShares:
    scale = SECONDS_PER[data.stream.unit]
    compared = comparable_gaps(data.splits)
    within = {
        name: values[(values > 0) & (values <= compared.horizon)] * scale
        for name, values in compared.gaps.items()
    }
    found = np.concatenate(list(within.values()))
    smallest, largest = (found.min(), found.max()) if len(found) else (scale, scale)
    edges = np.geomspace(smallest * 0.999, largest * 1.001, BINS)
    return GapShares(
        edges,
        {
            name: np.histogram(values, bins=edges)[0] / len(compared.gaps[name])
            for name, values in within.items()
        },
        {name: float(np.mean(values == 0)) for name, values in compared.gaps.items()},
        {name: float(np.mean(values > compared.horizon)) for name, values in compared.gaps.items()},
        data.sigma() * scale,
    )


def drift_section(datasets: Mapping[str, Dataset]) -> Section:
    """A chart and a table for each dataset."""
    charts = [_chart(name, gap_shares(data)) for name, data in datasets.items()]
    alone = len(charts) == 1
    drawn = f"<figure>{charts[0]}</figure>" if alone else figures(charts)
    key = legend([Curve([], colour, name, dash) for name, (colour, dash) in STYLES.items()])
    return Section(
        "Does the clock change?",
        "p(Δt): the time since the previous event of a node, on a logarithmic scale, by split, as far back "
        "as all can look: half of training. Drift is the Kolmogorov-Smirnov distance to training's second "
        "half: 0 the same, 1 disjoint. σ sets the width of kernels.",
        key + drawn,
        [_table(name, data) for name, data in datasets.items()],
        beside=alone,
    )


def _chart(name: str, gaps: GapShares) -> str:
    def place(seconds: float) -> float:
        return float(np.interp(np.log(seconds), np.log(gaps.edges), np.arange(len(gaps.edges)))) - 0.5

    curves = [
        Curve(gaps.shares[split].tolist(), colour, dash=dash) for split, (colour, dash) in STYLES.items()
    ]
    top = max(float(shares.max(initial=0.0)) for shares in gaps.shares.values())
    return chart(
        name,
        curves,
        [(place(at), label) for label, at in gaps.ticks.items()],
        0.0,
        top * 1.05,
        f"Share of gaps by length in {name}, for each split",
        marks=[(place(gaps.sigma), "σ")],
    )


def _table(name: str, data: Dataset) -> Table:
    unit = data.stream.unit
    rows = [
        [split, "0", "", "", "", ""]
        if found is None
        else [
            split,
            f"{found.count:,}",
            *(humanize(value, unit) for value in (found.p10, found.median, found.p90)),
            f"{found.drift:.3f}",
        ]
        for split, found in gap_summaries(data.splits).items()
    ]
    sigma = f"All gaps back to the same node. σ of the training split: {humanize(data.sigma(), unit)}."
    return Table(f"Gaps in {name}", ["split", "gaps", "10 %", "median", "90 %", "drift"], rows, sigma)
