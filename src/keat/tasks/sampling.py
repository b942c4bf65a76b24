"""Distinct random integers for many rows at once, some of them forbidden."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def sample_distinct(
    rng: np.random.Generator, limit: Ints, need: Ints, banned_row: Ints, banned_value: Ints
) -> Ints:
    """For each row i, ``need[i]`` distinct integers of [0, limit[i]) without those banned for it.

    Uniform over subsets, in random order. Returns (rows, max need); places from ``need[i]`` on hold -1.
    Each row must have enough left: need[i] ≤ limit[i] - its number of distinct banned values.
    """
    rows, width = len(limit), int(need.max(initial=0))
    out = np.full((rows, width), -1, dtype=np.int64)
    if width == 0:
        return out
    free = limit - np.bincount(banned_row, minlength=rows)
    crowded = 4 * need > free  # much of the row is taken: shuffle it; else draw and redo collisions
    for chosen, method in ((crowded, _by_shuffling), (~crowded & (need > 0), _by_drawing)):
        index = np.flatnonzero(chosen)
        if len(index):
            place = np.full(rows, -1, dtype=np.int64)
            place[index] = np.arange(len(index))
            mine = place[banned_row] >= 0
            part = method(rng, limit[index], need[index], place[banned_row[mine]], banned_value[mine])
            out[index, : part.shape[1]] = part
    return out


def _by_shuffling(
    rng: np.random.Generator, limit: Ints, need: Ints, banned_row: Ints, banned_value: Ints
) -> Ints:
    keys = rng.random((len(limit), int(limit.max())))
    keys[np.arange(keys.shape[1]) >= limit[:, None]] = 2.0  # sorts behind everything
    keys[banned_row, banned_value] = 2.0
    picked = np.argsort(keys, axis=1)[:, : int(need.max())]
    picked[np.arange(picked.shape[1]) >= need[:, None]] = -1
    return picked


def _by_drawing(
    rng: np.random.Generator, limit: Ints, need: Ints, banned_row: Ints, banned_value: Ints
) -> Ints:
    width = int(need.max())
    stride = int(limit.max())
    banned = np.sort(banned_row * stride + banned_value)
    drawn = np.floor(rng.random((len(limit), width)) * limit[:, None]).astype(np.int64)
    unused = np.arange(width) >= need[:, None]
    drawn[unused] = np.broadcast_to(-1 - np.arange(width), drawn.shape)[unused]  # distinct, never redrawn
    stale = np.arange(len(limit))  # rows that may still hold a collision
    while len(stale):
        current = drawn[stale]
        order = np.argsort(current, axis=1, kind="stable")  # the earlier draw keeps its place
        ranked = np.take_along_axis(current, order, axis=1)
        repeated = np.zeros_like(ranked, dtype=bool)
        repeated[:, 1:] = ranked[:, 1:] == ranked[:, :-1]
        redo = np.zeros_like(repeated)
        np.put_along_axis(redo, order, repeated, axis=1)
        if len(banned):
            key = stale[:, None] * stride + current
            found = np.minimum(np.searchsorted(banned, key), len(banned) - 1)
            redo |= (banned[found] == key) & (current >= 0)
        row, column = np.nonzero(redo)
        drawn[stale[row], column] = np.floor(rng.random(len(row)) * limit[stale[row]]).astype(np.int64)
        stale = stale[np.unique(row)]
    drawn[unused] = -1
    return drawn
