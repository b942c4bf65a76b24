"""The same numbers where each question has one candidate, as in a service that scores events as they come.

`pair_reading` walks from the source to all it can reach, for that is where most of many candidates are. Here
only paths that end at the candidate are followed: the same ones, added up in the same order, so the numbers
are the same to the bit, for a fraction of the steps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keat.cooccurrence import marks as mark
from keat.cooccurrence.messages import mark_addressed_to
from keat.cooccurrence.observing import observe
from keat.cooccurrence.pair_reading import (
    Events,
    Questions,
    Scales,
    Scratch,
    _read_pairs,
    _read_source,
)
from keat.cooccurrence.pair_records import IN, NONE, OUT, SHELF, Array, Tables
from keat.cooccurrence.past import KernelCooccurrence
from keat.cooccurrence.successors import FALL, FROM_LONG, FROM_SHORT, FROM_STEPS, shelf_of
from keat.ops import compiled, compiled_into, frozen

Ids = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class OneEach(NamedTuple):
    """What `KernelCooccurrence.read` gives of pairs, (B, …)."""

    source: Floats
    pair: Floats


def read_one_each(past: KernelCooccurrence, src: Ids, dst: Ids, t: Times, observed: int = 0) -> OneEach:
    """The numbers of pairs, each with those of the first ``observed`` observed that are strictly earlier;
    then all of these are. Times do not fall."""
    past.make_room(1 + int(max(src.max(), dst.max())))
    rows, ticks = len(src), past._finer(t)
    of_source = np.empty((rows, len(past.columns.source)), np.float32)
    of_pair = np.empty((rows, 1, len(past.columns.pair)), np.float32)
    src, dst, ticks = frozen(src), frozen(dst), frozen(ticks)
    events = Events(src[:observed], dst[:observed], ticks[:observed])
    questions, event, done = Questions(src, ticks, dst, 1, 1), 0, 0
    while True:
        event, done = _read_in_turn(
            past.tables, events, event, questions, done, past._scratch, past._scales, of_source, of_pair
        )
        if done == rows:
            break
        past._make_place()
    if event < observed:
        past.observe(src[event:observed], dst[event:observed], t[event:observed])
    return OneEach(of_source, of_pair[:, 0])


@compiled
def _read_in_turn(
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
    """`pair_reading.read_in_turn`, each question with its own candidate."""
    for i in range(question, len(questions.src)):
        u, v, now = questions.src[i], questions.candidates[i], questions.t[i]
        last = event
        while last < len(events.t) and events.t[last] < now:
            last += 1
        event = observe(tables, events.src, events.dst, events.t, event, last)
        if event < last:
            return event, i
        _read_source(tables, u, now, of_source[i], scales)
        length = _mark(tables, u, v, now, scratch, scales)
        _read_pairs(tables, u, now, questions.candidates, i, of_source[i], of_pair[i], scratch, scales)
        mark.wipe(scratch.marks, scratch.trail, length)
    return event, len(questions.src)


@compiled_into
def _mark(tables: Tables, u: int, v: int, now: int, scratch: Scratch, scales: Scales) -> int:
    marks, trail = scratch.marks, scratch.trail
    length = mark.mark_ranks(tables, u, OUT, marks, trail, 0)
    length = mark.touch(marks, trail, length, v)
    _walk_to(tables, u, v, now, scales.hop_rate, scales.fanout, marks)
    if tables.edition > 1:
        length = mark.mark_ranks(tables, u, IN, marks, trail, length)
        if marks[v, mark.RANKS[OUT]] > 0:
            mark.mark_favourites(tables, u, now, scales.kernel, scratch.weights, marks)
        _go_on_to(tables, u, v, now, marks)
    if tables.edition > 2:
        mark_addressed_to(tables, u, v, now, marks)
    return length


@compiled_into
def _walk_to(tables: Tables, u: int, v: int, now: int, rate: float, fanout: int, marks: Array) -> None:
    """`hops.walk`, of paths that end at v."""
    nodes = tables.nodes
    for role in (OUT, IN):
        for a in range(fanout):
            d = nodes[u].ring[role, a]
            if d == NONE:
                break
            leg = math.exp(-(now - nodes[u].ring_time[role, a]) / tables.ticks * rate)
            for role_of_d in (OUT, IN):
                for b in range(fanout):
                    w = nodes[d].ring[role_of_d, b]
                    if w == NONE:
                        break
                    goes_on = role == OUT and role_of_d == IN and v != d
                    if w == u or not (w == v or goes_on):
                        continue
                    place = NONE
                    if goes_on:
                        for c in range(fanout):
                            if nodes[w].ring[OUT, c] == v:
                                place = c
                    if w == v or place != NONE:
                        since = (now - nodes[d].ring_time[role_of_d, b]) / tables.ticks
                        legs = leg * math.exp(-since * rate)
                        if w == v:
                            marks[v, mark.TWO] += legs
                            marks[v, mark.TWO_PATHS] += 1
                        if place != NONE:
                            since = (now - nodes[w].ring_time[OUT, place]) / tables.ticks
                            marks[v, mark.THREE] += legs * math.exp(-since * rate)
                            marks[v, mark.THREE_PATHS] += 1


@compiled_into
def _go_on_to(tables: Tables, u: int, v: int, now: int, marks: Array) -> None:
    """`successors.go_on`, to v alone."""
    source = tables.nodes[u]
    fall = 1.0
    for k in range(source.ring.shape[1]):
        d = source.ring[OUT, k]
        if d == NONE:
            break
        left = tables.nodes[d]
        if left.number_of_shelves > 0:
            shelf = tables.shelves[left.shelf + shelf_of(v, left.number_of_shelves)]
            place = NONE
            for s in range(SHELF):
                if shelf.node[s] == v:
                    place = s
            if place != NONE:
                by_short = np.float32(fall / (left.gone_on[FROM_SHORT] + 1.0))
                by_long = np.float32(1.0 / (left.gone_on[FROM_LONG] + 1.0))
                by_steps = np.float32(fall / (left.gone_on[FROM_STEPS] + 1.0))
                by_cosine = np.float32(fall / math.sqrt(left.gone_on[FROM_LONG] + 1.0))
                age = (now - source.ring_time[OUT, k]) / tables.ticks * tables.succession_rate
                by_age = np.float32(by_long * math.exp(-age))
                by_long *= np.float32(fall)
                short, long, steps = shelf.short[place], shelf.long[place], shelf.steps[place]
                if k == 0:
                    marks[v, mark.FIRST_SHORT] = by_short * short
                    marks[v, mark.FIRST_LONG] = by_long * long
                    marks[v, mark.FIRST_STEPS] = by_steps * steps
                marks[v, mark.SHORT] += by_short * short
                marks[v, mark.LONG] += by_long * long
                marks[v, mark.STEPS] += by_steps * steps
                marks[v, mark.COSINE] += by_cosine * long
                marks[v, mark.FADED] += by_age * long
        fall *= FALL
