"""Negatives for ranking: TGB's mix of historical and random destinations, vectorized.

TGB's generator (``hist_rnd``), for a positive (s, d, t) with P = the true destinations of s at t in the
split and H = the destinations of s in training:

1. historical: min(⌊n/2⌋, |H∖P|) of H∖P without replacement;
2. random: the rest of n from the catalogue ∖ (P ∪ H) without replacement, or all of them if there are
   fewer. TGB's catalogue is every id from the lowest destination to the highest, sources in between
   included; for other data we take the destinations that occur.

The procedure is TGB's; the random numbers are not (its stream depends on one Python call a positive),
so for a leaderboard entry use the official files where the negatives are sampled.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from keat.errors import InputError
from keat.events import EventStream
from keat.tasks.candidates import OwnCandidates
from keat.tasks.sampling import Ints, sample_distinct
from keat.tasks.sorted_rows import begins_run
from keat.tasks.true_destinations import TrueDestinations

CELLS_AT_ONCE = 1 << 22


def sample_negatives(
    train: EventStream,
    positives: EventStream,
    catalogue: npt.NDArray[np.int32],
    number: int,
    *,
    historical_share: float = 0.5,
    seed: int = 42,
    file: Path | None = None,
    only: Ints | None = None,
) -> OwnCandidates:
    """``number`` negatives a positive, as above; ``historical_share=0`` leaves only the random ones (and
    H empty). With ``file``, the matrix is written there and memory-mapped instead of held in memory. With
    ``only``, positions that ascend, negatives of these positives alone are kept: the same as among all."""
    if number < 1:
        raise InputError(f"At least one negative is needed, not {number}.")
    sampler = _Sampler(train if historical_share > 0 else train[:0], positives, np.unique(catalogue))
    width = min(number, len(catalogue))
    leader = _first_alike(positives)
    kept = None if only is None else np.unique(np.concatenate((only, leader[only])))
    shape = (len(positives) if kept is None else len(kept), width)
    matrix = (
        np.empty(shape, dtype=np.int32)
        if file is None
        else np.lib.format.open_memmap(file, mode="w+", dtype=np.int32, shape=shape)
    )
    lengths = np.empty(len(matrix), dtype=np.int32)
    rows = max(1, CELLS_AT_ONCE // (3 * width))
    for start in range(0, len(positives), rows):
        stop = min(start + rows, len(positives))
        first, last = (start, stop) if kept is None else np.searchsorted(kept, (start, stop))
        if first == last:
            continue
        rng = np.random.default_rng([seed, start])
        drawn = sampler.draw(rng, start, stop, number, historical_share, width)
        mine = slice(None) if kept is None else kept[first:last] - start
        matrix[first:last], lengths[first:last] = (part[mine] for part in drawn)
    if only is None or kept is None:
        copies = np.flatnonzero(leader != np.arange(len(leader)))
        matrix[copies], lengths[copies] = matrix[leader[copies]], lengths[leader[copies]]
        return OwnCandidates(positives, matrix, lengths)
    place = np.searchsorted(kept, leader[only])
    return OwnCandidates(positives, matrix[place], lengths[place], only)


class _Sampler:
    """Ranks instead of ids: the k-th member of H, and the k-th place outside H, are found by look-up.

    Destinations are places in the catalogue throughout; ids come back at the end.
    """

    def __init__(self, train: EventStream, positives: EventStream, catalogue: npt.NDArray[np.int32]) -> None:
        self.positives, self.true = positives, TrueDestinations(positives)
        self.catalogue, self.span = catalogue, len(catalogue)
        pairs = np.unique(train.src.astype(np.int64) * self.span + np.searchsorted(catalogue, train.dst))
        self.pairs = pairs  # H of every source, sorted, one source after the other
        self.history, owner = pairs % self.span, pairs // self.span
        sources = np.arange(positives.num_nodes + 1)
        self.first = np.searchsorted(owner, sources)
        # Places outside H that come before the j-th member of H; within a source this does not decrease.
        outside_before = self.history - (np.arange(len(pairs)) - self.first[owner])
        self.outside_key = owner * (self.span + 1) + outside_before

    def draw(
        self, rng: np.random.Generator, start: int, stop: int, number: int, share: float, width: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        src = self.positives.src[start:stop].astype(np.int64)
        row, destination = self.true.expand(slice(start, stop))
        value = np.searchsorted(self.catalogue, destination)
        first, count = self.first[src], self.first[src + 1] - self.first[src]
        before = self._members_before(src[row], value)
        inside = self._members_before(src[row], value + 1) > before  # this true destination is in H
        outside = ~inside
        left = count - np.bincount(row[inside], minlength=len(src))
        want = np.minimum(int(number * share), left)
        ranks = sample_distinct(rng, count, want, row[inside], before[inside])
        old = self.history[np.maximum(first[:, None] + ranks, 0)] if len(self.history) else ranks

        free = self.span - count
        left = free - np.bincount(row[outside], minlength=len(src))
        more = np.minimum(number - want, left)
        ranks = sample_distinct(rng, free, more, row[outside], (value - before)[outside])
        new = ranks + self._members_below_rank(src, ranks)

        length = want + more
        both = np.concatenate((old, new), axis=1)
        used = np.concatenate((_first(want, old.shape[1]), _first(more, new.shape[1])), axis=1)
        packed = np.take_along_axis(both, np.argsort(~used, axis=1, kind="stable"), axis=1)[:, :width]
        # What is left of the row behind the last negative repeats a valid one.
        spare = np.where(length > 0, packed[:, 0], value[np.searchsorted(row, np.arange(len(src)))])
        packed = np.where(_first(length, packed.shape[1]), packed, spare[:, None])
        filled = np.repeat(spare[:, None], width, axis=1)
        filled[:, : packed.shape[1]] = packed
        return self.catalogue[filled], length.astype(np.int32)

    def _members_before(self, src: Ints, value: Ints) -> Ints:
        """How many members of H(src) are smaller than ``value``."""
        return np.searchsorted(self.pairs, src * self.span + value) - self.first[src]

    def _members_below_rank(self, src: Ints, rank: Ints) -> Ints:
        """How many members of H(src) come before the ``rank``-th place outside it."""
        key = src[:, None] * (self.span + 1) + rank
        return np.searchsorted(self.outside_key, key, side="right") - self.first[src][:, None]


def _first(count: Ints, width: int) -> npt.NDArray[np.bool_]:
    return np.arange(width) < count[:, None]


def _first_alike(positives: EventStream) -> Ints:
    """For each row the first with the same (src, dst, t): they get the same negatives, as in TGB, which keeps
    them in a dict."""
    order = np.lexsort((positives.dst, positives.src, positives.t))
    begins = begins_run(positives.t[order], positives.src[order], positives.dst[order])
    leader = np.empty_like(order)
    leader[order] = order[np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))]
    return leader
