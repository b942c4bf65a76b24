"""Where a log can be cut in time, so that each bucket has at most so many rows; from a sample, in one pass.

Of each piece, sorted, every k-th time is kept. Whatever the times are, a bucket that holds m of them has at
most (m + number of pieces) · k rows, so a cut is never far from where it should be. A time at which more
happened than fits into a bucket has a bucket of its own, which need not be sorted and can be of any size.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]
MOST_EVERY = 1 << 10


@dataclass(slots=True)
class TimeSample:
    """Times seen so far, every k-th of each piece."""

    bucket_rows: int
    pieces: list[npt.NDArray[Any]] = field(default_factory=list)

    @property
    def every(self) -> int:
        return min(max(self.bucket_rows // 64, 1), MOST_EVERY)

    def add(self, times: npt.NDArray[Any]) -> None:
        self.pieces.append(np.sort(times)[:: self.every].copy())

    def all(self) -> npt.NDArray[Any]:
        return np.concatenate(self.pieces)

    def samples_a_bucket(self) -> int:
        wanted = self.bucket_rows // self.every
        return max(wanted - len(self.pieces), wanted // 2, 1)


def cuts(sample: Times, samples_a_bucket: int) -> Times:
    """The times with which buckets begin, rising, from the first of all; of times in any order."""
    times = np.sort(sample)
    begins = [int(times[0])]
    place = 0  # of the first sample of the bucket
    while place + samples_a_bucket < len(times):
        first, following = int(times[place]), int(times[place + samples_a_bucket])
        if following > first:
            begins.append(following)
            place = int(np.searchsorted(times, following))
            continue
        if begins[-1] < first:  # a crowded time begins and ends its bucket
            begins.append(first)
        if first == np.iinfo(np.int64).max:
            break
        begins.append(first + 1)
        place = int(np.searchsorted(times, first, side="right"))
    return np.array(begins, dtype=np.int64)


def is_one_time(begins: Times, bucket: int) -> bool:
    """Whether nothing but a single time can be in a bucket."""
    return bucket + 1 < len(begins) and bool(begins[bucket + 1] == begins[bucket] + 1)
