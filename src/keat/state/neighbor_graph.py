"""Who is a neighbour of whom by the last K events of every node, and which neighbours two have in common.

a and b are neighbours if the last K events of either have one with the other. So neighbours depend on what
was observed and on nothing that is asked, and are mutual; a popular node has more than K.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keat.ops import Integers, compiled

# Kinds of nodes that a pair (u, v) can have in common. N is the set of neighbours; steps do not lead back
# through the other node of the pair.
BOTH = 0  # w ∈ N(u) ∩ N(v)
ONE_TWO = 1  # one step from u, two from v
TWO_ONE = 2
TWO_TWO = 3
AROUND_BOTH = 4  # a neighbour w of a common neighbour m, once for each m; u and v themselves are among them

Nodes = npt.NDArray[np.integer]


class Common(NamedTuple):
    """What pairs have in common, E entries; pair i·C + j is query i with its candidate j."""

    kind: Integers  # (E,) one of the above
    pair: Integers  # (E,)
    node: Integers  # (E,) w
    from_source: (
        Integers  # (E,) when the step from u was; two steps are as old as the older, the youngest count
    )
    from_candidate: Integers  # (E,) the same from v
    onward: Integers  # (E,) from m to w, for AROUND_BOTH
    met: Integers  # (M,) pairs that are neighbours
    when_met: Integers  # (M,) last


class NeighborGraph:
    """Neighbours of every node, and when each last met it by the events that are kept."""

    def __init__(self, ring: Integers, src: Integers, dst: Integers, t: Integers) -> None:
        """From the numbers of the last events of every node (nodes, K), -1 for none, and all events."""
        degree = np.zeros(len(ring) + 1, dtype=np.int64)
        _count(ring, src, dst, degree)
        start = np.cumsum(degree)
        other, when = np.empty((2, int(start[-1])), dtype=np.int64)
        _fill(ring, src, dst, t, start[:-1].copy(), other, when)
        self._first = np.zeros(len(start), dtype=np.int64)
        kept = _merge(start, other, when, self._first)
        self._other, self._when = other[:kept], when[:kept]

    def neighbors(self, node: int) -> Integers:
        """In no particular order."""
        found: Integers = self._other[self._first[node] : self._first[node + 1]]
        return found

    def common(self, src: Nodes, candidates: Nodes, *, far: bool = False) -> Common:
        """What sources (B,) have in common with candidates, (B, C) or (C,) for all; with ``far`` of all
        kinds, else common neighbours alone.

        One list for all is joined from the other side: through the neighbours of the source's neighbours, so
        that candidates which share nothing cost nothing.
        """
        tables = (self._first, self._other, self._when)
        rows = np.ascontiguousarray(src, dtype=np.int64)
        asked = np.ascontiguousarray(candidates, dtype=np.int64)
        if asked.ndim == 1 and not far:
            found, met = _join_shared(*tables, rows, asked)
        else:
            asked = np.broadcast_to(asked, (len(rows), asked.shape[-1]))
            found, met = _join_far(*tables, rows, asked) if far else _join_own(*tables, rows, asked)
        return Common(*found.T, *met.T)


@compiled
def _count(ring: Integers, src: Integers, dst: Integers, degree: Integers) -> None:
    """Entries of each row, repeated ones too, at the row's number plus one."""
    for node in range(len(ring)):
        for event in ring[node]:
            if event >= 0:
                degree[node + 1] += 1
                degree[src[event] + dst[event] - node + 1] += 1


@compiled
def _fill(
    ring: Integers,
    src: Integers,
    dst: Integers,
    t: Integers,
    place: Integers,
    other: Integers,
    when: Integers,
) -> None:
    for node in range(len(ring)):
        for event in ring[node]:
            if event >= 0:
                end = src[event] + dst[event] - node
                for a, b in ((node, end), (end, node)):
                    other[place[a]], when[place[a]] = b, t[event]
                    place[a] += 1


@compiled
def _merge(start: Integers, other: Integers, when: Integers, first: Integers) -> int:
    """Each neighbour of a row once, with the latest time, in place; returns how many are left."""
    where = np.full(len(start) - 1, -1, dtype=np.int64)
    kept = 0
    for node in range(len(start) - 1):
        for i in range(start[node], start[node + 1]):
            end = other[i]
            if where[end] < first[node]:
                where[end] = kept
                other[kept], when[kept] = end, when[i]
                kept += 1
            else:
                when[where[end]] = max(when[where[end]], when[i])
        first[node + 1] = kept
    return kept


@compiled
def _put(table: Integers, count: int, row: tuple[int, ...]) -> Integers:
    """The table with one more row; a larger one where there was no room."""
    if count == len(table):
        larger = np.empty((2 * count + 64, table.shape[1]), dtype=np.int64)
        larger[:count] = table
        table = larger
    for k in range(table.shape[1]):
        table[count, k] = row[k]
    return table


@compiled
def _join_shared(
    first: Integers, other: Integers, when: Integers, src: Integers, candidates: Integers
) -> tuple[Integers, Integers]:
    head, behind = np.full(len(first) - 1, -1, dtype=np.int64), np.empty_like(candidates)
    for j in range(len(candidates)):  # where each node is on the list, which may have it twice
        behind[j] = head[candidates[j]]
        head[candidates[j]] = j
    found, met = np.empty((64, 6), dtype=np.int64), np.empty((64, 2), dtype=np.int64)
    count, meetings, width = 0, 0, len(candidates)
    for i in range(len(src)):
        for a in range(first[src[i]], first[src[i] + 1]):
            near, then = other[a], when[a]
            j = head[near]
            while j >= 0:
                met = _put(met, meetings, (i * width + j, then))
                meetings += 1
                j = behind[j]
            for b in range(first[near], first[near + 1]):
                j = head[other[b]]
                while j >= 0:
                    found = _put(found, count, (BOTH, i * width + j, near, then, when[b], 0))
                    count += 1
                    j = behind[j]
    return found[:count], met[:meetings]


@compiled
def _join_own(
    first: Integers, other: Integers, when: Integers, src: Integers, candidates: Integers
) -> tuple[Integers, Integers]:
    mark, since = np.full(len(first) - 1, -1, dtype=np.int64), np.empty(len(first) - 1, dtype=np.int64)
    found, met = np.empty((64, 6), dtype=np.int64), np.empty((64, 2), dtype=np.int64)
    count, meetings, width = 0, 0, candidates.shape[1]
    for i in range(len(src)):
        for a in range(first[src[i]], first[src[i] + 1]):
            mark[other[a]], since[other[a]] = i, when[a]
        for j in range(width):
            v, pair = candidates[i, j], i * width + j
            if mark[v] == i:
                met = _put(met, meetings, (pair, since[v]))
                meetings += 1
            for b in range(first[v], first[v + 1]):
                if mark[other[b]] == i:
                    found = _put(found, count, (BOTH, pair, other[b], since[other[b]], when[b], 0))
                    count += 1
    return found[:count], met[:meetings]


@compiled
def _join_far(
    first: Integers, other: Integers, when: Integers, src: Integers, candidates: Integers
) -> tuple[Integers, Integers]:
    nodes, width = len(first) - 1, candidates.shape[1]
    mark, since = np.full(nodes, -1, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    # Two steps from the source: the youngest way, the node it leads through, the youngest through another.
    reached, best = np.full(nodes, -1, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    through, second = np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    has_second = np.zeros(nodes, dtype=np.bool_)
    touched, young = np.full(nodes, -1, dtype=np.int64), np.empty(nodes, dtype=np.int64)  # from the candidate
    order = np.empty(nodes, dtype=np.int64)
    found, met = np.empty((64, 6), dtype=np.int64), np.empty((64, 2), dtype=np.int64)
    count, meetings = 0, 0
    for i in range(len(src)):
        u = src[i]
        for a in range(first[u], first[u + 1]):
            middle = other[a]
            mark[middle], since[middle] = i, when[a]
            if middle == u:
                continue
            for b in range(first[middle], first[middle + 1]):
                w, age = other[b], min(when[a], when[b])
                if reached[w] != i:
                    reached[w], best[w], through[w], has_second[w] = i, age, middle, False
                elif age > best[w]:
                    second[w], has_second[w] = best[w], True
                    best[w], through[w] = age, middle
                elif not has_second[w] or age > second[w]:
                    second[w], has_second[w] = age, True
        for j in range(width):
            v, pair = candidates[i, j], i * width + j
            if mark[v] == i:
                met = _put(met, meetings, (pair, since[v]))
                meetings += 1
            number = 0
            for b in range(first[v], first[v + 1]):
                m = other[b]
                if mark[m] == i:
                    found = _put(found, count, (BOTH, pair, m, since[m], when[b], 0))
                    count += 1
                    for c in range(first[m], first[m + 1]):
                        row = (AROUND_BOTH, pair, other[c], since[m], when[b], when[c])
                        found = _put(found, count, row)
                        count += 1
                if m not in (u, v) and reached[m] == i and (through[m] != v or has_second[m]):
                    age = second[m] if through[m] == v else best[m]
                    found = _put(found, count, (TWO_ONE, pair, m, age, when[b], 0))
                    count += 1
                if m in (u, v):
                    continue
                for c in range(first[m], first[m + 1]):
                    w, age = other[c], min(when[b], when[c])
                    if touched[w] != pair:
                        touched[w], young[w], order[number] = pair, age, w
                        number += 1
                    else:
                        young[w] = max(young[w], age)
            for w in order[:number]:
                if w in (u, v):
                    continue
                if mark[w] == i:
                    found = _put(found, count, (ONE_TWO, pair, w, since[w], young[w], 0))
                    count += 1
                if reached[w] == i and (through[w] != v or has_second[w]):
                    age = second[w] if through[w] == v else best[w]
                    found = _put(found, count, (TWO_TWO, pair, w, age, young[w], 0))
                    count += 1
    return found[:count], met[:meetings]
