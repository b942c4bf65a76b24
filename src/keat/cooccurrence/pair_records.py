"""What is remembered of the past: a record for every pair that has met and one for every node.

Kernel sums are kept as of their own last event, S = Σ exp(-(last - t_i)/σ_m), and are faded when they are
read or added to: an exponential's past fades all alike, so this is exact and costs O(1) an event.

Records keep together what is used together. With an array for each field an event would wait for thirty
places of memory instead of a few, once there are more pairs than the caches hold.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from keat.cooccurrence.pair_index import empty_index, has_slots, index_of, with_slots
from keat.ops import compiled_into
from keat.state import lengthened, zeros

Array = npt.NDArray[Any]
Record = Any  # an element of a record array, as compiled loops see it
OUT, IN = 0, 1  # roles of a node: source, destination
NONE = -1
SPANS = (2.0, 5.0, 20.0)  # events that a running share of a node's events looks back on
PAIRS, EVENTS, NOW = 0, 1, 2  # places in `clock`
BUDGET, KNOWN, MOST, NEXT, DROPPED, UNFADED = 0, 1, 2, 3, 4, 5  # places in `budget`
RETURNS, FIRSTS = 0, 1  # places in `habits` of a node as a source …
STICKY, NOVEL, SAME = 2, 3, 4  # … and as a destination


TINY = 1e-6  # of a kernel sum: what has faded so far has no share
FADED = 30.0  # e⁻³⁰: nothing in float32, and no sum is let run into denormal numbers, which are slow
SHELF = 8  # successors kept together, see `successors`
FOLLOWED = 2  # of a source's latest destinations, how many a new one follows unless told otherwise
SUCCESSORS = 64  # of a destination that are kept, unless told otherwise
NO_LIMIT = 1 << 62
MOST_SUCCESSORS = 2048  # that can be asked for: as many shelves as a hash of eight bits tells apart


class Tables(NamedTuple):
    """Arrays that compiled loops read and write."""

    edition: int  # in the first, fields of the second stay as they begin
    rates: Array  # (M,) 1/σ_m
    by_squares: bool  # each width is four times the one before, so its kernel to the fourth is that one's
    succession_rate: float  # 1 over the longer width by which destinations follow each other
    ticks: float  # of time that make one unit of σ
    clock: Array  # (3,) int64: pairs and events so far, time of the last event
    places: Array  # (slots,) int64: where each pair is in `pairs`, see `pair_index`
    layout: Array  # (2,) int64: of these slots
    budget: Array  # (6,) int64: of memory, see `pair_budget`
    pairs: Array  # records, in order of the first meeting
    nodes: Array  # records
    shelves: Array  # records: where sources went on to from a destination
    free: Array  # int64: shelves used so far, then the first free block of 1, 2, 4 … of them, or -1
    followed: int  # of a source's latest destinations, how many a new one follows
    most_shelves: int  # of one destination, a power of 2
    most_new_shelves: int  # that one event can need
    noted: Array  # records: messages of each pair, as `pairs`; none before the third edition
    senders: Array  # records: messages of each node, as `nodes`; none before the third edition


SECOND_EDITION = {  # fields that runs of the first edition neither have nor keep
    "pairs": ("first_unanswered", "unanswered", "log_gaps", "between"),
    "nodes": (
        "run",
        "runs",
        "usual_run",
        "log_gaps",
        "gone_on",
        "shelf",
        "number_of_shelves",
        "fresh",
        "fresh_time",
    ),
}


def pair_record(kernels: int) -> np.dtype[np.void]:
    return np.dtype(
        [
            ("key", np.int64),
            ("last", np.int64),  # time of the last meeting
            ("gap", np.int64),  # between the last two, or -1
            ("sums", np.float32, (kernels,)),  # as of the last meeting
            ("count", np.int32),
            ("next", np.int32),  # where the source went after the last meeting, or -1
            ("number", np.int32, (2,)),  # events of the source, and of the destination, at the last meeting
            ("weights", np.float32, (2, len(SPANS))),  # running shares of their events, as of then
            ("first_unanswered", np.int64),  # time of the first event since the last the other way round
            ("unanswered", np.int32),  # how many there are
            ("between", np.float32),  # running mean of the source's events between two meetings
            ("log_gaps", np.float32, (2,)),  # running mean and variance of log(1 + gap)
        ],
        align=True,
    )


def node_record(kernels: int, ring: int) -> np.dtype[np.void]:
    """An axis of 2 is the role. What most events look at comes first."""
    return np.dtype(
        [
            ("count", np.int32, (2,)),  # events
            ("distinct", np.int32, (2,)),  # partners
            ("partner", np.int32, (2,)),  # of the last event, or -1
            ("last", np.int64, (2,)),  # time of the last event
            ("number", np.int64),  # of its last event as a destination, in the whole stream
            ("last_pair", np.int64),  # place of the pair of its last event as a source, or -1
            ("habits", np.float32, (5,)),  # running shares, see above
            ("successor", np.int32),  # where the last source to leave this destination went, or -1
            ("gone_on", np.float32, (4,)),  # weights of all successions from here, and of those to here
            ("shelf", np.int32),  # the first of its shelves
            ("number_of_shelves", np.int32),
            ("run", np.int32),  # events in a row to the last destination
            ("runs", np.int32),  # that are over
            ("usual_run", np.float32),  # their running mean
            ("log_gaps", np.float32, (2,)),  # running mean and variance of log(1 + gap), as a source
            ("fresh_time", np.int64, (2,)),  # of the last first meeting here, and of the last new source
            ("fresh", np.float32, (2, 2)),  # fading sums of both as of then, of a short and a long width
            ("sums", np.float32, (2, kernels)),  # as of `last`
            ("ring", np.int32, (2, ring)),  # the last distinct partners, latest first, then -1
            ("ring_time", np.int64, (2, ring)),
        ],
        align=True,
    )


def noted_record() -> np.dtype[np.void]:
    """Of a pair, see `messages`. Of the source's last message, only what it has in every other place is told
    before it is over: its size is not known."""
    return np.dtype(
        [
            ("message", np.int32),  # number, among the source's, of the last that reached the destination
            ("before", np.int32),  # whom that one had reached before, or -1
            ("weights", np.float32, (len(SPANS),)),  # running shares of the source's messages, as of then
            ("messages", np.int32),  # that reached the destination and are over
            ("size", np.int32),  # of the last of them
            ("usual_size", np.float32),  # running mean of their sizes
        ]
    )


def sender_record() -> np.dtype[np.void]:
    """Of a node as a source."""
    return np.dtype(
        [
            ("messages", np.int32),  # so far
            ("size", np.int32),  # distinct destinations of the last
            ("usual_size", np.float32),  # running mean of those before
            ("reached", np.int32),  # whom the last reached last, or -1
        ]
    )


def shelf_record() -> np.dtype[np.void]:
    return np.dtype(
        [
            ("node", np.int32, (SHELF,)),  # where they went, or -1; filled from the front
            ("short", np.float32, (SHELF,)),  # sums of kernels of two widths
            ("long", np.float32, (SHELF,)),
            ("steps", np.float32, (SHELF,)),  # how often it was the very next
        ]
    )


EMPTY: dict[str, float] = {  # what a record holds before its first event; 0 where not named
    "gap": NONE,
    "next": NONE,
    "partner": NONE,
    "habits": 0.5,
    "successor": NONE,
    "last_pair": NONE,
    "ring": NONE,
    "node": NONE,
    "before": NONE,
    "reached": NONE,
}


def empty_records(length: int, record: np.dtype[np.void]) -> Array:
    return _emptied(zeros((length,), record))


def _emptied(records: Array) -> Array:
    """The same, of zeros before."""
    for name in EMPTY.keys() & set(records.dtype.names or ()):
        records[name] = EMPTY[name]
    return records


def empty_tables(
    num_nodes: int,
    widths: npt.NDArray[np.float64],
    ring: int,
    ticks: int,
    *,
    succession: float,
    followed: int,
    successors: int,
    edition: int,
) -> Tables:
    """Nothing has happened yet. ``succession`` is the longer width by which a destination is followed by
    another."""
    most_shelves = 1 << max(0, -(-successors // SHELF) - 1).bit_length()
    places, layout = empty_index()
    return Tables(
        edition=edition,
        rates=1.0 / widths,
        by_squares=edition > 1 and bool((widths[1:] == 4.0 * widths[:-1]).all()),
        succession_rate=1.0 / succession,
        ticks=float(ticks),
        clock=np.zeros(3, dtype=np.int64),
        places=places,
        layout=layout,
        budget=np.array([0, 0, NO_LIMIT, NO_LIMIT, 0, 0], dtype=np.int64),
        pairs=empty_records(0, pair_record(len(widths))),
        nodes=empty_records(num_nodes, node_record(len(widths), ring)),
        shelves=empty_records(0, shelf_record()),
        free=nothing_free(most_shelves),
        followed=followed,
        most_shelves=most_shelves,
        most_new_shelves=2 * most_shelves * followed if edition > 1 else 0,  # of each: 1, 2, 4, …
        noted=empty_records(0, noted_record()),
        senders=empty_records(num_nodes if edition > 2 else 0, sender_record()),
    )


def nothing_free(most_shelves: int) -> Array:
    free = np.full(most_shelves.bit_length() + 1, NONE, dtype=np.int64)
    free[0] = 0
    return free


def with_nodes(tables: Tables, num_nodes: int) -> Tables:
    """The same tables with room for nodes up to this many."""
    tables = tables._replace(nodes=_longer(tables.nodes, num_nodes))
    if tables.edition > 2:
        tables = tables._replace(senders=_longer(tables.senders, len(tables.nodes)))
    return tables


def is_to_be_looked_at(tables: Tables) -> bool:
    """Whether it is time to see how many pairs fit into the budget."""
    clock, budget = tables.clock, tables.budget
    return bool(clock[PAIRS] >= budget[MOST] or clock[EVENTS] >= budget[NEXT])


def with_room(tables: Tables) -> Tables:
    """The same tables, longer where there was no room for another event."""
    pairs, shelves = int(tables.clock[PAIRS]), int(tables.free[0]) + tables.most_new_shelves
    places, layout = with_slots(tables.places, tables.layout, tables.pairs, pairs)
    longer = _longer(tables.pairs, pairs + 1)
    return tables._replace(
        pairs=longer,
        noted=_longer(tables.noted, len(longer) if tables.edition > 2 else 0),
        shelves=_longer(tables.shelves, shelves),
        places=places,
        layout=layout,
    )


@compiled_into
def has_room(tables: Tables) -> bool:
    """Whether there is room for another event, whatever it is."""
    pairs, shelves = tables.clock[PAIRS], tables.free[0] + tables.most_new_shelves
    return bool(
        pairs < min(len(tables.pairs), tables.budget[MOST])
        and tables.clock[EVENTS] < tables.budget[NEXT]
        and shelves <= len(tables.shelves)
        and has_slots(tables.places, tables.layout, pairs)
    )


def bytes_a_pair(tables: Tables) -> int:
    return tables.pairs.itemsize + (tables.noted.itemsize if tables.edition > 2 else 0)


def bytes_a_node(tables: Tables) -> int:
    return tables.nodes.itemsize + (tables.senders.itemsize if tables.edition > 2 else 0)


def nodes_to_keep(nodes: Array, known: int) -> int:
    """Those that were known before any event, and others up to the last that has had one: what is behind is
    room."""
    happened = np.flatnonzero(nodes["count"][known:].any(axis=1))
    return known + 1 + int(happened.max(initial=NONE))


def indexed(tables: Tables) -> Tables:
    """The hash table made anew from the pairs."""
    places, layout = index_of(tables.pairs, int(tables.clock[PAIRS]))
    return tables._replace(places=places, layout=layout)


def _longer(records: Array, needed: int) -> Array:
    longer = lengthened(records, needed)
    _emptied(longer[len(records) :])
    return longer


@compiled_into
def faded(x: float) -> np.float32:
    """e⁻ˣ, what is left after x widths."""
    return np.float32(math.exp(np.float32(-x))) if x < FADED else np.float32(0.0)
