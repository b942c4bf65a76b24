"""What an event changes: O(1) per event, but for the ring of partners, which is O(K)."""

from __future__ import annotations

import math

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
    pair_key,
)
from keat.ops.compiling import compiled
from keat.state.pair_table import slot_of

STEP = 0.1  # a running share moves by this much of the way with each event, by more while there are few


@compiled
def observe(tables: Tables, src: Array, dst: Array, t: Array, first: int, last: int) -> None:
    """Events ``first:last`` happen, in order. There must be room for their nodes and pairs."""
    for i in range(first, last):
        _observe_one(tables, src[i], dst[i], t[i])


@compiled
def _observe_one(tables: Tables, u: int, v: int, now: int) -> None:
    key = pair_key(u, v)
    slot = slot_of(tables.keys, key)
    new = tables.keys[slot] == NONE
    if new:
        tables.keys[slot], tables.rows[slot] = key, tables.clock[PAIRS]
        tables.clock[PAIRS] += 1
    row = tables.rows[slot]
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

    if new:
        pair.key = key
    else:
        pair.gap = now - pair.last
    _add(pair.sums, tables.rates, (now - pair.last) / tables.ticks)
    pair.last = now
    pair.count += 1
    _take_part(source, OUT, v, now, new, pair, tables)
    _take_part(destination, IN, u, now, new, pair, tables)
    source.last_pair = row
    destination.number = tables.clock[EVENTS]
    tables.clock[EVENTS] += 1
    tables.clock[NOW] = now


@compiled
def _take_part(
    node: Record, role: int, other: int, now: int, new: bool, pair: Record, tables: Tables
) -> None:
    _add(node.sums[role], tables.rates, (now - node.last[role]) / tables.ticks)
    node.last[role] = now
    node.count[role] += 1
    node.distinct[role] += new
    node.partner[role] = other
    _to_front(node.ring[role], node.ring_time[role], other, now)
    passed = node.count[role] - pair.number[role]
    for k in range(len(SPANS)):
        faded = pair.weights[role, k] * (1.0 - 1.0 / SPANS[k]) ** passed
        pair.weights[role, k] = faded + 1.0 / SPANS[k]
    pair.number[role] = node.count[role]


@compiled
def _add(sums: Array, rates: Array, gap: float) -> None:
    """Fade what there is and add one. (Before the first event there is nothing to fade.)"""
    for m in range(len(rates)):
        sums[m] = sums[m] * math.exp(-gap * rates[m]) + 1.0


@compiled
def _move(habits: Array, place: int, happened: bool, events: int) -> None:
    habits[place] += max(STEP, 1.0 / (events + 2.0)) * (happened - habits[place])


@compiled
def _to_front(ring: Array, times: Array, node: int, now: int) -> None:
    place = 0
    while place < len(ring) - 1 and ring[place] != node and ring[place] != NONE:
        place += 1
    for k in range(place, 0, -1):
        ring[k], times[k] = ring[k - 1], times[k - 1]
    ring[0], times[0] = node, now
