"""What an event changes: O(1) per event, but for the ring of partners, which is O(K)."""

from __future__ import annotations

import math

from keat.cooccurrence.tables import (
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
    Tables,
    pair_key,
)
from keat.state.compiled import compiled
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
        row = tables.clock[PAIRS]
        tables.clock[PAIRS] += 1
        tables.keys[slot], tables.rows[slot], tables.pair[row] = key, row, key
    else:
        row = tables.rows[slot]
        tables.pair_gap[row] = now - tables.pair_last[row]

    before = tables.partner[u, OUT]  # where u was
    if before != NONE:
        _move(tables.rate[u], RETURNS, before == v, tables.counts[u, OUT])
        _move(tables.rate[u], FIRSTS, new, tables.counts[u, OUT])
        _move(tables.rate[before], STICKY, before == v, tables.counts[before, IN])
        tables.pair_next[tables.last_pair[u]] = v
        if before != v:
            tables.successor[before] = v
    if tables.counts[v, IN] > 0:
        _move(tables.rate[v], NOVEL, new, tables.counts[v, IN])
        _move(tables.rate[v], SAME, tables.partner[v, IN] == u, tables.counts[v, IN])

    _add(tables.pair_sums[row], tables.rates, now - tables.pair_last[row])
    tables.pair_last[row] = now
    tables.pair_count[row] += 1
    for node, other, role in ((u, v, OUT), (v, u, IN)):
        _add(tables.sums[node, role], tables.rates, now - tables.last[node, role])
        tables.last[node, role] = now
        tables.counts[node, role] += 1
        tables.distinct[node, role] += new
        tables.partner[node, role] = other
        _to_front(tables.ring[node, role], tables.ring_time[node, role], other, now)
        passed = tables.counts[node, role] - tables.pair_number[row, role]
        for k in range(len(SPANS)):
            faded = tables.pair_weights[row, role, k] * (1.0 - 1.0 / SPANS[k]) ** passed
            tables.pair_weights[row, role, k] = faded + 1.0 / SPANS[k]
        tables.pair_number[row, role] = tables.counts[node, role]
    tables.last_pair[u] = row
    tables.last_number[v] = tables.clock[EVENTS]
    tables.clock[EVENTS] += 1
    tables.clock[NOW] = now


@compiled
def _add(sums: Array, rates: Array, gap: int) -> None:
    """Fade what there is and add one. (Before the first event there is nothing to fade.)"""
    for m in range(len(rates)):
        sums[m] = sums[m] * math.exp(-gap * rates[m]) + 1.0


@compiled
def _move(rates: Array, place: int, happened: bool, events: int) -> None:
    rates[place] += max(STEP, 1.0 / (events + 2.0)) * (happened - rates[place])


@compiled
def _to_front(ring: Array, times: Array, node: int, now: int) -> None:
    place = 0
    while place < len(ring) - 1 and ring[place] != node and ring[place] != NONE:
        place += 1
    for k in range(place, 0, -1):
        ring[k], times[k] = ring[k - 1], times[k - 1]
    ring[0], times[0] = node, now
