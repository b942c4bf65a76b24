"""p(Δt): gaps between consecutive events of the same node, and their drift between splits.

Gaps taken inside a split alone would make any short split look quick, since long gaps do not fit into
it. Here an event looks back to its node's previous event in the whole stream. What is left is the start
of the stream: an event at age a of the stream cannot have a gap longer than a. Drift therefore asks one
question that every event in it can answer: was the node seen within the last x, for x up to a horizon
h? The first half of the training events sets h by its span, and its second half, which has all of h
behind it, is what validation and test are compared with. Longer gaps and first events are both "not
within h", so none of them is left out and steady data have no drift, however long their gaps are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keat.bandwidth import both_roles, node_gaps
from keat.events import EventStream
from keat.events.splitting import Splits

FIRST = -1  # in place of the gap of a node's first event
NEVER = np.iinfo(np.int64).min
BLOCK = 1 << 20  # events looked at together


@dataclass(frozen=True, slots=True)
class GapSummary:
    """Quantiles of all gaps of one split, in the stream's unit, and its distance from training."""

    count: int
    p10: float
    median: float
    p90: float
    drift: float  # Kolmogorov-Smirnov distance to training up to the horizon: 0 the same … 1 disjoint


@dataclass(frozen=True, slots=True)
class Comparable:
    """What splits may be compared by: gaps of events that have the whole horizon behind them, sorted.
    All that is not within the horizon, longer gaps and first events, is ``horizon + 1``."""

    horizon: int
    gaps: dict[str, npt.NDArray[np.int64]]


def gaps_of(events: EventStream) -> npt.NDArray[np.int64]:
    """All gaps between consecutive events of the same node within these events."""
    gaps, _ = node_gaps(*both_roles(events.src, events.dst, events.t))
    return gaps


def looking_back(splits: Splits) -> dict[str, npt.NDArray[np.int64]]:
    """For each split, two values for each event (source, destination): the gap to the previous event of the
    node in the whole stream, or FIRST."""
    last = np.full(splits.train.num_nodes, NEVER, dtype=np.int64)  # when each node was seen
    gaps = {}
    for name, part in zip(Splits._fields, splits, strict=True):
        gaps[name] = np.empty(2 * len(part), dtype=np.int64)
        for block in part.blocks(BLOCK):
            start = 2 * (block.offset - part.offset)
            gaps[name][start : start + 2 * len(block)] = _gaps_since(last, block)
    return gaps


def _gaps_since(last: npt.NDArray[np.int64], events: EventStream) -> npt.NDArray[np.int64]:
    """Gaps of the next events of a stream, given when each node was seen last; that is brought up to date."""
    nodes, times = both_roles(events.src, events.dst, events.t)
    order = np.argsort(nodes, kind="stable")  # stable: keeps time order within a node
    owner, when = nodes[order], times[order]
    first = np.append(True, owner[1:] != owner[:-1])
    before = np.append(NEVER, when[:-1])
    before[first] = last[owner[first]]
    final = np.append(first[1:], True)
    last[owner[final]] = when[final]
    gaps = np.empty(len(nodes), dtype=np.int64)
    gaps[order] = np.where(before == NEVER, FIRST, when - before)
    return gaps


def comparable_gaps(splits: Splits) -> Comparable:
    return _comparable(splits, looking_back(splits))


def gap_summaries(splits: Splits) -> dict[str, GapSummary | None]:
    """A summary of each split; None where no node returns."""
    everything = looking_back(splits)
    compared = _comparable(splits, everything).gaps
    summaries: dict[str, GapSummary | None] = {}
    for name, values in everything.items():
        gaps = values[values != FIRST]
        if len(gaps) == 0:
            summaries[name] = None
            continue
        p10, median, p90 = np.quantile(gaps, [0.1, 0.5, 0.9], overwrite_input=True)
        drift = ks_distance(compared["train"], compared[name])
        summaries[name] = GapSummary(len(gaps), float(p10), float(median), float(p90), drift)
    return summaries


def ks_distance(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> float:
    """Largest difference between two empirical distribution functions; both inputs sorted."""
    return max(
        float(np.abs(share(a, points[row : row + BLOCK]) - share(b, points[row : row + BLOCK])).max())
        for points in (a, b)
        for row in range(0, len(points), BLOCK)
    )


def share(values: npt.NDArray[np.int64], points: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The share of sorted values up to each point."""
    return np.searchsorted(values, points, side="right") / len(values)


def _comparable(splits: Splits, everything: dict[str, npt.NDArray[np.int64]]) -> Comparable:
    t = splits.train.t
    middle = t[len(t) // 2]
    horizon = int(middle - t[0])
    late = 2 * int(np.searchsorted(t, middle))  # events of the middle's own time have it behind them too
    parts = {**everything, "train": everything["train"][late:]}
    return Comparable(
        horizon,
        {
            name: np.sort(np.where((gaps == FIRST) | (gaps > horizon), horizon + 1, gaps))
            for name, gaps in parts.items()
        },
    )
