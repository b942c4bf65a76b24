"""Two and three hops: whom do they share?

    two hops     u – w – v        people who have met the same one, in either role
    three hops   u → d ← w → v    where those went who went where u went; in a bipartite stream, where no
                                  two-hop path joins a source and a destination, this is what they share

A path weighs ∏ exp(-age of leg/σ). Walking outward from the source costs a constant for each question,
however many candidates there are; what was reached is left in `marks`.
"""

from __future__ import annotations

import math

from keat.cooccurrence.marks import THREE, TWO, touch
from keat.cooccurrence.pair_records import IN, NONE, OUT, Array, Tables
from keat.ops import compiled_into


def most_reached(fanout: int) -> int:
    """Nodes that one walk can reach at most."""
    return 4 * fanout**2 + fanout**3


@compiled_into
def walk(
    tables: Tables, u: int, now: int, rate: float, fanout: int, marks: Array, trail: Array, length: int
) -> int:
    """Add up paths from u over the last ``fanout`` partners of each node; returns how long the trail is. A
    path never turns back to where it came from."""
    for role in (OUT, IN):
        for a in range(fanout):
            d = tables.nodes[u].ring[role, a]
            if d == NONE:
                break
            leg = math.exp(-(now - tables.nodes[u].ring_time[role, a]) / tables.ticks * rate)
            for role_of_d in (OUT, IN):
                for b in range(fanout):
                    w = tables.nodes[d].ring[role_of_d, b]
                    if w == NONE:
                        break
                    if w == u:
                        continue
                    since = (now - tables.nodes[d].ring_time[role_of_d, b]) / tables.ticks
                    legs = leg * math.exp(-since * rate)
                    length = _reach(marks, trail, length, w, TWO, legs)
                    if role == OUT and role_of_d == IN:
                        for c in range(fanout):
                            v = tables.nodes[w].ring[OUT, c]
                            if v == NONE:
                                break
                            if v != d:
                                since = (now - tables.nodes[w].ring_time[OUT, c]) / tables.ticks
                                path = legs * math.exp(-since * rate)
                                length = _reach(marks, trail, length, v, THREE, path)
    return length


@compiled_into
def _reach(marks: Array, trail: Array, length: int, node: int, hops: int, weight: float) -> int:
    marks[node, hops] += weight
    marks[node, hops + 1] += 1
    return touch(marks, trail, length, node)
