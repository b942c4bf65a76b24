"""What an event changes: O(1) per event, but for the ring of partners, which is O(K)."""

from __future__ import annotations

import math

from keat.cooccurrence.looking_ahead import look_ahead
from keat.cooccurrence.messages import note_message
from keat.cooccurrence.newcomers import FIRST_MEETING, NEW_SOURCE, come_fresh
from keat.cooccurrence.pair_index import go_on_doubling, pair_key, put, row_at, row_of, slot_of
from keat.cooccurrence.pair_records import (
    EVENTS,
    FIRSTS,
    IN,
    NONE,
    NOVEL,
    NOW,
    OUT,
    PAIRS,
    RETURNS,
    SAME,
    SPANS,
    STICKY,
    Array,
    Record,
    Tables,
    has_room,
)
from keat.cooccurrence.running import STEP, add_gap, share_left, step_of
from keat.cooccurrence.successors import follow_on
from keat.ops import compiled, compiled_into

NOTHING = 1e-10  # what is left of a sum, beside an event that has just happened


@compiled
def observe(tables: Tables, src: Array, dst: Array, t: Array, first: int, last: int) -> int:
    """Events ``first:last`` happen, in order, while there is room for them; returns the first that did not.
    Their nodes must be there."""
    for i in range(first, last):
        go_on_doubling(tables.places, tables.layout, tables.clock[PAIRS])
        if not has_room(tables):
            return i
        look_ahead(tables, src, dst, i, last)
        _observe_one(tables, src[i], dst[i], t[i])
    return last


@compiled_into
def _observe_one(tables: Tables, u: int, v: int, now: int) -> None:
    key = pair_key(u, v)
    slot = slot_of(tables.places, tables.layout, tables.pairs, key)
    row = row_at(tables.places, slot)
    new = row == NONE
    if new:
        row = tables.clock[PAIRS]
        put(tables.places, slot, key, row)
        tables.pairs[row].key = key
        tables.clock[PAIRS] += 1
    pair, source, destination = tables.pairs[row], tables.nodes[u], tables.nodes[v]

    before = source.partner[OUT]  # where u was
    if before != NONE:
        left = tables.nodes[before]
        _move(source.habits, RETURNS, before == v, source.count[OUT])
        _move(source.habits, FIRSTS, new, source.count[OUT])
        _move(left.habits, STICKY, before == v, left.count[IN])
        tables.pairs[source.last_pair].next = v
        if before != v:
            left.successor = v
    if destination.count[IN] > 0:
        _move(destination.habits, NOVEL, new, destination.count[IN])
        _move(destination.habits, SAME, destination.partner[IN] == u, destination.count[IN])

    if tables.edition > 1:
        _second_edition(tables, pair, u, v, now, new)
    if tables.edition > 2:
        note_message(tables, u, v, row, now)
    if not new:
        pair.gap = now - pair.last
    _add(pair.sums, tables, (now - pair.last) / tables.ticks)
    pair.last = now
    pair.count += 1
    _take_part(source, OUT, v, now, new, pair, tables)
    _take_part(destination, IN, u, now, new, pair, tables)
    source.last_pair = row
    destination.number = tables.clock[EVENTS]
    tables.clock[EVENTS] += 1
    tables.clock[NOW] = now


@compiled_into
def _second_edition(tables: Tables, pair: Record, u: int, v: int, now: int, new: bool) -> None:
    """Newcomers, replies, gaps, runs and successors. Of all else the tables still tell what was before the
    event."""
    source, destination = tables.nodes[u], tables.nodes[v]
    if new:
        come_fresh(tables, destination, FIRST_MEETING, now)
    if source.count[OUT] == 0:
        come_fresh(tables, destination, NEW_SOURCE, now)
    if u != v:  # nobody owes itself an answer
        if pair.unanswered == 0:
            pair.first_unanswered = now
        pair.unanswered += 1
        if destination.count[OUT] > 0 and source.count[IN] > 0:
            back = row_of(tables.places, tables.layout, tables.pairs, v, u)
            if back != NONE:
                tables.pairs[back].unanswered = 0
    if not new:
        add_gap(pair.log_gaps, (now - pair.last) / tables.ticks, pair.count)
        passed = source.count[OUT] - pair.number[OUT]
        pair.between += step_of(pair.count) * (passed - pair.between)
    before = source.partner[OUT]
    if before == NONE:
        source.run = 1
        return
    add_gap(source.log_gaps, (now - source.last[OUT]) / tables.ticks, source.count[OUT])
    if before == v:
        source.run += 1
        return
    source.runs += 1
    source.usual_run += step_of(source.runs) * (source.run - source.usual_run)
    source.run = 1
    follow_on(tables, source, v, now)


@compiled_into
def _take_part(
    node: Record, role: int, other: int, now: int, new: bool, pair: Record, tables: Tables
) -> None:
    _add(node.sums[role], tables, (now - node.last[role]) / tables.ticks)
    node.last[role] = now
    node.count[role] += 1
    node.distinct[role] += new
    node.partner[role] = other
    _to_front(node.ring[role], node.ring_time[role], other, now)
    passed = node.count[role] - pair.number[role]
    for k in range(len(SPANS)):
        pair.weights[role, k] = pair.weights[role, k] * share_left(k, passed) + 1.0 / SPANS[k]
    pair.number[role] = node.count[role]


@compiled_into
def _add(sums: Array, tables: Tables, gap: float) -> None:
    """Fade what there is and add one. (Before the first event there is nothing to fade.)"""
    rates = tables.rates
    if tables.by_squares:
        left = math.exp(-gap * rates[-1])
        for m in range(len(rates) - 1, -1, -1):
            sums[m] = sums[m] * left + 1.0
            left = left**4 if left > NOTHING else 0.0
    else:
        for m in range(len(rates)):
            sums[m] = sums[m] * math.exp(-gap * rates[m]) + 1.0


@compiled_into
def _move(habits: Array, place: int, happened: bool, events: int) -> None:
    habits[place] += max(STEP, 1.0 / (events + 2.0)) * (happened - habits[place])


@compiled_into
def _to_front(ring: Array, times: Array, node: int, now: int) -> None:
    place = 0
    while place < len(ring) - 1 and ring[place] != node and ring[place] != NONE:
        place += 1
    for k in range(place, 0, -1):
        ring[k], times[k] = ring[k - 1], times[k - 1]
    ring[0], times[0] = node, now
