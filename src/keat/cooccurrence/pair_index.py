"""Where the record of a pair is: a hash table of pairs whose entries are eight bytes each.

An entry is the record's place and, beside it, the upper 32 bits of the pair's hash. Few pairs near it have
the same bits, so one look mostly tells that two nodes have never met, and the record is looked at only where
they have. Slots are in the order of the hash: a pair is in the slot that its upper bits say, or in the next
that was empty.

So the table doubles where it is, a few slots at a time, from its end to its beginning: what belongs to slot s
goes to 2s or 2s + 1, and no record has to be looked at. While it does, pairs that belong before the border
are still where they were, and the others are where they will be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keat.ops import compiled, compiled_into
from keat.state import lengthened, zeros

Array = npt.NDArray[Any]
BITS, BORDER = 0, 1  # places in `layout`: there are 2^bits slots, and from the border on twice as many
FEWEST = 10  # bits of an empty table
BEHIND = 256  # slots behind the last, for pairs that find theirs taken
MOVED = 512  # slots that are moved at once while the table doubles, …
EVERY = 64  # … whenever so many pairs are new: that is done before a quarter of the new slots are taken
_EMPTY = 0
_PLACE = np.int64(0xFFFFFFFF)  # the bits of an entry that tell 1 + the place; the others are of the hash
_MULTIPLIERS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)  # odd, so no two keys are alike


def slots_for(pairs: int) -> int:
    """At most half of them are taken, so that probes stay short."""
    return 1 << max(FEWEST, (2 * pairs).bit_length())


def empty_index(pairs: int = 0, behind: int = BEHIND) -> tuple[Array, Array]:
    """Slots and their layout."""
    bits = slots_for(pairs).bit_length() - 1
    return zeros(((1 << bits) + behind,), np.int64), np.array([bits, 1 << bits], dtype=np.int64)


def index_of(pairs: Array, number: int, behind: int = BEHIND) -> tuple[Array, Array]:
    """Of the first ``number`` records."""
    index, layout = empty_index(number, behind)
    return (index, layout) if _fill(index, layout, pairs, number) else index_of(pairs, number, 2 * behind)


def with_slots(index: Array, layout: Array, pairs: Array, number: int) -> tuple[Array, Array]:
    """The same with slots for another than so many pairs: a table that is full begins to double."""
    if index[-1] != _EMPTY:  # pairs of one hash: hardly ever
        return index_of(pairs, number, 2 * (len(index) - (1 << int(layout[BITS]))))
    if is_full(layout, number):
        index = lengthened(index, len(index) + (1 << int(layout[BITS])))
        move(index, layout)
    return index, layout


def refill(index: Array, layout: Array, pairs: Array, number: int) -> None:
    """The same slots with the first ``number`` records alone; the last slot is taken if they do not fit."""
    index[:] = _EMPTY
    layout[BITS] += layout[BORDER] < 1 << int(layout[BITS])  # a doubling that had begun is over
    layout[BORDER] = 1 << int(layout[BITS])
    _fill(index, layout, pairs, number)


@compiled_into
def is_full(layout: Array, pairs: int) -> bool:
    """Whether there is to be a table twice as large, and it has not begun."""
    slots = 1 << layout[BITS]
    return bool(2 * (pairs + 1) > slots and layout[BORDER] == slots)


@compiled_into
def has_slots(index: Array, layout: Array, pairs: int) -> bool:
    """Whether there is one for another than so many pairs. The last slot of all stays empty, so that a probe
    comes to an end."""
    return bool(index[-1] == _EMPTY) and not is_full(layout, pairs)


@compiled_into
def pair_key(src: int, dst: int) -> np.int64:
    return (np.int64(src) << 32) | np.int64(dst)


@compiled_into
def _hash(key: np.int64) -> np.uint64:
    mixed = np.uint64(key) * _MULTIPLIERS[0]
    return (mixed ^ (mixed >> np.uint64(32))) * _MULTIPLIERS[1]


@compiled_into
def home(layout: Array, mixed: np.uint64) -> np.int64:
    """The slot that a pair belongs to, by its hash or by its entry."""
    slot = np.int64(mixed >> np.uint64(64 - layout[BITS]))
    return slot if slot < layout[BORDER] else np.int64(mixed >> np.uint64(63 - layout[BITS]))


@compiled_into
def slot_of(index: Array, layout: Array, pairs: Array, key: np.int64) -> np.int64:
    """Where a pair is, or the empty slot where it is to be."""
    mixed = _hash(key)
    slot, beside = home(layout, mixed), np.int64(mixed) & ~_PLACE
    while index[slot] != _EMPTY and (
        index[slot] & ~_PLACE != beside or pairs[(index[slot] & _PLACE) - 1].key != key
    ):
        slot += 1
    return slot


@compiled_into
def put(index: Array, slot: np.int64, key: np.int64, row: int) -> None:
    """A pair into an empty slot that `slot_of` found for it."""
    index[slot] = (np.int64(_hash(key)) & ~_PLACE) | np.int64(row + 1)


@compiled_into
def row_at(index: Array, slot: np.int64) -> np.int64:
    """The place of the record of the pair in a slot, or -1 if it is empty."""
    return np.int64((index[slot] & _PLACE) - 1)


@compiled_into
def row_of(index: Array, layout: Array, pairs: Array, src: int, dst: int) -> np.int64:
    """The place of a pair's record, or -1 if it has never met."""
    return row_at(index, slot_of(index, layout, pairs, pair_key(src, dst)))


@compiled_into
def likely_slot(layout: Array, key: np.int64) -> np.int64:
    """Where a pair mostly is."""
    return home(layout, _hash(key))


@compiled_into
def likely_row(index: Array, layout: Array, key: np.int64) -> np.int64:
    """What is there, or -1, whichever pair it may be."""
    return row_at(index, likely_slot(layout, key))


@compiled_into
def go_on_doubling(index: Array, layout: Array, pairs: int) -> None:
    """A step, every few pairs, of a doubling that has begun."""
    if pairs % EVERY == 0 and layout[BORDER] < 1 << layout[BITS]:
        move(index, layout)


@compiled
def move(index: Array, layout: Array) -> None:
    """Some slots before the border, and all that follow them up to an empty one, are taken out and put back
    where they belong with the border moved: what is between two empty slots depends on nothing else. Where
    they do not fit, the last slot is taken, and the table has to be made anew."""
    first = last = layout[BORDER]
    first = max(0, first - MOVED)
    while first > 0 and index[first - 1] != _EMPTY:
        first -= 1
    while last < len(index) and index[last] != _EMPTY:
        last += 1
    taken = index[first:last].copy()
    index[first:last] = _EMPTY
    layout[BORDER] = first
    for entry in taken:
        if entry != _EMPTY:
            slot = home(layout, np.uint64(entry))
            while index[slot] != _EMPTY:
                slot += 1
                if slot == len(index):
                    return
            index[slot] = entry
    if first == 0:
        layout[BITS] += 1
        layout[BORDER] = 1 << layout[BITS]


@compiled
def _fill(index: Array, layout: Array, pairs: Array, number: int) -> bool:
    """Whether there was a slot for every pair."""
    for row in range(number):
        key = pairs[row].key
        put(index, slot_of(index, layout, pairs, key), key, row)
        if index[-1] != _EMPTY:
            return False
    return True
