"""What happened last between two nodes: a hash table from (src, dst) to an integer.

O(1) per event and per look-up, memory in the number of distinct pairs, never nodes × nodes. A dict of
tuples does the same with a Python object a pair and a Python call a look-up.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keat.ops import compiled

_EMPTY = -1  # keys are non-negative
_PUT_AT_ONCE = 1 << 16  # room is made for as many new pairs, so memory follows the pairs, not the events
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / golden ratio: spreads consecutive keys


class PairTable:
    """Maps (src, dst) to the value last put there."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._size = 0
        self._allocate(1 << 10)

    def __len__(self) -> int:
        return self._size

    def _allocate(self, capacity: int) -> None:
        self._keys = np.full(capacity, _EMPTY, dtype=np.int64)
        self._values = np.empty(capacity, dtype=np.int64)

    def put(
        self,
        src: npt.NDArray[np.int32],
        dst: npt.NDArray[np.int32],
        values: npt.NDArray[np.int64],
    ) -> None:
        """Set the value of each pair, in order: the last one wins."""
        for start in range(0, len(src), _PUT_AT_ONCE):
            part = slice(start, start + _PUT_AT_ONCE)
            self._make_room(self._size + len(src[part]))
            self._size += _put(self._keys, self._values, src[part], dst[part], values[part])

    def get(
        self, src: npt.NDArray[np.int32], candidates: npt.NDArray[np.int32], missing: int
    ) -> npt.NDArray[np.int64]:
        """Values of (src[i], candidates[i, j]), or of (src[i], candidates[j]) if they are shared."""
        shape = (len(src), candidates.shape[-1])
        found = np.empty(shape, dtype=np.int64)
        _get(self._keys, self._values, src, np.broadcast_to(candidates, shape), missing, found)
        return found

    def _make_room(self, pairs: int) -> None:
        capacity = len(self._keys)
        if 2 * pairs <= capacity:
            return
        while 2 * pairs > capacity:  # at most half full: probes stay short
            capacity *= 2
        keys, values = self._keys, self._values
        used = keys != _EMPTY
        self._allocate(capacity)
        held = keys[used]
        _put(
            self._keys,
            self._values,
            (held >> 32).astype(np.int32),
            (held & 0xFFFFFFFF).astype(np.int32),
            values[used],
        )


@compiled
def slot_of(keys: npt.NDArray[np.int64], key: np.int64) -> np.int64:
    """Where ``key`` is, or the empty slot where it belongs."""
    mask = len(keys) - 1
    mixed = np.uint64(key) * _MULTIPLIER
    slot = np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(mask))
    while keys[slot] != _EMPTY and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@compiled
def _put(
    keys: npt.NDArray[np.int64],
    values: npt.NDArray[np.int64],
    src: npt.NDArray[np.int32],
    dst: npt.NDArray[np.int32],
    new: npt.NDArray[np.int64],
) -> int:
    added = 0
    for i in range(len(src)):
        key = (np.int64(src[i]) << 32) | np.int64(dst[i])
        slot = slot_of(keys, key)
        if keys[slot] == _EMPTY:
            keys[slot] = key
            added += 1
        values[slot] = new[i]
    return added


@compiled
def _get(
    keys: npt.NDArray[np.int64],
    values: npt.NDArray[np.int64],
    src: npt.NDArray[np.int32],
    candidates: npt.NDArray[np.int32],
    missing: int,
    found: npt.NDArray[np.int64],
) -> None:
    for i in range(found.shape[0]):
        high = np.int64(src[i]) << 32
        for j in range(found.shape[1]):
            key = high | np.int64(candidates[i, j])
            slot = slot_of(keys, key)
            found[i, j] = values[slot] if keys[slot] == key else missing
