"""The numbers of sources and their candidates at a time, in the order of `pair_columns`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from keat.cooccurrence import column_places as at
from keat.cooccurrence import marks as mark
from keat.cooccurrence.hops import walk
from keat.cooccurrence.messages import mark_addressed, read_message
from keat.cooccurrence.newcomers import FIRST_MEETING, NEW_SOURCE, read_fresh
from keat.cooccurrence.observing import observe
from keat.cooccurrence.pair_columns import NEVER
from keat.cooccurrence.pair_index import row_of
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
    TINY,
    Array,
    Record,
    Tables,
    faded,
)
from keat.cooccurrence.running import VARIANCE, lateness, share_left, usual_gap
from keat.cooccurrence.successors import TO_LONG, go_on
from keat.ops import compiled, compiled_into


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
    """What reading marks for a question and wipes after it."""

    marks: Array  # (n, columns of `marks`) float32
    trail: Array  # int32: nodes that have marks
    weights: Array  # (ring,) float32


class Scales(NamedTuple):
    """Numbers that do not change."""

    per_time: float  # of ages
    per_path: float  # of two- and three-hop sums
    per_ratio: float  # of an age to a gap
    hop_rate: float
    fanout: int
    kernel: int  # the one whose width is nearest to σ


@compiled
def read_in_turn(
    tables: Tables,
    events: Events,
    event: int,
    questions: Questions,
    question: int,
    scratch: Scratch,
    scales: Scales,
    of_source: Array,
    of_pair: Array,
) -> tuple[int, int]:
    """For each question, from ``question`` on: observe events strictly earlier than it, from ``event`` on,
    then read. Returns the first event not observed, and the first question for whose events there was no
    room, if any."""
    for i in range(question, len(questions.src)):
        u, now = questions.src[i], questions.t[i]
        last = event
        while last < len(events.t) and events.t[last] < now:
            last += 1
        event = observe(tables, events.src, events.dst, events.t, event, last)
        if event < last:
            return event, i
        _read_source(tables, u, now, of_source[i], scales)
        length = _mark(tables, u, now, scratch, scales)
        first = i * questions.step
        _read_pairs(tables, u, now, questions.candidates, first, of_source[i], of_pair[i], scratch, scales)
        mark.wipe(scratch.marks, scratch.trail, length)
    return event, len(questions.src)


@compiled_into
def _mark(tables: Tables, u: int, now: int, scratch: Scratch, scales: Scales) -> int:
    """All that is found once for all candidates; returns how many nodes have marks."""
    marks, trail = scratch.marks, scratch.trail
    length = mark.mark_ranks(tables, u, OUT, marks, trail, 0)
    length = walk(tables, u, now, scales.hop_rate, scales.fanout, marks, trail, length)
    if tables.edition > 1:
        length = mark.mark_ranks(tables, u, IN, marks, trail, length)
        mark.mark_favourites(tables, u, now, scales.kernel, scratch.weights, marks)
        length = go_on(tables, u, now, marks, trail, length)
    if tables.edition > 2:
        length = mark_addressed(tables, u, now, marks, trail, length)
    return length


@compiled_into
def _read_source(tables: Tables, u: int, now: int, out: Array, scales: Scales) -> None:
    rates, kernels, source = tables.rates, len(tables.rates), tables.nodes[u]
    o = 2 * kernels
    out[:] = 0.0
    for role in (OUT, IN):
        out[o + at.SOURCE_AGE[role]] = NEVER
        if source.count[role] > 0:
            age = (now - source.last[role]) / tables.ticks
            for m in range(kernels):
                out[role * kernels + m] = source.sums[role, m] * faded(age * rates[m])
            out[o + at.SOURCE_AGE[role]] = age * scales.per_time
        out[o + at.SOURCE_EVENTS[role]] = source.count[role]
    out[o + at.SOURCE_DESTINATIONS] = source.distinct[OUT]
    out[o + at.SOURCE_RETURNS] = source.habits[RETURNS]
    out[o + at.SOURCE_FIRSTS] = source.habits[FIRSTS]
    if tables.edition > 1:
        gaps = max(0, source.count[OUT] - 1)
        age = (now - source.last[OUT]) / tables.ticks
        out[o + at.SOURCE_USUAL_GAP] = usual_gap(source.log_gaps) * scales.per_time if gaps > 0 else NEVER
        out[o + at.SOURCE_LATENESS] = lateness(source.log_gaps, age, gaps)
        out[o + at.SOURCE_RUN], out[o + at.SOURCE_USUAL_RUN] = source.run, source.usual_run
        if source.runs > 0:
            out[o + at.SOURCE_RUN_TO_USUAL] = scales.per_ratio * source.run / source.usual_run
    if tables.edition > 2:
        sender = tables.senders[u]
        out[o + at.SOURCE_MESSAGES], out[o + at.SOURCE_LAST_MESSAGE] = sender.messages, sender.size
        out[o + at.SOURCE_USUAL_MESSAGE] = sender.usual_size


@compiled_into
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
    source, marks = nodes[u], scratch.marks
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
        out[j, o + at.AGE] = out[j, o + at.GAP] = out[j, o + at.AGE_BACK] = NEVER
        out[j, o + at.SINCE_MEETING[OUT]] = out[j, o + at.SINCE_MEETING[IN]] = NEVER
        out[j, o + at.CANDIDATE_AGE] = out[j, o + at.CANDIDATE_AGE_OUT] = out[j, o + at.EVENTS_SINCE] = NEVER
        meetings = meetings_back = 0
        if tables.edition > 1:
            out[j, o + at.TO_ANSWER_AGE] = out[j, o + at.USUAL_GAP] = NEVER
            out[j, o + at.USUALLY_BETWEEN] = NEVER
            out[j, o + at.LATENESS] = 0.5
        if tables.edition > 2:
            out[j, o + at.MESSAGES_SINCE] = NEVER
            for k in range(mark.BY_LAST, mark.SENDERS + 1):
                out[j, o + at.ADDRESSED + k - mark.BY_LAST] = marks[v, k]
        out[j, o + at.RETURNING] = candidate.habits[STICKY]
        out[j, o + at.NEW_ONES] = candidate.habits[NOVEL]
        out[j, o + at.SAME_AGAIN] = candidate.habits[SAME]
        if candidate.count[IN] > 0:
            age = (now - candidate.last[IN]) / tables.ticks
            for m in range(kernels):
                out[j, 2 * kernels + m] = candidate.sums[IN, m] * faded(age * rates[m])
            out[j, o + at.CANDIDATE_AGE] = age * scales.per_time
            out[j, o + at.EVENTS_SINCE] = tables.clock[EVENTS] - candidate.number
            out[j, o + at.EVENTS_TO] = candidate.count[IN]
            out[j, o + at.SOURCES] = candidate.distinct[IN]
            out[j, o + at.LAST_REACHED_BY] = 1.0 if candidate.partner[IN] == u else 0.0
            # Most candidates have never met the source: no record, and nothing more to read.
            row = row_of(tables.places, tables.layout, pairs, u, v) if source.count[OUT] > 0 else NONE
            if row != NONE:
                pair = pairs[row]
                age, gap = (now - pair.last) / tables.ticks, pair.gap / tables.ticks
                for m in range(kernels):
                    met = pair.sums[m] * faded(age * rates[m])
                    out[j, m] = met
                    out[j, 4 * kernels + m] = met / (of_source[m] + TINY)
                    out[j, 5 * kernels + m] = met / (out[j, 2 * kernels + m] + TINY)
                out[j, o + at.MET] = 1.0
                rank = marks[v, mark.RANKS[OUT]]
                out[j, o + at.RANK] = np.float32(1.0) / rank if rank > 0 else unranked
                out[j, o + at.MEETINGS] = pair.count
                out[j, o + at.AGE] = age * scales.per_time
                if pair.gap != NONE:
                    out[j, o + at.GAP] = gap * scales.per_time
                    out[j, o + at.AGE_TO_GAP] = scales.per_ratio * (age + 1.0) / (gap + 1.0)
                for role in (OUT, IN):
                    passed = (source if role == OUT else candidate).count[role] - pair.number[role]
                    out[j, o + at.SINCE_MEETING[role]] = passed
                    for k in range(len(SPANS)):
                        out[j, o + at.WEIGHTS[role][k]] = pair.weights[role, k] * share_left(k, passed)
                meetings = pair.count
                if tables.edition > 1:
                    _read_renewal(pair, age, source.count[OUT] - pair.number[OUT], out[j, o:], scales)
                if tables.edition > 2:
                    read_message(tables, u, np.int64(row), out[j, o:])
        if candidate.count[OUT] > 0:
            age = (now - candidate.last[OUT]) / tables.ticks
            for m in range(kernels):
                out[j, 3 * kernels + m] = candidate.sums[OUT, m] * faded(age * rates[m])
            out[j, o + at.CANDIDATE_AGE_OUT] = age * scales.per_time
            row = row_of(tables.places, tables.layout, pairs, v, u) if source.count[IN] > 0 else NONE
            if row != NONE:
                pair = pairs[row]
                age = (now - pair.last) / tables.ticks
                for m in range(kernels):
                    out[j, kernels + m] = pair.sums[m] * faded(age * rates[m])
                out[j, o + at.MET_BACK] = 1.0
                out[j, o + at.AGE_BACK] = age * scales.per_time
                out[j, o + at.LAST_TO_REACH_SOURCE] = 1.0 if source.partner[IN] == v else 0.0
                meetings_back = pair.count
                if tables.edition > 1:
                    rank = marks[v, mark.RANKS[IN]]
                    out[j, o + at.RANK_BACK] = np.float32(1.0) / rank if rank > 0 else unranked
                    if pair.unanswered > 0:
                        out[j, o + at.TO_ANSWER] = pair.unanswered
                        age = (now - pair.first_unanswered) / tables.ticks
                        out[j, o + at.TO_ANSWER_AGE] = age * scales.per_time
                        out[j, o + at.LAST_OF_THE_TWO] = 1.0
        out[j, o + at.NEXT_OF_SOURCE] = 1.0 if v == next_of_source else 0.0
        out[j, o + at.NEXT_OF_ANYONE] = 1.0 if v == next_of_anyone else 0.0
        out[j, o + at.ITSELF] = 1.0 if u == v else 0.0
        out[j, o + at.TWO_SUM] = scales.per_path * marks[v, mark.TWO]
        out[j, o + at.TWO_NUMBER] = marks[v, mark.TWO_PATHS]
        out[j, o + at.THREE_SUM] = scales.per_path * marks[v, mark.THREE]
        out[j, o + at.THREE_NUMBER] = marks[v, mark.THREE_PATHS]
        if tables.edition > 1:
            out[j, o + at.SHARE_OF_THE_TWO] = (meetings + 1.0) / (meetings + meetings_back + 2.0)
            out[j, o + at.BY_WEIGHT] = marks[v, mark.BY_WEIGHT]
            out[j, o + at.WEIGHT_SHARE] = marks[v, mark.WEIGHT_SHARE]
            for k in range(mark.SHORT, mark.FADED + 1):
                out[j, o + at.GONE_ON + k - mark.SHORT] = scales.per_path * marks[v, k]
            out[j, o + at.GONE_ON + mark.COSINE - mark.SHORT] /= math.sqrt(candidate.gone_on[TO_LONG] + 1.0)
            for kind, place in ((FIRST_MEETING, at.FIRST_MEETINGS), (NEW_SOURCE, at.NEW_SOURCES)):
                read_fresh(tables, candidate, kind, now, out[j], o + place, scales.per_time)


@compiled_into
def _read_renewal(pair: Record, age: float, passed: int, out: Array, scales: Scales) -> None:
    """By its usual gaps, in time and in events of the source; what a pair that met once has none of is as
    it was put down for strangers."""
    gaps = pair.count - 1
    if gaps == 0:
        return
    out[at.USUAL_GAP] = usual_gap(pair.log_gaps) * scales.per_time
    out[at.GAP_SPREAD] = math.sqrt(pair.log_gaps[VARIANCE])
    out[at.LATENESS] = lateness(pair.log_gaps, age, gaps)
    out[at.USUALLY_BETWEEN] = pair.between
    out[at.SINCE_TO_USUAL] = scales.per_ratio * (passed + 1.0) / (pair.between + 1.0)
