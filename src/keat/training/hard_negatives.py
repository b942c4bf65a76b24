"""What a positive is taught against by the stratified loss: certain negatives, and some of all the others.

Of a catalogue of N destinations, a positive (u, v, t) has four kinds of others:

- those that u reaches at t as well. They are true, too, and are left out;
- H, the hard ones, certain to be asked: the latest destinations of u, the latest of the catalogue who reached
  u, and the latest destinations of all, as known strictly before t;
- partners, to whom u has been before and who are not in H, if the catalogue is large (N > 64 R). All K to
  whom it has been are cut into P equal parts and one is drawn of each. Each drawn one that is not in H weighs
  K / P;
- the rest. What is neither true nor in H, of M, is cut into R equal parts and one is drawn of each. Each
  drawn one that is no partner, as far as those are drawn apart, weighs M / R.

Each of the others is drawn with a chance that is one over its weight, and hardly any twice. So the sum of
weight · e^s has the expected value Σ e^s over all that are not true: the loss stays that of the whole
catalogue. Where M ≤ R, all are asked with weight 1, and it is that loss itself. Who reached u and is not of
the catalogue is in no H: the softmax would be one of more than the catalogue.

Partners are drawn apart because a source that knows hundreds will go to one of them, and R of a large
catalogue hardly ever are such: a model could think much of all of them and would not be told. Of a small one
they are drawn often enough.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from keat.events import EventStream
from keat.ops import compiled

Array = npt.NDArray[Any]
OWN = 16  # latest distinct destinations of the source
REACHED_BY = 8  # latest distinct sources that reached it
ANYONE = 16  # latest distinct destinations of all
HARD = OWN + REACHED_BY + ANYONE
PARTNERS = 16  # drawn of all to whom the source has been, if partners are drawn apart
SPARSE = 64  # they are where this or more of the catalogue come to one that is drawn
NONE = -1


class _Split(NamedTuple):
    """The training split and its catalogue, as the compiled loop reads them."""

    src: Array
    dst: Array
    t: Array
    catalogue: Array  # (N,) destinations, ascending
    place: Array  # (nodes,) where each node is in the catalogue, or -1
    true: Array  # places of all destinations of a source at a time, ascending; of one after the other
    true_from: Array  # (events,) where those of the event's source and time begin …
    true_to: Array  # … and end
    pair_from: Array  # (nodes + 1,) where the pairs of each source begin in what follows …
    pair_place: Array  # … the places of its destinations, ascending, …
    pair_first: Array  # … the event in which it went there first, …
    by_first: Array  # … and the places again, in the order in which it went there first


class _Latest(NamedTuple):
    """Whom nodes have met, as places in the catalogue: latest first, then -1."""

    own: Array  # (nodes, OWN)
    reached_by: Array  # (nodes, REACHED_BY)
    anyone: Array  # (ANYONE,)
    partners: Array  # (nodes,) destinations that each has been to


class _Scratch(NamedTuple):
    left_out: Array  # places of a question's true and hard ones
    is_left_out: Array  # (N,) whether a place is among them; between two questions, none is


class HardNegatives:
    """Draws for the events of a training split. Each epoch walks along it anew, see `walk`."""

    def __init__(self, train: EventStream, catalogue: npt.NDArray[np.int32], number: int) -> None:
        """``catalogue`` is ascending and has every destination of ``train``; ``number`` is R."""
        self.number, self.partners = number, PARTNERS if len(catalogue) >= SPARSE * number else 0
        place = np.full(max(train.num_nodes, int(catalogue[-1]) + 1), NONE, dtype=np.int32)
        place[catalogue] = np.arange(len(catalogue), dtype=np.int32)
        true = _true_places(train, place)
        pairs = _pairs(train, place)
        self.split = _Split(train.src, train.dst, train.t, catalogue, place, *true, *pairs)
        self.offset = train.offset

    def walk(self) -> Walk:
        return Walk(self)


class Walk:
    """Once along the training split, block by block in the order of time."""

    def __init__(self, of: HardNegatives) -> None:
        self.of, self.known = of, 0
        nodes, places = len(of.split.place), len(of.split.catalogue)
        self.latest = _Latest(
            np.full((nodes, OWN), NONE, dtype=np.int32),
            np.full((nodes, REACHED_BY), NONE, dtype=np.int32),
            np.full(ANYONE, NONE, dtype=np.int32),
            np.zeros(nodes, dtype=np.int64),
        )
        self.scratch = _Scratch(np.empty(places, dtype=np.int32), np.zeros(places, dtype=np.bool_))

    def candidates(
        self, block: EventStream, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Candidates (B, 1 + HARD + P + R) of a block's events, the positive first, and logarithms of their
        weights in the softmax; of places that are not needed that is -∞, and the positive stands there."""
        first = block.offset - self.of.offset
        drawn = self.of.partners + self.of.number
        where = rng.random((len(block), drawn))  # within each part of partners, and of the rest
        candidates = np.repeat(block.dst[:, None], 1 + HARD + drawn, axis=1)
        log_weights = np.full(candidates.shape, -np.inf, dtype=np.float32)
        self.known = _fill(
            self.of.split,
            self.latest,
            self.scratch,
            self.of.partners,
            self.known,
            first,
            where,
            candidates,
            log_weights,
        )
        return candidates, log_weights


def _true_places(train: EventStream, place: Array) -> tuple[Array, Array, Array]:
    """`_Split.true`, and where it begins and ends for each event."""
    order = np.lexsort((train.dst, train.src, train.t))
    src, dst, t = train.src[order], train.dst[order], train.t[order]
    new_group = np.append(True, (src[1:] != src[:-1]) | (t[1:] != t[:-1]))[: len(order)]
    new = new_group | np.append(True, dst[1:] != dst[:-1])[: len(order)]
    starts = np.cumsum(new)[new_group] - 1  # of groups, among what is new
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(new_group) - 1
    stops = np.append(starts[1:], np.count_nonzero(new))
    return place[dst[new]], starts[group], stops[group]


def _pairs(train: EventStream, place: Array) -> tuple[Array, Array, Array, Array]:
    """`_Split.pair_from` and what follows."""
    codes = train.src.astype(np.int64) * len(place) + place[train.dst]
    pairs, first = np.unique(codes, return_index=True)
    src, places = pairs // len(place), (pairs % len(place)).astype(np.int32)
    begins = np.searchsorted(src, np.arange(len(place) + 1))
    return begins, places, first, places[np.lexsort((first, src))]


@compiled
def _fill(
    split: _Split,
    latest: _Latest,
    scratch: _Scratch,
    partners: int,
    known: int,
    first: int,
    where: Array,
    candidates: Array,
    log_weights: Array,
) -> int:
    """Candidates of the events from ``first`` on, row by row. Events before ``known`` have been walked past;
    returns up to where they are now."""
    for row in range(len(where)):
        event = first + row
        u, now = split.src[event], split.t[event]
        while split.t[known] < now:
            a, b = split.src[known], split.dst[known]
            if split.pair_first[_pair(split, a, split.place[b])] == known:
                latest.partners[a] += 1
            _to_front(latest.own[a], split.place[b])
            _to_front(latest.anyone, split.place[b])
            if split.place[a] != NONE:
                _to_front(latest.reached_by[b], split.place[a])
            known += 1
        log_weights[row, 0] = 0.0
        number = _leave_out(split.true[split.true_from[event] : split.true_to[event]], scratch, 0)
        true = number
        for ring in (latest.own[u], latest.reached_by[u], latest.anyone):
            number = _leave_out(ring, scratch, number)
        for k in range(true, number):
            candidates[row, 1 + k - true] = split.catalogue[scratch.left_out[k]]
            log_weights[row, 1 + k - true] = 0.0
        left_out = scratch.left_out[:number]
        drawn, weights = candidates[row, 1 + HARD :], log_weights[row, 1 + HARD :]
        _draw_rest(split.catalogue, left_out, where[row, partners:], drawn[partners:], weights[partners:])
        if partners > 0 and len(split.catalogue) - number > len(drawn) - partners:  # else all are there
            _without_partners(split, u, known, drawn[partners:], weights[partners:])
            of_source = split.by_first[split.pair_from[u] : split.pair_from[u] + latest.partners[u]]
            _draw_partners(split.catalogue, of_source, scratch, where[row, :partners], drawn, weights)
        scratch.is_left_out[left_out] = False
    return known


@compiled
def _to_front(ring: Array, place: int) -> None:
    """Whoever was just met is the latest; the oldest of too many goes."""
    last = 0
    while last < len(ring) - 1 and ring[last] != place and ring[last] != NONE:
        last += 1
    for k in range(last, 0, -1):
        ring[k] = ring[k - 1]
    ring[0] = place


@compiled
def _leave_out(places: Array, scratch: _Scratch, number: int) -> int:
    """Leave places out of the rest, each once; returns how many are out."""
    for place in places:
        if place == NONE:
            break
        if not scratch.is_left_out[place]:
            scratch.is_left_out[place] = True
            scratch.left_out[number] = place
            number += 1
    return number


@compiled
def _pair(split: _Split, u: int, place: int) -> int:
    """Where a pair is among all, or -1."""
    low, high = split.pair_from[u], split.pair_from[u + 1]
    while low < high:
        middle = (low + high) // 2
        if split.pair_place[middle] < place:
            low = middle + 1
        else:
            high = middle
    return low if low < split.pair_from[u + 1] and split.pair_place[low] == place else NONE


@compiled
def _draw_rest(
    catalogue: Array, left_out: Array, where: Array, candidates: Array, log_weights: Array
) -> None:
    """One of each part of what is not left out: the r-th of it stands r places on, and as many further as are
    left out before it."""
    left_out.sort()
    rest = len(catalogue) - len(left_out)
    parts = min(len(where), rest)
    skipped = 0
    for part in range(parts):
        r = min(int((part + where[part]) * rest / parts), rest - 1)
        while skipped < len(left_out) and left_out[skipped] - skipped <= r:
            skipped += 1
        candidates[part] = catalogue[r + skipped]
        log_weights[part] = math.log(rest / parts)


@compiled
def _without_partners(split: _Split, u: int, known: int, candidates: Array, log_weights: Array) -> None:
    """Of what was drawn of the rest, partners do not count: they are drawn apart."""
    for k in range(len(candidates)):
        pair = _pair(split, u, split.place[candidates[k]])
        if pair != NONE and split.pair_first[pair] < known:
            log_weights[k] = -np.inf


@compiled
def _draw_partners(
    catalogue: Array, partners: Array, scratch: _Scratch, where: Array, candidates: Array, log_weights: Array
) -> None:
    """One of each part of all to whom a source has been, but for who is true or hard."""
    parts = min(len(where), len(partners))
    for part in range(parts):
        place = partners[min(int((part + where[part]) * len(partners) / parts), len(partners) - 1)]
        if not scratch.is_left_out[place]:
            candidates[part] = catalogue[place]
            log_weights[part] = math.log(len(partners) / parts)
