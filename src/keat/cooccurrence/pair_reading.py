"""The numbers of sources and their candidates at a time, in the order of `pair_columns`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from keat.cooccurrence.hops import THREE, THREE_PATHS, TWO, TWO_PATHS, walk, wipe
from keat.cooccurrence.observing import observe
from keat.cooccurrence.pair_columns import NEVER, place_of
from keat.cooccurrence.pair_records import (
    EVENTS,
    FIRSTS,
    IN,
    NONE,
    NOVEL,
    OUT,
    RETURNS,
    SAME,
    SPANS,
    STICKY,
    Array,
    Tables,
    row_of,
)
from keat.ops.compiling import compiled

# Places among the single numbers of a source, after its two kernel sums …
SOURCE_AGE = place_of("age of the source's last event"), place_of("age of the last event to the source")
SOURCE_EVENTS = place_of("events of the source"), place_of("events to the source")
SOURCE_DESTINATIONS = place_of("destinations of the source")
SOURCE_RETURNS = place_of("share of returns to the same destination")
SOURCE_FIRSTS = place_of("share of new destinations")

# … and among those of a pair, after its six. Two places are those of the source and of the candidate.
MET = place_of("met before")
RANK = place_of("1 / recency rank among the source's destinations")
MEETINGS = place_of("meetings")
AGE = place_of("age of the last meeting")
GAP = place_of("gap before the last meeting")
AGE_TO_GAP = place_of("age / that gap")
WHOSE = ("source's", "candidate's")
SINCE_MEETING = tuple(place_of(f"the {whose} events since the last meeting") for whose in WHOSE)
WEIGHTS = tuple(
    tuple(place_of(f"weight in the {whose} last {span:g} events") for span in SPANS) for whose in WHOSE
)
MET_BACK = place_of("met the other way round")
AGE_BACK = place_of("age of the last meeting the other way round")
LAST_TO_REACH_SOURCE = place_of("last to have reached the source")
CANDIDATE_AGE = place_of("age of the candidate's last event")
CANDIDATE_AGE_OUT = place_of("age of the candidate's last event as a source")
EVENTS_SINCE = place_of("events since the candidate's last")
EVENTS_TO = place_of("events to the candidate")
SOURCES = place_of("sources of the candidate")
LAST_REACHED_BY = place_of("last reached by this source")
RETURNING = place_of("share of those who return to the candidate")
NEW_ONES = place_of("share of the candidate's events that are first meetings")
SAME_AGAIN = place_of("share of the candidate's events by the same source as before")
NEXT_OF_SOURCE = place_of("where this source went next, last time")
NEXT_OF_ANYONE = place_of("where the last one went next")
ITSELF = place_of("is the source itself")
TWO_SUM, TWO_NUMBER = place_of("two-hop sum"), place_of("two-hop paths")
THREE_SUM, THREE_NUMBER = place_of("three-hop sum"), place_of("three-hop paths")

TINY = 1e-6  # of a kernel sum: what has faded so far has no share
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
    reached: Array  # (n, 4) float32: see `hops`
    trail: Array  # int32: nodes reached


class Scales(NamedTuple):
    """Numbers that do not change."""

    per_time: float  # of ages
    per_path: float  # of two- and three-hop sums
    per_ratio: float  # of an age to a gap
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
        _read_source(tables, u, now, of_source[i], scales)
        _mark_ranks(tables.nodes[u].ring, scratch.rank, 1)
        length = walk(tables, u, now, scales.hop_rate, scales.fanout, scratch.reached, scratch.trail)
        first = i * questions.step
        _read_pairs(tables, u, now, questions.candidates, first, of_source[i], of_pair[i], scratch, scales)
        wipe(scratch.reached, scratch.trail, length)
        _mark_ranks(tables.nodes[u].ring, scratch.rank, 0)
    return event


@compiled
def _mark_ranks(ring: Array, rank: Array, mark: int) -> None:
    for k in range(ring.shape[1]):
        if ring[OUT, k] == NONE:
            break
        rank[ring[OUT, k]] = mark * (k + 1)


@compiled
def _read_source(tables: Tables, u: int, now: int, out: Array, scales: Scales) -> None:
    rates, kernels, source = tables.rates, len(tables.rates), tables.nodes[u]
    o = 2 * kernels
    out[:] = 0.0
    for role in (OUT, IN):
        out[o + SOURCE_AGE[role]] = NEVER
        if source.count[role] > 0:
            age = (now - source.last[role]) / tables.ticks
            for m in range(kernels):
                out[role * kernels + m] = source.sums[role, m] * _psi(age * rates[m])
            out[o + SOURCE_AGE[role]] = age * scales.per_time
        out[o + SOURCE_EVENTS[role]] = source.count[role]
    out[o + SOURCE_DESTINATIONS] = source.distinct[OUT]
    out[o + SOURCE_RETURNS] = source.habits[RETURNS]
    out[o + SOURCE_FIRSTS] = source.habits[FIRSTS]


@compiled
def _read_pairs(
    tables: Tables,
    u: int,
    now: int,
    candidates: Array,
    first: int,
    of_source: Array,
    out: Array,
    scratch: Scratch,
    scales: Scales,
) -> None:
    """One long loop: a call for each candidate would cost more than what it does."""
    rates, kernels, nodes, pairs = tables.rates, len(tables.rates), tables.nodes, tables.pairs
    source = nodes[u]
    before = source.partner[OUT]
    next_of_source = pairs[source.last_pair].next if before != NONE else NONE
    next_of_anyone = nodes[before].successor if before != NONE else NONE
    unranked = np.float32(1.0 / (source.ring.shape[1] + 1))
    o = 6 * kernels
    for j in range(out.shape[0]):
        v = candidates[first + j]
        candidate = nodes[v]
        for k in range(out.shape[1]):
            out[j, k] = 0.0
        out[j, o + AGE] = out[j, o + GAP] = out[j, o + AGE_BACK] = NEVER
        out[j, o + SINCE_MEETING[OUT]] = out[j, o + SINCE_MEETING[IN]] = NEVER
        out[j, o + CANDIDATE_AGE] = out[j, o + CANDIDATE_AGE_OUT] = out[j, o + EVENTS_SINCE] = NEVER
        out[j, o + RETURNING] = candidate.habits[STICKY]
        out[j, o + NEW_ONES] = candidate.habits[NOVEL]
        out[j, o + SAME_AGAIN] = candidate.habits[SAME]
        if candidate.count[IN] > 0:
            age = (now - candidate.last[IN]) / tables.ticks
            for m in range(kernels):
                out[j, 2 * kernels + m] = candidate.sums[IN, m] * _psi(age * rates[m])
            out[j, o + CANDIDATE_AGE] = age * scales.per_time
            out[j, o + EVENTS_SINCE] = tables.clock[EVENTS] - candidate.number
            out[j, o + EVENTS_TO] = candidate.count[IN]
            out[j, o + SOURCES] = candidate.distinct[IN]
            out[j, o + LAST_REACHED_BY] = 1.0 if candidate.partner[IN] == u else 0.0
            # Most candidates have never met the source: no record, and nothing more to read.
            row = row_of(tables.keys, tables.rows, u, v) if source.count[OUT] > 0 else NONE
            if row != NONE:
                pair = pairs[row]
                age, gap = (now - pair.last) / tables.ticks, pair.gap / tables.ticks
                for m in range(kernels):
                    met = pair.sums[m] * _psi(age * rates[m])
                    out[j, m] = met
                    out[j, 4 * kernels + m] = met / (of_source[m] + TINY)
                    out[j, 5 * kernels + m] = met / (out[j, 2 * kernels + m] + TINY)
                out[j, o + MET] = 1.0
                rank = scratch.rank[v]
                out[j, o + RANK] = np.float32(1.0) / rank if rank > 0 else unranked
                out[j, o + MEETINGS] = pair.count
                out[j, o + AGE] = age * scales.per_time
                if pair.gap != NONE:
                    out[j, o + GAP] = gap * scales.per_time
                    out[j, o + AGE_TO_GAP] = scales.per_ratio * (age + 1.0) / (gap + 1.0)
                for role in (OUT, IN):
                    passed = (source if role == OUT else candidate).count[role] - pair.number[role]
                    out[j, o + SINCE_MEETING[role]] = passed
                    for k in range(len(SPANS)):
                        weight = pair.weights[role, k] * (1.0 - 1.0 / SPANS[k]) ** passed
                        out[j, o + WEIGHTS[role][k]] = weight
        if candidate.count[OUT] > 0:
            age = (now - candidate.last[OUT]) / tables.ticks
            for m in range(kernels):
                out[j, 3 * kernels + m] = candidate.sums[OUT, m] * _psi(age * rates[m])
            out[j, o + CANDIDATE_AGE_OUT] = age * scales.per_time
            row = row_of(tables.keys, tables.rows, v, u) if source.count[IN] > 0 else NONE
            if row != NONE:
                pair = pairs[row]
                age = (now - pair.last) / tables.ticks
                for m in range(kernels):
                    out[j, kernels + m] = pair.sums[m] * _psi(age * rates[m])
                out[j, o + MET_BACK] = 1.0
                out[j, o + AGE_BACK] = age * scales.per_time
                out[j, o + LAST_TO_REACH_SOURCE] = 1.0 if source.partner[IN] == v else 0.0
        out[j, o + NEXT_OF_SOURCE] = 1.0 if v == next_of_source else 0.0
        out[j, o + NEXT_OF_ANYONE] = 1.0 if v == next_of_anyone else 0.0
        out[j, o + ITSELF] = 1.0 if u == v else 0.0
        out[j, o + TWO_SUM] = scales.per_path * scratch.reached[v, TWO]
        out[j, o + TWO_NUMBER] = scratch.reached[v, TWO_PATHS]
        out[j, o + THREE_SUM] = scales.per_path * scratch.reached[v, THREE]
        out[j, o + THREE_NUMBER] = scratch.reached[v, THREE_PATHS]


@compiled
def _psi(x: float) -> np.float32:
    return np.float32(math.exp(np.float32(-x))) if x < FADED else np.float32(0.0)
