"""What draws those who are new? First meetings of a destination, and sources that came to it first of all.

Of both kinds a destination has fading sums of a short and a long width, the same by which destinations follow
each other (`successors`), and the time of the last. A page that many see for the first time just now is
likely to be seen by the next newcomer, too; one that its regulars visit all the time is not.
"""

from __future__ import annotations

import math

from keat.cooccurrence.pair_columns import NEVER
from keat.cooccurrence.pair_records import Array, Record, Tables, faded
from keat.ops import compiled_into

FIRST_MEETING, NEW_SOURCE = 0, 1  # places in `fresh` and `fresh_time`
SHORT, LONG, AGE = 0, 1, 2  # widths in `fresh`; in what is read, the age of the last comes after them
SQUARINGS = 4  # the short width is the long one over 2⁴


@compiled_into
def come_fresh(tables: Tables, destination: Record, kind: int, now: int) -> None:
    """One more of a kind has come."""
    age = (now - destination.fresh_time[kind]) / tables.ticks * tables.succession_rate
    long = faded(age)
    short = long
    for _ in range(SQUARINGS):
        short *= short
    destination.fresh[kind, SHORT] = destination.fresh[kind, SHORT] * short + 1.0
    destination.fresh[kind, LONG] = destination.fresh[kind, LONG] * long + 1.0
    destination.fresh_time[kind] = now


@compiled_into
def read_fresh(
    tables: Tables, candidate: Record, kind: int, now: int, out: Array, place: int, per_time: float
) -> None:
    """Three numbers from ``place`` on: both sums as of now, and the age of the last."""
    if candidate.fresh[kind, LONG] == 0.0:
        out[place + AGE] = NEVER
        return
    age = (now - candidate.fresh_time[kind]) / tables.ticks
    long = math.exp(-min(age * tables.succession_rate, 30.0))
    out[place + SHORT] = candidate.fresh[kind, SHORT] * long**16
    out[place + LONG] = candidate.fresh[kind, LONG] * long
    out[place + AGE] = age * per_time
