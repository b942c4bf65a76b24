"""Spectral entropy of each node's events: how far from periodic they are.

The paper (its spectral density figure) transforms the series of a node's timestamps itself:

    M_f = |FFT(t_1, …, t_n)|_f,   P_f = M_f / Σ M,   H = - Σ P_f log P_f

Timestamps rise, so most of such a spectrum is the rise. ``counts`` transforms the number of events in each of
a fixed number of bins between a node's first and last event instead, its mean taken out: a clock that strikes
regularly has few lines there, and H near 0.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from keat.events import EventStream

Floats = npt.NDArray[np.float64]
BINS = 256
Of = Literal["timestamps", "counts"]


def spectral_entropies(events: EventStream, of: Of = "timestamps", fewest: int = 3) -> Floats:
    """H of every node with at least ``fewest`` events, in nats."""
    node = np.concatenate((events.src, events.dst))
    t = np.concatenate((events.t, events.t)).astype(np.float64)
    order = np.lexsort((t, node))
    node, t = node[order], t[order]
    first = np.flatnonzero(np.append(True, node[1:] != node[:-1])[: len(node)])
    size = np.diff(np.append(first, len(node)))
    first, size = first[size >= fewest], size[size >= fewest]
    if of == "counts":
        return _entropy(np.abs(np.fft.rfft(_counts(t, first, size), axis=1)))
    found = [  # nodes with equally many events are transformed together
        _entropy(np.abs(np.fft.rfft(t[first[size == n][:, None] + np.arange(n)], axis=1)))
        for n in np.unique(size)
    ]
    return np.concatenate(found) if found else np.empty(0)


def _counts(t: Floats, first: npt.NDArray[np.int64], size: npt.NDArray[np.int64]) -> Floats:
    """Events in each of BINS equal parts of a node's own time, less their mean."""
    row = np.repeat(np.arange(len(first)), size)
    places = np.concatenate([np.arange(a, a + n) for a, n in zip(first, size, strict=True)] or [first])
    begin, end = t[first], t[first + size - 1]
    span = np.where(end > begin, end - begin, 1.0)
    bin_of = np.minimum(((t[places] - begin[row]) / span[row] * BINS).astype(np.int64), BINS - 1)
    counts = np.zeros((len(first), BINS))
    np.add.at(counts, (row, bin_of), 1.0)
    return np.asarray(counts - counts.mean(axis=1, keepdims=True))


def _entropy(magnitude: Floats) -> Floats:
    total = magnitude.sum(axis=1, keepdims=True)
    share = np.divide(magnitude, total, out=np.zeros_like(magnitude), where=total > 0)
    logs = np.log(share, out=np.zeros_like(share), where=share > 0)
    return np.asarray(-(share * logs).sum(axis=1))
