"""What slm remembers and reads: fading counts of who went where, of what followed what, and of what was near.

Three `FadingCounts` and the last destinations of every source. An event costs a few additions, so a question
can be answered with all strictly earlier events taken in, in one compiled loop.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.clock import Clock
from keat.ops import Floats, Integers, compiled, frozen
from keat.state import (
    CountTables,
    FadingCounts,
    check_state,
    check_that,
    count_event,
    left_over,
    pair_row,
    parts_of,
    whole,
)

Ids = npt.NDArray[np.int32]
NONE = -1
OUT, IN = 0, 1  # roles, and columns of counts, as in `FadingCounts`
COUNT, LAST, DISTINCT = 0, 1, 3
PAIRS, DESTINATIONS, NOW = 0, 3, 4  # places in the clock
EXTRAS = 4  # columns after the recency of the pair: P_co, recency of the destination, faster, slower
_STORES = ("visits", "steps", "near")


class Memory(NamedTuple):
    """What compiled loops read and write."""

    visits: CountTables  # source → destination
    steps: CountTables  # a destination → the next one of the same source
    near: CountTables  # each of the last K destinations → the next one
    latest: Integers  # (nodes, K) the last destinations of each source, newest first, or -1


class Smoothing(NamedTuple):
    """How counts become probabilities and ages recencies."""

    alpha: float
    continuation: bool  # whether the base is P_c
    recency_rate: float  # 1/width, in the unit of the clock


class SLMPast:
    """Counts c that fade with age, exp(-age/width), and what they say of a candidate z for a source u whose
    last destinations are v₁, v₂ …, newest first. V are the destinations seen so far, n(x) = Σ_z c(x, z):

        P(z)     = (c(z) + α)/(C + α|V|)                P_c(z) = (N(z) + α)/(Σ N + α|V|)
        P(z | x) = (c(x, z) + α B(z))/(n(x) + α)        B is P or P_c; x is u, or a v_k
        P_co(z)  = (Σ_k c_co(v_k, z) + α B(z))/(Σ_k n_co(v_k) + α)

    c(v, z) counts how often a source went from v straight to z, N(z) from how many different v; c_co(v, z)
    how often v was among the K destinations before z.
    """

    def __init__(
        self, num_nodes: int, history: int, width: float, smoothing: Smoothing, clock: Clock
    ) -> None:
        self.num_nodes, self.history, self.smoothing = num_nodes, history, smoothing
        self.stores = {name: FadingCounts(num_nodes, width, clock) for name in _STORES}
        self.columns = history + 3 + EXTRAS
        self.clear()

    def clear(self) -> None:
        for store in self.stores.values():
            store.clear()
        self.latest = np.full((max(self.num_nodes, 1), self.history), NONE, dtype=np.int64)

    def make_room(self, nodes: int, events: int) -> None:
        for name, store in self.stores.items():
            store.make_room(nodes, events * self.history if name == "near" else events)
        if nodes > len(self.latest):
            longer = np.full((max(nodes, len(self.latest) * 3 // 2), self.history), NONE, dtype=np.int64)
            longer[: len(self.latest)] = self.latest
            self.latest = longer

    def _memory(self) -> Memory:
        visits, steps, near = (self.stores[name].tables for name in _STORES)
        return Memory(visits, steps, near, self.latest)

    def observe(self, src: Ids, dst: Ids, t: Integers) -> None:
        """Consecutive events, never older than those before."""
        self.make_room(_needed(src, dst), len(t))
        _take_in(self._memory(), frozen(src), frozen(dst), frozen(t), 0, len(t))

    def read_in_turn(
        self, src: Ids, t: Integers, candidates: Ids, event_src: Ids, event_dst: Ids, event_t: Integers
    ) -> tuple[Tensor, int]:
        """The columns (B, C, columns) of candidates (B, C) or (C,) of sources (B,) at times (B,), each asked
        with those events taken in that are strictly earlier; and how many those were. Times do not fall where
        there are events."""
        self.make_room(_needed(src, candidates, event_src, event_dst), len(event_t))
        shape = (len(src), candidates.shape[-1])
        found = np.zeros((*shape, self.columns), dtype=np.float32)
        done = _read_in_turn(
            self._memory(),
            self.smoothing,
            frozen(src),
            frozen(t),
            frozen(np.broadcast_to(candidates, shape)),
            frozen(event_src),
            frozen(event_dst),
            frozen(event_t),
            found,
        )
        return torch.from_numpy(found), done

    # -- state -----------------------------------------------------------------------------------------

    def save(self) -> dict[str, Tensor]:
        state = {
            f"{name}.{field}": tensor
            for name, store in self.stores.items()
            for field, tensor in store.save().items()
        }
        nodes = len(state["visits.node_sums"])
        return state | {"latest": torch.from_numpy(self.latest[:nodes].copy())}

    def load(self, state: dict[str, Tensor]) -> None:
        *kept, latest = parts_of(state, (*(f"{name}." for name in _STORES), "latest"))
        check_state(
            {"latest" + name: tensor for name, tensor in latest.items()},
            {"latest": whole("nodes", self.history, lowest=NONE, below="nodes")},
        )
        self.clear()
        for store, part in zip(self.stores.values(), kept, strict=True):
            store.load(part)
        nodes = len(latest[""])
        check_that(
            all(len(part["node_sums"]) <= nodes for part in kept), "'latest' has fewer nodes than there are"
        )
        self.make_room(nodes, 0)
        self.latest[:nodes] = latest[""].cpu().numpy()


def _needed(*ids: Ids) -> int:
    return 1 + max(int(part.max(initial=-1)) for part in ids)


@compiled
def _take_in(memory: Memory, src: Ids, dst: Ids, t: Integers, first: int, last: int) -> None:
    for i in range(first, last):
        latest = memory.latest[src[i]]
        if latest[0] >= 0:
            count_event(memory.steps, latest[0], dst[i], t[i])
        for k in range(len(latest)):
            if latest[k] >= 0:
                count_event(memory.near, latest[k], dst[i], t[i])
        count_event(memory.visits, src[i], dst[i], t[i])
        for k in range(len(latest) - 1, 0, -1):
            latest[k] = latest[k - 1]
        latest[0] = dst[i]


@compiled
def _read_in_turn(
    memory: Memory,
    smoothing: Smoothing,
    src: Ids,
    t: Integers,
    candidates: Ids,
    event_src: Ids,
    event_dst: Ids,
    event_t: Integers,
    found: Floats,
) -> int:
    done = 0
    for i in range(len(t)):
        while done < len(event_t) and event_t[done] < t[i]:
            _take_in(memory, event_src, event_dst, event_t, done, done + 1)
            done += 1
        _describe(memory, smoothing, src[i], t[i], candidates[i], found[i])
    return done


@compiled
def _describe(memory: Memory, how: Smoothing, src: int, t: int, candidates: Ids, found: Floats) -> None:
    """All columns of one question. What no candidate changes is computed first; for pairs that never met, and
    these are most, log P(z|x) = log B(z) + log α/(n(x) + α)."""
    visits, steps, near, latest = memory.visits, memory.steps, memory.near, memory.latest[src]
    alpha, length, after = how.alpha, len(latest), 2 + len(latest)
    begin = alpha * max(visits.clock[DESTINATIONS], 1)
    all_visits = visits.total[0] * left_over(visits, visits.clock[NOW], t) + begin
    all_steps = steps.clock[PAIRS] + begin
    from_src, from_near = _node_sum(visits, src, OUT, t) + alpha, alpha
    from_latest, same = np.empty(length), np.empty(length, dtype=np.int64)
    for k in range(length):
        same[k] = k
        if latest[k] >= 0:
            from_latest[k] = _node_sum(steps, latest[k], OUT, t) + alpha
            from_near += _node_sum(near, latest[k], OUT, t)
            for before in range(k - 1, -1, -1):
                same[k] = before if latest[before] == latest[k] else same[k]
    unmet_by_src = math.log(alpha / from_src)
    for j in range(len(candidates)):
        z, row = candidates[j], found[j]
        marginal = (_node_sum(visits, z, IN, t) + alpha) / all_visits
        base = (steps.node_counts[z, IN, DISTINCT] + alpha) / all_steps if how.continuation else marginal
        log_base = math.log(base)
        row[0] = math.log(marginal)
        pair = pair_row(visits, src, z)
        row[1] = log_base + unmet_by_src
        if pair >= 0:
            row[1] = math.log((_pair_sum(visits, pair, t) + alpha * base) / from_src)
            age = (t - visits.pair_counts[pair, LAST]) * visits.multiply / visits.divide * how.recency_rate
            row[after] = math.exp(-age)
            row[after + 3], row[after + 4] = math.exp(-10.0 * age), math.exp(-0.1 * age)
        seen = visits.node_counts[z, IN]
        if seen[COUNT] > 0:
            age = (t - seen[LAST]) * visits.multiply / visits.divide * how.recency_rate
            row[after + 2] = math.exp(-age)
        reached = steps.node_counts[z, IN, COUNT] > 0  # else nothing ever led there
        near_here = alpha * base
        for k in range(length):
            v = latest[k]
            if v < 0:
                break
            met = pair_row(steps, v, z) if reached and same[k] == k else np.int64(NONE)
            if met >= 0:
                row[2 + k] = math.log((_pair_sum(steps, met, t) + alpha * base) / from_latest[k])
            elif same[k] < k:
                row[2 + k] = row[2 + same[k]]
            else:
                row[2 + k] = log_base + math.log(alpha / from_latest[k])
            if reached:
                near_here += _pair_sum(near, pair_row(near, v, z), t)
        row[after + 1] = math.log(near_here / from_near)


@compiled
def _pair_sum(tables: CountTables, row: np.int64, t: int) -> float:
    if row < 0:
        return 0.0
    return float(tables.pair_sums[row] * left_over(tables, tables.pair_counts[row, LAST], t))


@compiled
def _node_sum(tables: CountTables, node: int, role: int, t: int) -> float:
    return float(tables.node_sums[node, role] * left_over(tables, tables.node_counts[node, role, LAST], t))
