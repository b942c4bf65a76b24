"""Where do those go on to who have been where the source has been? Destinations that follow each other.

When a source arrives at v, not from v itself, each of its latest destinations d, two usually, is followed by
v:

    C_m[d, v] += exp(-(t - t_d)/w_m)      for a short and a long width w_m
    T[d, v]   += 1                        for the last destination alone

Of a destination the strongest successors are kept, on shelves of eight: eight shelves at most, usually, and
fewer while they have room. A successor's shelf follows from its id, so an event looks at one shelf for each
destination it follows. Where the shelf is full, the newcomer wears down the weakest, and takes its place
once nothing is left of it: what keeps coming gets in, and what came once does not push it out. Totals
C[d, ·] and C[·, v] are of all successors, kept or not.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from keat.cooccurrence.marks import (
    COSINE,
    FADED,
    FIRST_LONG,
    FIRST_SHORT,
    FIRST_STEPS,
    LONG,
    SHORT,
    STEPS,
    touch,
)
from keat.cooccurrence.pair_records import (
    NONE,
    OUT,
    SHELF,
    Array,
    Record,
    Tables,
    faded,
)
from keat.ops import compiled, compiled_into

SQUARINGS = 4  # the short width is the long one over 2⁴, so its kernel is that of the long one to the 16th
FORGOTTEN = 7.0  # long widths: what is older than that is no longer followed by anything
FALL = 0.8  # of the weight of a destination with its rank in the ring
FROM_SHORT, FROM_LONG, FROM_STEPS, TO_LONG = 0, 1, 2, 3  # places in `gone_on`
_MULTIPLIER = np.uint32(0x9E3779B1)  # 2³² / golden ratio: spreads consecutive ids


@compiled_into
def follow_on(tables: Tables, source: Record, v: int, now: int) -> None:
    """A source is about to arrive at v. Its ring is still that of before."""
    arrival = tables.nodes[v]
    for k in range(min(tables.followed, source.ring.shape[1])):
        d = source.ring[OUT, k]
        if d == NONE:
            break
        age = (now - source.ring_time[OUT, k]) / tables.ticks * tables.succession_rate
        if k > 0 and age > FORGOTTEN:
            break
        if d == v:
            continue
        long = faded(age)
        short = long
        for _ in range(SQUARINGS):
            short *= short
        left = tables.nodes[d]
        left.gone_on[FROM_SHORT] += short
        left.gone_on[FROM_LONG] += long
        left.gone_on[FROM_STEPS] += k == 0
        arrival.gone_on[TO_LONG] += long
        _remember(tables, left, v, short, long, np.float32(k == 0))


@compiled_into
def _remember(
    tables: Tables, left: Record, v: int, short: np.float32, long: np.float32, steps: np.float32
) -> None:
    """Those who left a destination went on to v."""
    if left.number_of_shelves == 0:
        left.shelf, left.number_of_shelves = _new_block(tables, 1), 1
    while True:
        shelf = tables.shelves[left.shelf + shelf_of(v, left.number_of_shelves)]
        node, place = shelf.node, NONE
        for s in range(SHELF):  # without a way out, so that all are compared at once
            if node[s] == v:
                place = s
        if place != NONE:
            shelf.short[place] += short
            shelf.long[place] += long
            shelf.steps[place] += steps
            return
        if node[SHELF - 1] == NONE or left.number_of_shelves == tables.most_shelves:
            break
        _double(tables, left)
    _put(shelf, v, short, long, steps)


@compiled_into
def _put(shelf: Record, v: int, short: np.float32, long: np.float32, steps: np.float32) -> None:
    """A newcomer takes the first empty place, or what is left of the weakest."""
    node, longs, place = shelf.node, shelf.long, 0
    if node[SHELF - 1] == NONE:
        while node[place] != NONE:
            place += 1
    else:
        for s in range(1, SHELF):
            if longs[s] < longs[place]:
                place = s
        if longs[place] >= long:
            longs[place] -= long
            return
    node[place], longs[place] = v, long
    shelf.short[place], shelf.steps[place] = short, steps


@compiled_into
def shelf_of(v: int, shelves: int) -> np.int64:
    """Twice as many shelves part those of each: the number is of the upper bits, which are spread well."""
    return np.int64((np.uint32(v) * _MULTIPLIER) >> np.uint32(24)) & (shelves - 1)


@compiled
def in_place(nodes: Array, shelves: Array) -> bool:
    """Whether every successor is on its own shelf: only then does what is on a shelf fit on two."""
    for left in nodes:
        number = left.number_of_shelves
        for i in range(number):
            shelf = shelves[left.shelf + i]
            for s in range(SHELF):
                if shelf.node[s] != NONE and shelf_of(shelf.node[s], number) != i:
                    return False
    return True


@compiled
def _double(tables: Tables, left: Record) -> None:
    """Twice as many shelves, with the same successors."""
    old, number = left.shelf, left.number_of_shelves
    new = _new_block(tables, 2 * number)
    for i in range(number):
        full = tables.shelves[old + i]
        for s in range(SHELF):
            v = full.node[s]
            if v == NONE:
                break
            shelf = tables.shelves[new + shelf_of(v, 2 * number)]
            place = 0
            while shelf.node[place] != NONE:
                place += 1
            shelf.node[place], shelf.short[place] = v, full.short[s]
            shelf.long[place], shelf.steps[place] = full.long[s], full.steps[s]
        for s in range(SHELF):  # so that what is kept of a shelf does not tell who had it before
            full.node[s] = NONE
            full.short[s] = full.long[s] = full.steps[s] = 0.0
    _free(tables, old, number)
    left.shelf, left.number_of_shelves = new, 2 * number


@compiled_into
def _new_block(tables: Tables, number: int) -> Any:
    """Empty shelves in a row: those that another destination has outgrown, or new ones."""
    size = _size(number)
    first = tables.free[size]
    if first == NONE:
        first = tables.free[0]
        tables.free[0] += number
    else:
        tables.free[size] = tables.shelves[first].node[0]
        tables.shelves[first].node[0] = NONE
    return first


@compiled_into
def _free(tables: Tables, first: int, number: int) -> None:
    """Let others have shelves that are empty. The first names the next free block of its size."""
    size = _size(number)
    tables.shelves[first].node[0] = tables.free[size]
    tables.free[size] = first


@compiled_into
def _size(number: int) -> int:
    """The place in `free` of blocks of 1, 2, 4 or 8 shelves."""
    place = 1
    while number > 1:
        number //= 2
        place += 1
    return place


@compiled_into
def go_on(tables: Tables, u: int, now: int, marks: Array, trail: Array, length: int) -> int:
    """Mark where others went on to from the source's latest destinations; returns how long the trail is. What
    `COSINE` has is still to be divided by √(C[·, v] + 1)."""
    source = tables.nodes[u]
    fall = 1.0
    for k in range(source.ring.shape[1]):
        d = source.ring[OUT, k]
        if d == NONE:
            break
        left = tables.nodes[d]
        by_short = np.float32(fall / (left.gone_on[FROM_SHORT] + 1.0))
        by_long = np.float32(1.0 / (left.gone_on[FROM_LONG] + 1.0))
        by_steps = np.float32(fall / (left.gone_on[FROM_STEPS] + 1.0))
        by_cosine = np.float32(fall / math.sqrt(left.gone_on[FROM_LONG] + 1.0))
        age = (now - source.ring_time[OUT, k]) / tables.ticks * tables.succession_rate
        by_age = np.float32(by_long * math.exp(-age))
        by_long *= np.float32(fall)
        for i in range(left.number_of_shelves):
            shelf = tables.shelves[left.shelf + i]
            for s in range(SHELF):
                v = shelf.node[s]
                if v == NONE:
                    break
                length = touch(marks, trail, length, v)
                if k == 0:
                    marks[v, FIRST_SHORT] = by_short * shelf.short[s]
                    marks[v, FIRST_LONG] = by_long * shelf.long[s]
                    marks[v, FIRST_STEPS] = by_steps * shelf.steps[s]
                marks[v, SHORT] += by_short * shelf.short[s]
                marks[v, LONG] += by_long * shelf.long[s]
                marks[v, STEPS] += by_steps * shelf.steps[s]
                marks[v, COSINE] += by_cosine * shelf.long[s]
                marks[v, FADED] += by_age * shelf.long[s]
        fall *= FALL
    return length


def most_followed(tables: Tables) -> int:
    """Nodes that one source can be sent on to at most."""
    ring: int = tables.nodes["ring"].shape[-1]
    return min(ring * tables.most_shelves * SHELF, len(tables.nodes))


def led_by(tables: Tables, u: int, v: int) -> tuple[int, float] | None:
    """Of the source's latest destinations the one that speaks most for v, and the share of v among all that
    followed it; None where v followed none of them."""
    found = None
    for k, d in enumerate(tables.nodes[u]["ring"][OUT].tolist()):
        if d == NONE:
            break
        left = tables.nodes[d]
        shelves = tables.shelves[left["shelf"] : left["shelf"] + left["number_of_shelves"]]
        share = float(shelves["long"][shelves["node"] == v].sum() / (left["gone_on"][FROM_LONG] + 1.0))
        if share > 0.0 and (found is None or FALL**k * share > found[0]):
            found = FALL**k * share, d, share
    return None if found is None else found[1:]
