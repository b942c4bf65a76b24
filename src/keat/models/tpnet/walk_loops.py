"""The compiled loops of `WalkMatrices`: taking events in, and products of rows of pairs of nodes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keat.ops import Floats, Integers, compiled, compiled_sums

Ids = npt.NDArray[np.int32]
EVENTS, NOW, TOUCHED = 0, 1, 2  # places in the clock
FADED = 80.0  # e⁻⁸⁰ is about the smallest number of float32 that is not slow to compute with


class WalkTables(NamedTuple):
    """Arrays that compiled loops read and write: N nodes, M widths, k steps, d numbers of a projection."""

    rates: Floats  # (M,) 1/width
    multiply: int  # a tick is multiply/divide of the unit of widths
    divide: int
    projection: Floats  # (N, d) H⁽⁰⁾
    rows: Floats  # (N, M, k, d) H⁽¹⁾ … H⁽ᵏ⁾ of a node, as of …
    as_of: Integers  # (N,) … this time
    before: Floats  # (·, M, k, d) rows of nodes as they were before the events of the last time
    touched: Integers  # (·,) these nodes
    place: Integers  # (N,) where among them a node is, or -1
    roles: Integers  # (N, 2) how often it was a source, and a destination
    grams: Floats  # (N, M, k + 1, k + 1) products of a node's rows, as of its time
    stale: npt.NDArray[np.bool_]  # (N,) whether they have to be computed first
    clock: Integers  # (3,) events, the last time, nodes touched at it


@compiled
def let_go(tables: WalkTables) -> None:
    """The last time is over: what was before it is no longer needed."""
    for i in range(tables.clock[TOUCHED]):
        tables.place[tables.touched[i]] = -1
    tables.clock[TOUCHED] = 0


@compiled
def take_in(
    tables: WalkTables, src: Ids, dst: Ids, t: Integers, first: int, last: int, end: int, batched: bool
) -> None:
    """Events first … last. If they are ``batched``, all add what was before the first of the batch, faded to
    its ``end``; else what was before their own time."""
    clock, steps = tables.clock, tables.rows.shape[2]
    for i in range(first, last):
        when = end if batched else t[i]
        if not batched and clock[EVENTS] > 0 and t[i] > clock[NOW]:
            let_go(tables)
        clock[NOW] = when
        clock[EVENTS] += 1
        u, v = src[i], dst[i]
        tables.roles[u, 0] += 1
        tables.roles[v, 1] += 1
        of_u, of_v = _touch(tables, u, when), _touch(tables, v, when)
        for m in range(len(tables.rates)):
            weight = np.float32(math.exp(-_age(tables, t[i], when) * tables.rates[m]))
            for step in range(steps):
                if step == 0:
                    _add(tables.rows[u, m, 0], tables.projection[v], weight)
                    _add(tables.rows[v, m, 0], tables.projection[u], weight)
                else:
                    _add(tables.rows[u, m, step], tables.before[of_v, m, step - 1], weight)
                    _add(tables.rows[v, m, step], tables.before[of_u, m, step - 1], weight)


@compiled
def _age(tables: WalkTables, since: int, when: int) -> float:
    return max(when - since, 0) * tables.multiply / tables.divide


@compiled
def _touch(tables: WalkTables, node: int, when: int) -> int:
    """Fade a node's rows to a time and keep them as they are then, unless that was done; where they are."""
    tables.stale[node] = True
    if tables.place[node] >= 0:
        return int(tables.place[node])
    place = tables.clock[TOUCHED]
    tables.clock[TOUCHED] += 1
    tables.touched[place], tables.place[node] = node, place
    age = _age(tables, tables.as_of[node], when)
    for m in range(len(tables.rates)):
        for step in range(tables.rows.shape[2]):
            exponent = age * tables.rates[m] * (step + 1)
            left = np.float32(math.exp(-exponent)) if exponent < FADED else np.float32(0.0)
            row, kept = tables.rows[node, m, step], tables.before[place, m, step]
            for i in range(len(row)):
                row[i] *= left
                kept[i] = row[i]
    tables.as_of[node] = when
    return int(place)


@compiled
def _add(to: Floats, what: Floats, weight: np.float32) -> None:
    for i in range(len(to)):
        to[i] += weight * what[i]


@compiled_sums
def _dot(one: Floats, other: Floats) -> np.float32:
    total = np.float32(0.0)
    for i in range(len(one)):
        total += one[i] * other[i]
    return total


@compiled
def _row(tables: WalkTables, node: int, m: int, step: int) -> Floats:
    row: Floats = tables.projection[node] if step == 0 else tables.rows[node, m, step - 1]
    return row


@compiled
def refresh(tables: WalkTables, nodes: Ids) -> None:
    """Products of the rows of each of these nodes."""
    for node in nodes:
        _refresh(tables, node)


@compiled
def _refresh(tables: WalkTables, node: int) -> None:
    if not tables.stale[node]:
        return
    tables.stale[node] = False
    for m in range(len(tables.rates)):
        gram = tables.grams[node, m]
        for i in range(len(gram)):
            for j in range(i + 1):
                gram[i, j] = gram[j, i] = _dot(_row(tables, node, m, i), _row(tables, node, m, j))


@compiled
def read_in_turn(
    tables: WalkTables,
    left: Ids,
    right: Ids,
    t: Integers,
    src: Ids,
    dst: Ids,
    happened: Integers,
    until_query: bool,
    grams: Floats,
) -> int:
    """See `WalkMatrices.read_in_turn`; ``grams`` (3, B, n, M, k + 1, k + 1) is written to."""
    done = 0
    for q in range(len(t)):
        while done < len(happened) and happened[done] < t[q]:
            take_in(tables, src, dst, happened, done, done + 1, happened[done], False)
            done += 1
        now = t[q] if until_query else tables.clock[NOW]
        for p in range(left.shape[1]):
            a, b = left[q, p], right[q, p]
            _refresh(tables, a)
            _refresh(tables, b)
            age_a, age_b = _age(tables, tables.as_of[a], now), _age(tables, tables.as_of[b], now)
            for m in range(len(tables.rates)):
                own, cross, other = grams[0, q, p, m], grams[1, q, p, m], grams[2, q, p, m]
                for i in range(len(own)):
                    left_a = math.exp(-age_a * tables.rates[m] * i)
                    left_b = math.exp(-age_b * tables.rates[m] * i)
                    for j in range(len(own)):
                        left_aj = math.exp(-age_a * tables.rates[m] * j)
                        left_bj = math.exp(-age_b * tables.rates[m] * j)
                        own[i, j] = tables.grams[a, m, i, j] * left_a * left_aj
                        other[i, j] = tables.grams[b, m, i, j] * left_b * left_bj
                        product = _dot(_row(tables, a, m, i), _row(tables, b, m, j))
                        cross[i, j] = product * left_a * left_bj
    return done
