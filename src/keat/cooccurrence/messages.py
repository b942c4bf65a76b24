"""Who is written to together? Events of one source at one time are one message to several.

One message to thirty is thirty events, and moves whoever was reached before it thirty places down. Counted in
messages, it is one: so a source's messages are numbered, and a pair notes the number of the last and running
shares of the last 2, 5 and 20, as `observing` does of events. And a message to thirty says less of each of
them than one to him alone: a pair notes how many the last message reached together with its destination, and
how many they usually reach.

How many a message reaches is known once it is over, which is when the source sends the next. Until then the
pairs it reached are a chain, from the last to the first; each is looked at once more. A question that comes
before that adds what is still to be added.

Whom did those who reached the source address together with it? They may be answered together, too. That is
found in the rings alone: an event to the source and an event of the same time to another, as far as the
sender has not turned to either since.
"""

from __future__ import annotations

import numpy as np

from keat.cooccurrence import column_places as at
from keat.cooccurrence.marks import AMONG_FEW, BY_LAST, LATELY, SENDERS, SOON, touch
from keat.cooccurrence.pair_index import row_of
from keat.cooccurrence.pair_records import IN, NONE, OUT, SPANS, Array, Record, Tables, faded
from keat.cooccurrence.running import share_left, step_of
from keat.ops import compiled_into

PER_LONG = 4.0  # what was addressed lately fades by a quarter of the width of successions, …
SQUARINGS = 6  # … and what was soon by that over 2⁶: of nine days, two and a bit and fifty minutes


@compiled_into
def note_message(tables: Tables, u: int, v: int, row: np.int64, now: int) -> None:
    """An event of a source is about to happen, of the pair ``row``; node and pair tell what was before."""
    source, sender, noted = tables.nodes[u], tables.senders[u], tables.noted[row]
    if source.count[OUT] == 0 or source.last[OUT] != now:
        _end_message(tables, u, sender)
        sender.messages += 1
        sender.size, sender.reached = 0, NONE
    passed = sender.messages - noted.message
    if passed == 0:  # twice to the same
        return
    for k in range(len(SPANS)):
        noted.weights[k] = noted.weights[k] * share_left(k, passed) + 1.0 / SPANS[k]
    noted.message, noted.before = sender.messages, sender.reached
    sender.size += 1
    sender.reached = v


@compiled_into
def _end_message(tables: Tables, u: int, sender: Record) -> None:
    """How many the last message reached is known now, and told to all of them that are not forgotten."""
    if sender.messages == 0:
        return
    sender.usual_size += step_of(sender.messages) * (sender.size - sender.usual_size)
    v = sender.reached
    for _ in range(sender.size):
        row = row_of(tables.places, tables.layout, tables.pairs, u, v) if v != NONE else NONE
        if row == NONE:
            break
        noted = tables.noted[row]
        noted.messages += 1
        noted.size = sender.size
        noted.usual_size += step_of(noted.messages) * (sender.size - noted.usual_size)
        v = noted.before


@compiled_into
def read_message(tables: Tables, u: int, row: np.int64, out: Array) -> None:
    """The single numbers of a pair that met."""
    sender, noted = tables.senders[u], tables.noted[row]
    passed = sender.messages - noted.message
    out[at.MESSAGES_SINCE] = passed
    for k in range(len(SPANS)):
        out[at.MESSAGE_WEIGHTS[k]] = noted.weights[k] * share_left(k, passed)
    size, usual = noted.size, noted.usual_size
    if passed == 0:  # it is not over, as far as the pair knows
        size = sender.size
        usual += step_of(noted.messages + 1) * (size - usual)
    out[at.MESSAGE_SIZE], out[at.USUAL_MESSAGE] = size, usual


@compiled_into
def mark_addressed(tables: Tables, u: int, now: int, marks: Array, trail: Array, length: int) -> int:
    """Mark whom the latest to reach a source addressed with it; returns how long the trail is."""
    source = tables.nodes[u]
    for k in range(source.ring.shape[1]):
        x = source.ring[IN, k]
        if x == NONE:
            break
        first, last = _addressed(tables, x, source.ring_time[IN, k])
        long = faded(PER_LONG * (now - source.ring_time[IN, k]) / tables.ticks * tables.succession_rate)
        for place in range(first, last):
            v = tables.nodes[x].ring[OUT, place]
            if v != u:
                length = touch(marks, trail, length, v)
                _mark(marks, v, k, long, last - first)
    return length


@compiled_into
def mark_addressed_to(tables: Tables, u: int, v: int, now: int, marks: Array) -> None:
    """`mark_addressed`, of v alone."""
    source = tables.nodes[u]
    for k in range(source.ring.shape[1]):
        x = source.ring[IN, k]
        if x == NONE:
            break
        first, last = _addressed(tables, x, source.ring_time[IN, k])
        for place in range(first, last):
            if tables.nodes[x].ring[OUT, place] == v and v != u:
                age = now - source.ring_time[IN, k]
                long = faded(PER_LONG * age / tables.ticks * tables.succession_rate)
                _mark(marks, v, k, long, last - first)


@compiled_into
def _addressed(tables: Tables, x: int, then: int) -> tuple[int, int]:
    """Where, in the ring of a source, those stand whom it reached at a time; it has the latest first."""
    ring, times = tables.nodes[x].ring[OUT], tables.nodes[x].ring_time[OUT]
    first = 0
    while first < len(ring) and ring[first] != NONE and times[first] > then:
        first += 1
    last = first
    while last < len(ring) and ring[last] != NONE and times[last] == then:
        last += 1
    return first, last


@compiled_into
def _mark(marks: Array, v: int, k: int, long: np.float32, size: int) -> None:
    """By the k-th latest who reached the source, in a message to so many."""
    soon = long
    for _ in range(SQUARINGS):
        soon *= soon
    if k == 0:
        marks[v, BY_LAST] = 1.0
    marks[v, SOON] += soon
    marks[v, LATELY] += long
    marks[v, AMONG_FEW] += long / size
    marks[v, SENDERS] += 1.0
