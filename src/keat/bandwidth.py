"""σ: the time scale of a stream, from which kernels take their width.

The paper calls σ "the standard deviation of inter-event time differences computed from the training
set". The authors' constants identify it: the mean over nodes of each node's standard deviation
(ddof 0) of gaps between its consecutive events, in either role. That is ``node-mean-std`` here, and
the default; the other readings are kept for comparison.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from keat.clock import PLAIN, Clock
from keat.errors import Notice, unknown_name

SigmaMode = Literal[
    "node-mean-std",  # mean over nodes of the std of their gaps; one gap counts as std 0
    "node-mean-std-2",  # the same over nodes with at least two gaps
    "node-median-std",  # median over nodes
    "node-pooled-std",  # std of all nodes' gaps thrown together
    "src-mean-std",  # as the default, sources only
    "dst-mean-std",  # as the default, destinations only
    "pair-mean-std",  # as the default, gaps between events of the same (src, dst)
    "first-gap-std",  # pooled, each node's first gap measured from the start of the stream (CTAN)
    "global-std",  # gaps between consecutive events of the whole stream: the clock, not the nodes
]
APPEARANCES = 1 << 25  # of nodes in events, looked at together
BLOCK = 1 << 20  # events
SIGMA_MODES: tuple[SigmaMode, ...] = get_args(SigmaMode)


def estimate_sigma(
    src: npt.NDArray[np.integer],
    dst: npt.NDArray[np.integer],
    t: npt.NDArray[np.int64],
    mode: SigmaMode = "node-mean-std",
    clock: Clock = PLAIN,
) -> float:
    """σ of time-ordered events, in the unit of ``t`` or that of ``clock``. Give it the training split only.

    Where the data give no positive value (no node ever returns, or all at one time) it falls back to
    the span of the stream, or 1, and says so.
    """
    if mode not in SIGMA_MODES:
        raise unknown_name("sigma mode", mode, SIGMA_MODES)
    sigma = _raw_sigma(src, dst, t, mode, clock)
    if np.isfinite(sigma) and sigma > 0:
        return sigma
    fallback = float(clock.measure(t[-1:] - t[:1]).max(initial=0)) or 1.0
    warnings.warn(
        f"Gaps between events give no time scale ({mode} is {sigma:g}); using {fallback:g} instead. "
        "Set a width of your own if that is not what you want.",
        Notice,
        stacklevel=2,
    )
    return fallback


def node_gaps(
    nodes: npt.NDArray[np.integer], t: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.integer]]:
    """Gaps between consecutive appearances of the same node, and whose they are.

    ``nodes`` and ``t`` are in time order. Sorted by node, each node's gaps in time order.
    """
    order = np.argsort(nodes, kind="stable")  # stable: keeps time order within a node
    owner, times = nodes[order], t[order]
    same = owner[1:] == owner[:-1]
    return (times[1:] - times[:-1])[same], owner[1:][same]


def both_roles(
    src: npt.NDArray[np.integer], dst: npt.NDArray[np.integer], t: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.int64]]:
    """Each event twice, once for its source and once for its destination, still in time order."""
    return np.stack((src, dst), axis=1).ravel(), np.repeat(t, 2)


def _raw_sigma(
    src: npt.NDArray[np.integer],
    dst: npt.NDArray[np.integer],
    t: npt.NDArray[np.int64],
    mode: SigmaMode,
    clock: Clock,
) -> float:
    if mode == "global-std":
        return float(np.std(clock.measure(np.diff(t)))) if len(t) > 1 else float("nan")
    if mode == "first-gap-std":
        nodes, times = both_roles(src, dst, t)
        _, first = np.unique(nodes, return_index=True)
        gaps, _ = node_gaps(nodes, times)
        from_start = times[first] - t[0] if len(t) else times
        return float(np.std(clock.measure(np.concatenate((gaps, from_start))))) if len(t) else float("nan")
    if mode == "src-mean-std":
        gaps, owner = node_gaps(src, t)
    elif mode == "dst-mean-std":
        gaps, owner = node_gaps(dst, t)
    elif mode == "pair-mean-std":
        _, pair = np.unique(src.astype(np.int64) << 32 | dst.astype(np.int64), return_inverse=True)
        gaps, owner = node_gaps(pair, t)
    elif mode == "node-pooled-std":
        gaps, owner = node_gaps(*both_roles(src, dst, t))
        return float(np.std(clock.measure(gaps))) if len(gaps) else float("nan")
    else:
        return _of_nodes(src, dst, t, mode, clock)
    return _average(*_std_by_owner(clock.measure(gaps), owner), mode) if len(gaps) else float("nan")


def _of_nodes(
    src: npt.NDArray[np.integer],
    dst: npt.NDArray[np.integer],
    t: npt.NDArray[np.int64],
    mode: SigmaMode,
    clock: Clock,
) -> float:
    """From the gaps of every node, in either role: some nodes at a time, so that a long stream is never in
    memory as a whole to be sorted."""
    found = []
    for nodes, times in _some_nodes_at_a_time(src, dst, t):
        gaps, owner = node_gaps(nodes, times)
        if len(gaps):
            found.append(_std_by_owner(clock.measure(gaps), owner))
    if not found:
        return float("nan")
    stds, counts = (np.concatenate(each) for each in zip(*found, strict=True))
    return _average(stds, counts, mode)


def _some_nodes_at_a_time(
    src: npt.NDArray[np.integer], dst: npt.NDArray[np.integer], t: npt.NDArray[np.int64]
) -> Iterator[tuple[npt.NDArray[np.integer], npt.NDArray[np.int64]]]:
    """`both_roles` of some nodes after others, in their order."""
    if 2 * len(t) <= APPEARANCES:
        yield both_roles(src, dst, t)
        return
    blocks = [slice(row, row + BLOCK) for row in range(0, len(t), BLOCK)]
    size = 1 + max(int(max(src[rows].max(), dst[rows].max())) for rows in blocks)
    counts = np.zeros(size, dtype=np.int64)
    for rows in blocks:
        counts += np.bincount(src[rows], minlength=size) + np.bincount(dst[rows], minlength=size)
    group = np.cumsum(counts) // APPEARANCES  # a node that is busier than that has one of its own
    for first, last in zip(*_runs(group), strict=True):
        parts = [_of_range(*both_roles(src[rows], dst[rows], t[rows]), first, last) for rows in blocks]
        nodes, times = zip(*parts, strict=True)
        yield np.concatenate(nodes), np.concatenate(times)


def _runs(group: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where equal numbers begin and end."""
    starts = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    return starts, np.append(starts[1:], len(group))


def _of_range(
    nodes: npt.NDArray[np.integer], times: npt.NDArray[np.int64], first: int, last: int
) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.int64]]:
    chosen = (nodes >= first) & (nodes < last)
    return nodes[chosen], times[chosen]


def _average(stds: npt.NDArray[np.float64], counts: npt.NDArray[np.int64], mode: SigmaMode) -> float:
    if mode == "node-median-std":
        return float(np.median(stds))
    if mode == "node-mean-std-2":
        stds = stds[counts >= 2]
    return float(np.mean(stds)) if len(stds) else float("nan")


def _std_by_owner(
    gaps: npt.NDArray[np.int64 | np.float64], owner: npt.NDArray[np.integer]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Population std and number of gaps per owner; ``owner`` is sorted. Two passes, for accuracy."""
    starts = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
    counts = np.diff(np.append(starts, len(owner)))
    values = gaps.astype(np.float64)
    means = np.add.reduceat(values, starts) / counts
    deviations = values - np.repeat(means, counts)
    return np.sqrt(np.add.reduceat(deviations * deviations, starts) / counts), counts
