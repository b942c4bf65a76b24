"""p(Δt): gaps between consecutive events of the same node, and their drift between splits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keat.bandwidth import both_roles, node_gaps
from keat.events import EventStream
from keat.events.splitting import Splits


@dataclass(frozen=True, slots=True)
class GapSummary:
    """Quantiles of the gaps of one split, in the stream's unit, and their distance from training."""

    count: int
    p10: float
    median: float
    p90: float
    drift: float  # Kolmogorov-Smirnov distance to the training gaps: 0 the same … 1 disjoint


def gaps_of(events: EventStream) -> npt.NDArray[np.int64]:
    """All gaps between consecutive events of the same node within these events."""
    gaps, _ = node_gaps(*both_roles(events.src, events.dst, events.t))
    return gaps


def gap_summaries(splits: Splits) -> dict[str, GapSummary | None]:
    """One summary a split; None where no node occurs twice."""
    gaps = {name: np.sort(gaps_of(part)) for name, part in zip(Splits._fields, splits, strict=True)}
    summaries: dict[str, GapSummary | None] = {}
    for name, values in gaps.items():
        if len(values) == 0 or len(gaps["train"]) == 0:
            summaries[name] = None
            continue
        p10, median, p90 = np.quantile(values, [0.1, 0.5, 0.9])
        drift = ks_distance(gaps["train"], values)
        summaries[name] = GapSummary(len(values), float(p10), float(median), float(p90), drift)
    return summaries


def ks_distance(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> float:
    """Largest difference between two empirical distribution functions; both inputs sorted."""
    points = np.concatenate((a, b))
    at_a = np.searchsorted(a, points, side="right") / len(a)
    at_b = np.searchsorted(b, points, side="right") / len(b)
    return float(np.abs(at_a - at_b).max())
