"""Sums of the past whose terms fade with age, exactly and all at once: Σ x_i 2^(-(t - t_i) / h) over t_i < t.

A question about a node or pair at t reads every row of it that is strictly earlier. The sums as of each row
are made by doubling: a sum over the last 2n rows is that over the last n, plus the one before it, faded by
the time between the two. So there are log₂ passes over arrays, and no loop over events.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


class PastOfKeys:
    """Rows by key (a node, a pair) in the order of time, and for each question the last strictly earlier one.

    ``key`` and ``asked_key`` are numbers of whatever rows and questions are about.
    """

    def __init__(self, key: Whole, t: Whole, asked_key: Whole, asked_t: Whole) -> None:
        self.order = np.lexsort((t, key))
        self.key, self.t = key[self.order], t[self.order]
        moments = np.unique(t)
        place = _both(self.key, np.searchsorted(moments, self.t), len(moments))
        asked = _both(asked_key, np.searchsorted(moments, asked_t), len(moments))
        self.row = np.searchsorted(place, asked) - 1
        safe = np.maximum(self.row, 0)
        self.has = (self.row >= 0) & (self.key[safe] == asked_key) if len(key) else asked_key < 0
        self.row = np.where(self.has, safe, 0)
        last = self.t[self.row] if len(key) else asked_t
        self.age: Floats = np.where(self.has, asked_t - last, 0).astype(np.float64)

    def sums(self, values: Floats, half_life: float) -> Floats:
        """(questions, D) of values (rows, D); zeros where there is no past. An infinite half-life: plain."""
        if len(values) == 0:
            return np.zeros((len(self.row), values.shape[1]))
        rate = math.log(2.0) / half_life
        total = values[self.order].astype(np.float64)
        step = 1
        while step < len(total):
            same = np.flatnonzero(self.key[step:] == self.key[:-step])
            if len(same) == 0:  # no key has so many rows
                break
            fade = np.exp(-rate * (self.t[same + step] - self.t[same]))
            total[same + step] += fade[:, None] * total[same]  # the right side is read before
            step *= 2
        found: Floats = total[self.row] * (self.has * np.exp(-rate * self.age))[:, None]
        return found


def _both(key: Whole, moment: npt.NDArray[Any], moments: int) -> Whole:
    """One number by which rows are in the order of key, then time."""
    combined: Whole = key.astype(np.int64) * (moments + 1) + moment
    return combined
