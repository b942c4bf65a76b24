"""Where the record of a pair is: a hash table of pairs whose entries are eight bytes each.

An entry is the record's place and, beside it, 31 bits of the pair's hash. Hardly any other pair has the same
bits, so one look tells that two nodes have never met, and the record is looked at only where they have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keat.ops import compiled, compiled_into

Array = npt.NDArray[Any]
EMPTY = -1
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / golden ratio: spreads consecutive keys
_PLACE = np.int64(0xFFFFFFFF)  # the bits of an entry that tell the place; the others are of the hash


def empty_index(slots: int) -> Array:
    """For half as many pairs as slots, which are a power of 2, so that probes stay short."""
    return np.full(slots, EMPTY, dtype=np.int64)


def index_of(pairs: Array, number: int, slots: int) -> Array:
    """Of the first ``number`` records."""
    index = empty_index(slots)
    _fill(index, pairs, number)
    return index


@compiled_into
def pair_key(src: int, dst: int) -> np.int64:
    return (np.int64(src) << 32) | np.int64(dst)


@compiled_into
def slot_of(index: Array, pairs: Array, key: np.int64) -> np.int64:
    """Where a pair is, or the empty slot where it belongs."""
    mask = len(index) - 1
    mixed = np.uint64(key) * _MULTIPLIER
    slot = np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(mask))
    beside = np.int64(mixed >> np.uint64(33))
    while index[slot] != EMPTY and (index[slot] >> 32 != beside or pairs[index[slot] & _PLACE].key != key):
        slot = (slot + 1) & mask
    return slot


@compiled_into
def put(index: Array, slot: np.int64, key: np.int64, row: int) -> None:
    """A pair into an empty slot that `slot_of` found for it."""
    mixed = np.uint64(key) * _MULTIPLIER
    index[slot] = (np.int64(mixed >> np.uint64(33)) << 32) | np.int64(row)


@compiled_into
def row_at(index: Array, slot: np.int64) -> np.int64:
    """The place of the record of the pair in a slot, or -1 if it is empty."""
    return index[slot] & _PLACE if index[slot] != EMPTY else np.int64(EMPTY)


@compiled_into
def row_of(index: Array, pairs: Array, src: int, dst: int) -> np.int64:
    """The place of a pair's record, or -1 if it has never met."""
    return row_at(index, slot_of(index, pairs, pair_key(src, dst)))


@compiled
def _fill(index: Array, pairs: Array, number: int) -> None:
    for row in range(number):
        key = pairs[row].key
        put(index, slot_of(index, pairs, key), key, row)
