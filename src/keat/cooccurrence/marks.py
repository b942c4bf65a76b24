"""What a question leaves on nodes before its candidates are read: a row of numbers for each node, all zero in
between. What is known of few nodes is found once a question, and read in one place for each candidate."""

from __future__ import annotations

import numpy as np

from keat.cooccurrence.pair_index import row_of
from keat.cooccurrence.pair_records import NONE, OUT, TINY, Array, Tables, faded
from keat.ops import compiled_into

# Columns: paths of two and three hops, …
TWO, TWO_PATHS, THREE, THREE_PATHS = 0, 1, 2, 3
# … recency ranks among those the source reached, and among those who reached it, …
RANKS = (4, 5)
# … one over the rank by weight among the former, and the share of weight, …
BY_WEIGHT, WEIGHT_SHARE = 6, 7
# … what is known of going from the source's latest destinations to here (`successors`), …
SHORT, LONG, STEPS, FIRST_SHORT, FIRST_LONG, FIRST_STEPS, COSINE, FADED = 8, 9, 10, 11, 12, 13, 14, 15
# … and whether the node is on the trail.
SEEN = 16
COLUMNS = 17
# In the third edition there is also who was addressed together with the source (`messages`).
BY_LAST, SOON, LATELY, AMONG_FEW, SENDERS = 17, 18, 19, 20, 21
COLUMNS_WITH_MESSAGES = 22


@compiled_into
def touch(marks: Array, trail: Array, length: int, node: int) -> int:
    """Put a node on the trail, if it is not there; returns how long the trail is."""
    if marks[node, SEEN] == 0:
        marks[node, SEEN] = 1
        trail[length] = node
        length += 1
    return length


@compiled_into
def wipe(marks: Array, trail: Array, length: int) -> None:
    for k in range(length):
        marks[trail[k]] = 0


@compiled_into
def mark_ranks(tables: Tables, u: int, role: int, marks: Array, trail: Array, length: int) -> int:
    """How long ago, in partners, each of the last was met; returns how long the trail is."""
    ring = tables.nodes[u].ring
    for k in range(ring.shape[1]):
        if ring[role, k] == NONE:
            break
        marks[ring[role, k], RANKS[role]] = k + 1
        length = touch(marks, trail, length, ring[role, k])
    return length


@compiled_into
def mark_favourites(tables: Tables, u: int, now: int, kernel: int, weights: Array, marks: Array) -> None:
    """Compare the kernel sums, at one width, of the source's latest destinations. They are on the trail."""
    ring = tables.nodes[u].ring[OUT]
    number, total = 0, np.float32(0.0)
    while number < len(ring) and ring[number] != NONE:
        pair = tables.pairs[row_of(tables.places, tables.layout, tables.pairs, u, ring[number])]
        age = (now - pair.last) / tables.ticks
        weights[number] = pair.sums[kernel] * faded(age * tables.rates[kernel])
        total += weights[number]
        number += 1
    for k in range(number):
        rank = 1
        for other in range(number):
            # Of equal ones the latest comes first.
            rank += weights[other] > weights[k] or (other < k and weights[other] == weights[k])
        marks[ring[k], BY_WEIGHT] = np.float32(1.0) / rank
        marks[ring[k], WEIGHT_SHARE] = weights[k] / (total + TINY)
