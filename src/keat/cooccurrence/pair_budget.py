"""A budget of memory: where the tables would outgrow it, the oldest pairs are dropped.

Every node keeps its record, and every source the pair of its last event. All other pairs may go: first those
that have not met for longest, whose sums have faded most. That is done once the pairs are as many as fit
beside the nodes and the successors, for a quarter of them at once, so that a new pair pays for the dropping
of one. When it is done depends on the events alone, and not on batches or on where a state was kept between.

A pair that was dropped and meets again is new: its sums and counts begin anew, and it counts as a first
meeting of its nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keat.cooccurrence.pair_index import refill, slots_for
from keat.cooccurrence.pair_records import (
    BUDGET,
    DROPPED,
    EVENTS,
    KNOWN,
    MOST,
    NEXT,
    NONE,
    NOW,
    PAIRS,
    TINY,
    UNFADED,
    Array,
    Tables,
    bytes_a_node,
    bytes_a_pair,
    empty_records,
    nodes_to_keep,
)
from keat.errors import InputError

DROPPING = 32  # bytes a pair that choosing and moving takes
AT_LEAST, PART = 1 << 10, 16  # what fits is looked at anew after so many events, or after a part of them
AT_ONCE = 1 << 14  # records that are moved


class StateMemory(NamedTuple):
    """What a state takes, of what it may take, and what was dropped for that."""

    bytes: int
    budget: int
    dropped: int  # pairs
    unfaded: int  # of them, with a sum that had not faded to nothing

    def __str__(self) -> str:
        told = f"The state takes {self.bytes / 1e6:,.1f} MB of {self.budget / 1e6:,.1f} MB"
        if not self.dropped:
            return f"{told}; no pair was forgotten."
        return f"{told}; {self.dropped:,} pairs were forgotten, {self.unfaded:,} before they had faded."


def memory_of(tables: Tables) -> StateMemory | None:
    """None where there is no budget."""
    budget, dropped, unfaded = (int(tables.budget[place]) for place in (BUDGET, DROPPED, UNFADED))
    if budget == 0:
        return None
    pairs = int(tables.clock[PAIRS])
    return StateMemory(_beside_pairs(tables) + _bytes_of(pairs, tables), budget, dropped, unfaded)


def begin_budget(tables: Tables, budget: int) -> None:
    """From no event on, with room for the nodes that are known."""
    nodes = len(tables.nodes)
    least = nodes * (bytes_a_node(tables) + 2 * bytes_a_pair(tables)) + _bytes_of(AT_LEAST, tables)
    if budget < least:
        raise InputError(
            f"{nodes:,} nodes do not fit a state of {budget / 1e6:,.1f} MB; give --state-memory at least "
            f"{least / 1e6 + 1:,.0f}MB."
        )
    tables.budget[BUDGET], tables.budget[KNOWN] = budget, nodes
    look(tables)


def look(tables: Tables) -> None:
    """What fits now; where that is hardly more pairs than there are, the oldest are dropped."""
    pairs, events = int(tables.clock[PAIRS]), int(tables.clock[EVENTS])
    fitting, few = _fitting(tables), max(AT_LEAST, pairs // PART)
    if fitting < pairs + few:
        _drop(tables, pairs - fitting * 3 // 4)
        pairs = int(tables.clock[PAIRS])
    tables.budget[MOST] = max(fitting, pairs + few)
    tables.budget[NEXT] = events + max(AT_LEAST, events // PART)


def _drop(tables: Tables, number: int) -> None:
    """The oldest pairs, as far as they are not the last of their source; of those that are equally old, the
    ones that met first."""
    pairs, now = tables.pairs[: tables.clock[PAIRS]], int(tables.clock[NOW])
    points = tables.nodes["last_pair"]
    pointing = points != NONE
    last = pairs["last"].copy()
    last[points[pointing]] = now + 1
    number = min(number, len(pairs) - int(pointing.sum()))
    if number <= 0:
        return
    border = np.partition(last, number - 1)[number - 1]
    stays = last >= border
    stays[np.flatnonzero(last == border)[: number - len(last) + int(stays.sum())]] = False
    gone = np.flatnonzero(~stays)
    tables.budget[DROPPED] += len(gone)
    tables.budget[UNFADED] += sum(
        _unfaded(tables, pairs[gone[k : k + AT_ONCE]], now) for k in range(0, len(gone), AT_ONCE)
    )
    place = np.cumsum(stays, dtype=np.int32) - np.int32(1)
    points[pointing] = place[points[pointing]]
    kept = _close_up(pairs, stays)
    if tables.edition > 2:
        _close_up(tables.noted[: len(pairs)], stays)
    tables.clock[PAIRS] = kept
    refill(tables.places, tables.layout, tables.pairs, kept)


def _close_up(records: Array, stays: Array) -> int:
    """Those that stay, without gaps, and empty ones behind; returns how many stay."""
    kept = 0
    for first in range(0, len(records), AT_ONCE):
        moved = records[first : first + AT_ONCE][stays[first : first + AT_ONCE]]
        records[kept : kept + len(moved)] = moved
        kept += len(moved)
    records[kept:] = empty_records(1, records.dtype)
    return kept


def _unfaded(tables: Tables, pairs: Array, now: int) -> int:
    """How many have a sum left; that of the widest kernel is the last to fade."""
    widest = int(tables.rates.argmin())
    ages = (now - pairs["last"]) / tables.ticks
    return int((pairs["sums"][:, widest] * np.exp(-ages * tables.rates[widest]) >= TINY).sum())


def _beside_pairs(tables: Tables) -> int:
    """Bytes of nodes that are known or have had an event, and of shelves that they have."""
    used = nodes_to_keep(tables.nodes, int(tables.budget[KNOWN]))
    shelves = int(tables.nodes["number_of_shelves"].sum(dtype=np.int64))
    return used * bytes_a_node(tables) + shelves * tables.shelves.itemsize


def _bytes_of(pairs: int, tables: Tables) -> int:
    return pairs * (bytes_a_pair(tables) + DROPPING) + slots_for(pairs) * tables.places.itemsize


def _fitting(tables: Tables) -> int:
    """The most pairs, with their slots, that leave room for nodes and successors until the next look."""
    beside = _beside_pairs(tables)
    come = beside - int(tables.budget[KNOWN]) * bytes_a_node(tables)
    left = max(0, int(tables.budget[BUDGET]) - beside - 2 * come // PART)
    low, high = 0, left // (bytes_a_pair(tables) + DROPPING)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _bytes_of(middle, tables) <= left else (low, middle - 1)
    return low
