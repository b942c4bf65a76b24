"""The numbers of sources and their candidates at a time, in the order of `columns`."""

from __future__ import annotations

import math
from typing import NamedTuple

from keat.cooccurrence.columns import NEVER
from keat.cooccurrence.observing import observe
from keat.cooccurrence.paths import THREE, THREE_PATHS, TWO, TWO_PATHS, walk, wipe
from keat.cooccurrence.tables import (
    EVENTS,
    FIRSTS,
    IN,
    NONE,
    NOVEL,
    OUT,
    RETURNS,
    SAME,
    STICKY,
    Array,
    Tables,
    row_of,
)
from keat.state.compiled import compiled

FADED = 30.0  # e⁻³⁰: nothing in float32, and no sum is let run into denormal numbers, which are slow


class Events(NamedTuple):
    """What is going to happen, in the order of time."""

    src: Array
    dst: Array
    t: Array


class Questions(NamedTuple):
    """In the order of time. Candidate j of question i is ``candidates[i·step + j]``; a list shared by all
    has step 0."""

    src: Array
    t: Array
    candidates: Array  # flat
    step: int
    width: int


class Scratch(NamedTuple):
    """What reading marks for a question and wipes after it: all zero in between."""

    rank: Array  # (n,) int32: recency rank among the source's destinations
    reached: Array  # (n, 4) float32: see `paths`
    trail: Array  # int32: nodes reached


class Scales(NamedTuple):
    """Numbers that do not change."""

    per_time: float  # 1/σ, for ages
    hop_rate: float
    fanout: int


@compiled
def read_in_turn(
    tables: Tables,
    events: Events,
    event: int,
    questions: Questions,
    scratch: Scratch,
    scales: Scales,
    of_source: Array,
    of_pair: Array,
) -> int:
    """For each question: observe events strictly earlier than it, from ``event`` on, then read.
    Returns the first event not observed."""
    for i in range(len(questions.src)):
        u, now = questions.src[i], questions.t[i]
        first = event
        while event < len(events.t) and events.t[event] < now:
            event += 1
        observe(tables, events.src, events.dst, events.t, first, event)
        _read_source(tables, u, now, of_source[i], scales.per_time)
        _mark_ranks(tables.ring[u, OUT], scratch.rank, 1)
        length = walk(tables, u, now, scales.hop_rate, scales.fanout, scratch.reached, scratch.trail)
        for j in range(questions.width):
            v = questions.candidates[i * questions.step + j]
            _read_pair(tables, u, v, now, of_pair[i, j], scratch.rank[v], scratch.reached[v], scales.per_time)
        wipe(scratch.reached, scratch.trail, length)
        _mark_ranks(tables.ring[u, OUT], scratch.rank, 0)
    return event


@compiled
def _mark_ranks(ring: Array, rank: Array, mark: int) -> None:
    for k in range(len(ring)):
        if ring[k] == NONE:
            break
        rank[ring[k]] = mark * (k + 1)


@compiled
def _read_source(tables: Tables, u: int, now: int, out: Array, scale: float) -> None:
    kernels = len(tables.rates)
    out[:] = 0.0
    for role in (OUT, IN):
        out[2 * kernels + role] = NEVER
        if tables.counts[u, role] > 0:
            age = now - tables.last[u, role]
            _fade(tables.sums[u, role], tables.rates, age, out, role * kernels)
            out[2 * kernels + role] = age * scale
    o = 2 * kernels + 2
    out[o], out[o + 1] = tables.counts[u, OUT], tables.counts[u, IN]
    out[o + 2] = tables.distinct[u, OUT]
    out[o + 3], out[o + 4] = tables.rate[u, RETURNS], tables.rate[u, FIRSTS]


@compiled
def _read_pair(
    tables: Tables, u: int, v: int, now: int, out: Array, rank: int, reached: Array, scale: float
) -> None:
    kernels = len(tables.rates)
    out[:] = 0.0
    o = 4 * kernels
    out[o + 3] = out[o + 4] = out[o + 7] = out[o + 9] = out[o + 10] = NEVER
    # Most candidates have never met the source; a node that never had the role needs no look-up at all.
    row = row_of(tables, u, v) if tables.counts[u, OUT] > 0 and tables.counts[v, IN] > 0 else NONE
    if row != NONE:
        age = now - tables.pair_last[row]
        _fade(tables.pair_sums[row], tables.rates, age, out, 0)
        out[o] = 1.0
        out[o + 1] = 1.0 / (rank if rank > 0 else tables.ring.shape[2] + 1)
        out[o + 2] = tables.pair_count[row]
        out[o + 3] = age * scale
        if tables.pair_gap[row] != NONE:
            out[o + 4] = tables.pair_gap[row] * scale
            out[o + 5] = (age + 1.0) / (tables.pair_gap[row] + 1.0)
    row = row_of(tables, v, u) if tables.counts[v, OUT] > 0 and tables.counts[u, IN] > 0 else NONE
    if row != NONE:
        age = now - tables.pair_last[row]
        _fade(tables.pair_sums[row], tables.rates, age, out, kernels)
        out[o + 6] = 1.0
        out[o + 7] = age * scale
        out[o + 8] = 1.0 if tables.partner[u, IN] == v else 0.0
    for role in (OUT, IN):
        if tables.counts[v, role] > 0:
            age = now - tables.last[v, role]
            _fade(tables.sums[v, role], tables.rates, age, out, (3 - role) * kernels)
            out[o + 10 - role] = age * scale
    out[o + 11] = tables.clock[EVENTS] - tables.last_number[v] if tables.counts[v, IN] > 0 else NEVER
    out[o + 12], out[o + 13] = tables.counts[v, IN], tables.distinct[v, IN]
    out[o + 14] = 1.0 if tables.partner[v, IN] == u else 0.0
    out[o + 15], out[o + 16] = tables.rate[v, STICKY], tables.rate[v, NOVEL]
    out[o + 17] = tables.rate[v, SAME]
    before = tables.partner[u, OUT]
    if before != NONE:
        out[o + 18] = 1.0 if tables.pair_next[tables.last_pair[u]] == v else 0.0
        out[o + 19] = 1.0 if tables.successor[before] == v else 0.0
    out[o + 20] = 1.0 if u == v else 0.0
    out[o + 21], out[o + 22] = reached[TWO], reached[TWO_PATHS]
    out[o + 23], out[o + 24] = reached[THREE], reached[THREE_PATHS]


@compiled
def _fade(sums: Array, rates: Array, age: int, out: Array, first: int) -> None:
    for m in range(len(rates)):
        x = age * rates[m]
        out[first + m] = sums[m] * math.exp(-x) if x < FADED else 0.0
