"""How often, how lately and how much with fading: counts of directed pairs and of their ends, exact.

One store serves what is made of counts: heuristics of recency and popularity, base3, and slm, which keeps
three of them. Pairs are found by the hash of `pair_table`, as those of keat-rank are. keat-rank's own records
hold some forty numbers of a pair side by side, because it reads them all; who needs two would pay for all of
them at every event.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.clock import PLAIN, Clock
from keat.events import EventStream
from keat.ops import Floats, Integers, compiled, frozen
from keat.state.checking import Expected, check_state, check_that, whole
from keat.state.pair_table import slot_of

Ids = npt.NDArray[np.int32]
NONE = -1
OUT, IN = 0, 1  # roles of a node: source, destination
COUNT, LAST, MOMENT, DISTINCT = 0, 1, 2, 3  # columns of counts; pairs have no DISTINCT
PAIRS, EVENTS, MOMENTS, DESTINATIONS, NOW = 0, 1, 2, 3, 4  # places in the clock


class CountTables(NamedTuple):
    """Arrays that compiled loops read and write. A moment is the number of a distinct time, from 1 on: it has
    the order of times and is small. A sum is as of the last event of what it belongs to."""

    rate: float  # 1/width, in the unit of the clock
    multiply: int  # a tick is multiply/divide of that unit
    divide: int
    keys: Integers  # (slots,) src·2³² + dst, or -1; a hash table
    rows: Integers  # (slots,) the pair's row
    ends: Integers  # (pairs, 2)
    pair_counts: Integers  # (pairs, 3) count, last time, its moment
    pair_sums: Floats  # (pairs,)
    node_counts: Integers  # (nodes, 2, 4) by role; DISTINCT counts the partners
    node_sums: Floats  # (nodes, 2)
    clock: Integers  # (5,) pairs, events, moments and destinations so far, the last time
    total: Floats  # (1,) sum over all events, as of the last time


class FadingCounts:
    """Of every pair (a, b) and of every node in either role, over the events observed at times t_i:

        count = Σ 1,    sum(t) = Σ exp(-(t - t_i)/width),    last = max t_i

    O(1) an event; memory in the number of distinct pairs and nodes. An infinite width never fades.
    """

    def __init__(self, num_nodes: int, width: float = math.inf, clock: Clock = PLAIN) -> None:
        self.num_nodes, self.rate, self.unit = num_nodes, 1.0 / width, clock
        self.clear()

    def clear(self) -> None:
        self.tables = CountTables(
            rate=self.rate,
            multiply=self.unit.multiply,
            divide=self.unit.divide,
            keys=np.full(1 << 10, NONE, dtype=np.int64),
            rows=np.zeros(1 << 10, dtype=np.int64),
            ends=np.zeros((1, 2), dtype=np.int64),  # room for one, so that there is something to look at
            pair_counts=np.zeros((1, 3), dtype=np.int64),
            pair_sums=np.zeros(1),
            node_counts=np.zeros((max(self.num_nodes, 1), 2, 4), dtype=np.int64),
            node_sums=np.zeros((max(self.num_nodes, 1), 2)),
            clock=np.zeros(5, dtype=np.int64),
            total=np.zeros(1),
        )

    def make_room(self, nodes: int, events: int) -> None:
        """For nodes up to this many, and for so many events whatever they are."""
        tables = self.tables
        if nodes > len(tables.node_sums):
            longer = max(nodes, len(tables.node_sums) * 3 // 2)
            tables = tables._replace(
                node_counts=_lengthened(tables.node_counts, longer),
                node_sums=_lengthened(tables.node_sums, longer),
            )
        pairs = int(tables.clock[PAIRS]) + events
        if pairs > len(tables.ends):
            longer = max(pairs, len(tables.ends) * 3 // 2)
            tables = tables._replace(
                ends=_lengthened(tables.ends, longer),
                pair_counts=_lengthened(tables.pair_counts, longer),
                pair_sums=_lengthened(tables.pair_sums, longer),
            )
        slots = len(tables.keys)
        while 2 * pairs > slots:  # at most half full: probes stay short
            slots *= 2
        self.tables = tables if slots == len(tables.keys) else _indexed(tables, slots)

    # -- state -----------------------------------------------------------------------------------------

    def observe(self, events: EventStream) -> None:
        self.add(events.src, events.dst, events.t)

    def add(self, src: Ids, dst: Ids, t: Integers) -> None:
        """Consecutive events, never older than those before."""
        self.make_room(1 + int(max(src.max(initial=-1), dst.max(initial=-1))), len(t))
        _count_events(self.tables, frozen(src), frozen(dst), frozen(t))

    def __len__(self) -> int:
        """The number of events."""
        return int(self.tables.clock[EVENTS])

    @property
    def pairs(self) -> int:
        """Distinct pairs."""
        return int(self.tables.clock[PAIRS])

    def last_time(self) -> int:
        return int(self.tables.clock[NOW])

    def sources(self) -> Ids:
        return np.flatnonzero(self.tables.node_counts[:, OUT, COUNT]).astype(np.int32)

    def destinations(self) -> Ids:
        return np.flatnonzero(self.tables.node_counts[:, IN, COUNT]).astype(np.int32)

    def save(self) -> dict[str, Tensor]:
        """The hash table is made anew from the pairs. Nodes without an event after the last that has one are
        room, and left out."""
        tables, pairs = self.tables, self.pairs
        seen = np.flatnonzero(tables.node_counts[:, :, COUNT].any(axis=1))
        nodes = 1 + int(seen.max(initial=-1))
        arrays = {
            "ends": tables.ends[:pairs],
            "pair_counts": tables.pair_counts[:pairs],
            "pair_sums": tables.pair_sums[:pairs],
            "node_counts": tables.node_counts[:nodes],
            "node_sums": tables.node_sums[:nodes],
            "clock": tables.clock,
            "total": tables.total,
        }
        return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}

    def load(self, state: dict[str, Tensor]) -> None:
        lengths = check_state(state, _EXPECTED)
        pairs, nodes = lengths["pairs"], lengths["nodes"]
        check_that(int(state["clock"][PAIRS]) == pairs, f"'clock' speaks of other than {pairs} pairs")
        for name in ("clock", "pair_counts", "node_counts"):
            counts = state[name][..., [COUNT, MOMENT]] if name != "clock" else state[name][:NOW]
            check_that(counts >= 0, f"'{name}' holds a count below 0")
        for name in ("pair_sums", "node_sums", "total"):
            check_that(state[name] >= 0, f"'{name}' holds a sum below 0")
        self.clear()
        self.make_room(nodes, pairs)
        tables = self.tables
        for name in ("ends", "pair_counts", "pair_sums", "node_counts", "node_sums", "clock", "total"):
            held = state[name].cpu().numpy()
            getattr(tables, name)[: len(held)] = held
        self.tables = _indexed(tables, len(tables.keys))
        found = int((self.tables.keys != NONE).sum())
        check_that(found == pairs, "the same pair is there twice")

    # -- reading ---------------------------------------------------------------------------------------

    def rows(self, src: Ids, candidates: Ids) -> Integers:
        """Rows (B, C) of pairs (src[i], candidates[i, j]), or (src[i], candidates[j]) if they are shared; -1
        where they have never met."""
        found = np.empty((len(src), candidates.shape[-1]), dtype=np.int64)
        _find(self.tables, frozen(src), frozen(np.broadcast_to(candidates, found.shape)), found)
        return found

    def of_pairs(self, rows: Integers, column: int) -> Integers:
        """A column of counts of rows; 0 where there is none."""
        return np.where(rows >= 0, self.tables.pair_counts[np.maximum(rows, 0), column], 0)

    def of_nodes(self, nodes: npt.NDArray[np.integer], role: int, column: int) -> Integers:
        """A column of counts of nodes; 0 of those that were never seen."""
        room = len(self.tables.node_counts)
        known = np.minimum(nodes, room - 1)
        return np.where(nodes < room, self.tables.node_counts[known, role, column], 0)


_EXPECTED: dict[str, Expected] = {
    "ends": whole("pairs", 2, lowest=0, below="nodes"),
    "pair_counts": whole("pairs", 3),
    "pair_sums": Expected(torch.float64, ("pairs",)),
    "node_counts": whole("nodes", 2, 4),
    "node_sums": Expected(torch.float64, ("nodes", 2)),
    "clock": whole(5),
    "total": Expected(torch.float64, (1,)),
}


def _lengthened(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    longer = np.zeros((length, *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


def _indexed(tables: CountTables, slots: int) -> CountTables:
    keys, rows = np.full(slots, NONE, dtype=np.int64), np.zeros(slots, dtype=np.int64)
    _index(keys, rows, tables.ends, int(tables.clock[PAIRS]))
    return tables._replace(keys=keys, rows=rows)


@compiled
def _index(keys: Integers, rows: Integers, ends: Integers, pairs: int) -> None:
    for row in range(pairs):
        key = (ends[row, 0] << 32) | ends[row, 1]
        slot = slot_of(keys, key)
        keys[slot], rows[slot] = key, row


@compiled
def _count_events(tables: CountTables, src: Ids, dst: Ids, t: Integers) -> None:
    for i in range(len(t)):
        count_event(tables, src[i], dst[i], t[i])


@compiled
def count_event(tables: CountTables, src: int, dst: int, t: int) -> None:
    """Take in one event. There must be room."""
    clock = tables.clock
    if clock[EVENTS] == 0 or t > clock[NOW]:
        clock[MOMENTS] += 1
    tables.total[0] = 1.0 + tables.total[0] * left_over(tables, clock[NOW], t)
    clock[EVENTS] += 1
    clock[NOW] = t
    key = (np.int64(src) << 32) | np.int64(dst)
    slot = slot_of(tables.keys, key)
    new = tables.keys[slot] != key
    if new:
        row = clock[PAIRS]
        tables.keys[slot], tables.rows[slot] = key, row
        tables.ends[row, 0], tables.ends[row, 1] = src, dst
        clock[PAIRS] += 1
    row = tables.rows[slot]
    pair = tables.pair_counts[row]
    tables.pair_sums[row] = 1.0 + tables.pair_sums[row] * left_over(tables, pair[LAST], t)
    pair[COUNT] += 1
    pair[LAST], pair[MOMENT] = t, clock[MOMENTS]
    for role in range(2):
        end = src if role == OUT else dst
        node = tables.node_counts[end, role]
        tables.node_sums[end, role] = 1.0 + tables.node_sums[end, role] * left_over(tables, node[LAST], t)
        clock[DESTINATIONS] += role == IN and node[COUNT] == 0
        node[COUNT] += 1
        node[LAST], node[MOMENT] = t, clock[MOMENTS]
        node[DISTINCT] += new


@compiled
def left_over(tables: CountTables, since: int, t: int) -> float:
    """What is left at t of a sum that is as of ``since``; an empty one stays empty."""
    return math.exp(-max(t - since, 0) * tables.multiply / tables.divide * tables.rate)


@compiled
def pair_row(tables: CountTables, src: int, dst: int) -> np.int64:
    """The row of a pair, or -1."""
    key = (np.int64(src) << 32) | np.int64(dst)
    slot = slot_of(tables.keys, key)
    return tables.rows[slot] if tables.keys[slot] == key else np.int64(NONE)


@compiled
def _find(tables: CountTables, src: Ids, candidates: Ids, found: Integers) -> None:
    for i in range(found.shape[0]):
        for j in range(found.shape[1]):
            found[i, j] = pair_row(tables, src[i], candidates[i, j])
