"""What is remembered of the past: a row for every pair that has met and a row for every node.

Kernel sums are kept as of their own last event, S = Σ exp(-(last - t_i)/σ_m), and are faded when they are
read or added to: an exponential's past fades all alike, so this is exact and costs O(1) an event.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from keat.state.compiled import compiled
from keat.state.pair_table import slot_of

Array = npt.NDArray[Any]
OUT, IN = 0, 1  # roles of a node: source, destination
NONE = -1
SPANS = (2.0, 5.0, 20.0)  # events that a running share of a node's events looks back on
PAIRS, EVENTS, NOW = 0, 1, 2  # places in `clock`
RETURNS, FIRSTS = 0, 1  # places in `rate` of a node as a source …
STICKY, NOVEL, SAME = 2, 3, 4  # … and as a destination


class Tables(NamedTuple):
    """Arrays that compiled loops read and write; P pairs and n nodes there is room for."""

    rates: Array  # (M,) 1/σ_m
    clock: Array  # (3,) int64: pairs and events so far, time of the last event
    # pairs
    keys: Array  # (slots,) int64: src·2³² + dst, or -1; a hash table
    rows: Array  # (slots,) int64: the pair's row below
    pair: Array  # (P,) int64: the key again, in order of the first meeting
    pair_sums: Array  # (P, M) float32, as of the last meeting
    pair_last: Array  # (P,) int64: time of the last meeting
    pair_gap: Array  # (P,) int64: between the last two, or -1
    pair_count: Array  # (P,) int32
    pair_number: Array  # (P, 2) int32: events of the source, and of the destination, at the last meeting
    pair_weights: Array  # (P, 2, 3) float32: running shares of their events, as of the last meeting
    pair_next: Array  # (P,) int32: where the source went after the last meeting, or -1
    # nodes; an axis of 2 is the role
    sums: Array  # (n, 2, M) float32, as of `last`
    last: Array  # (n, 2) int64
    counts: Array  # (n, 2) int32: events
    distinct: Array  # (n, 2) int32: partners
    partner: Array  # (n, 2) int32: of the last event, or -1
    rate: Array  # (n, 5) float32: running shares, see above
    last_pair: Array  # (n,) int64: row of the pair of its last event as a source, or -1
    last_number: Array  # (n,) int64: number of its last event as a destination
    successor: Array  # (n,) int32: where the last source to leave this destination went, or -1
    ring: Array  # (n, 2, K) int32: the last K distinct partners, latest first, then -1
    ring_time: Array  # (n, 2, K) int64


NODE_FIELDS = Tables._fields[Tables._fields.index("sums") :]
PAIR_FIELDS = Tables._fields[Tables._fields.index("pair") : Tables._fields.index("sums")]
_EMPTY: dict[str, float] = {  # what a row holds before its first event; 0 where not named
    "pair_gap": NONE,
    "pair_next": NONE,
    "partner": NONE,
    "rate": 0.5,
    "last_pair": NONE,
    "successor": NONE,
    "ring": NONE,
}


def empty_tables(num_nodes: int, widths: npt.NDArray[np.float64], ring: int) -> Tables:
    """Nothing has happened yet."""
    kernels = len(widths)
    rows: dict[str, tuple[tuple[int, ...], Any]] = {
        "pair": ((), np.int64),
        "pair_sums": ((kernels,), np.float32),
        "pair_last": ((), np.int64),
        "pair_gap": ((), np.int64),
        "pair_count": ((), np.int32),
        "pair_number": ((2,), np.int32),
        "pair_weights": ((2, len(SPANS)), np.float32),
        "pair_next": ((), np.int32),
        "sums": ((2, kernels), np.float32),
        "last": ((2,), np.int64),
        "counts": ((2,), np.int32),
        "distinct": ((2,), np.int32),
        "partner": ((2,), np.int32),
        "rate": ((5,), np.float32),
        "last_pair": ((), np.int64),
        "last_number": ((), np.int64),
        "successor": ((), np.int32),
        "ring": ((2, ring), np.int32),
        "ring_time": ((2, ring), np.int64),
    }
    lengths = dict.fromkeys(PAIR_FIELDS, 0) | dict.fromkeys(NODE_FIELDS, num_nodes)
    arrays = {
        name: np.full((lengths[name], *shape), _EMPTY.get(name, 0), dtype=dtype)
        for name, (shape, dtype) in rows.items()
    }
    return Tables(
        rates=1.0 / widths,
        clock=np.zeros(3, dtype=np.int64),
        keys=np.full(1 << 10, NONE, dtype=np.int64),
        rows=np.zeros(1 << 10, dtype=np.int64),
        **arrays,
    )


def with_room(tables: Tables, num_nodes: int, pairs: int) -> Tables:
    """The same tables, longer where they have to be."""
    if num_nodes > len(tables.last):
        tables = _lengthened(tables, NODE_FIELDS, max(num_nodes, len(tables.last) * 3 // 2))
    if pairs > len(tables.pair):
        tables = _lengthened(tables, PAIR_FIELDS, max(pairs, len(tables.pair) * 3 // 2))
    slots = len(tables.keys)
    if 2 * pairs > slots:  # at most half full: probes stay short
        while 2 * pairs > slots:
            slots *= 2
        tables = indexed(tables, slots)
    return tables


def indexed(tables: Tables, slots: int) -> Tables:
    """The hash table made anew from the pairs."""
    keys, rows = np.full(slots, NONE, dtype=np.int64), np.zeros(slots, dtype=np.int64)
    _index(keys, rows, tables.pair, tables.clock[PAIRS])
    return tables._replace(keys=keys, rows=rows)


def _lengthened(tables: Tables, fields: tuple[str, ...], length: int) -> Tables:
    longer = {}
    for name in fields:
        old = getattr(tables, name)
        longer[name] = np.full((length, *old.shape[1:]), _EMPTY.get(name, 0), dtype=old.dtype)
        longer[name][: len(old)] = old
    return tables._replace(**longer)


@compiled
def _index(keys: Array, rows: Array, pair: Array, pairs: int) -> None:
    for row in range(pairs):
        slot = slot_of(keys, pair[row])
        keys[slot], rows[slot] = pair[row], row


@compiled
def pair_key(src: int, dst: int) -> np.int64:
    return (np.int64(src) << 32) | np.int64(dst)


@compiled
def row_of(keys: Array, rows: Array, src: int, dst: int) -> np.int64:
    """The row of a pair, or -1 if it has never met."""
    key = pair_key(src, dst)
    slot = slot_of(keys, key)
    return rows[slot] if keys[slot] == key else np.int64(NONE)
