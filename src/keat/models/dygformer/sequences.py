"""The past of a node as a sequence of patches, and two sequences side by side as the tokens of a pair.

A sequence is the node itself, at the time of the question, then its last L - 1 events before that time, the
oldest first. P consecutive elements make a patch; the last patch may have empty slots. The tokens of a pair
(u, v) are the patches of u's sequence and then those of v's.

A token depends on the pair only by how often its nodes occur in the *other* sequence, and mostly that is
never. So the tokens of all pairs are rows of one table: first a row for every patch as it is where nothing
is shared, then a row for every patch of a pair that does share something. What is computed of the table's
rows is computed once for all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from keat.clock import Clock
from keat.ops import Integers, PackedSequences, compiled, count_cross, count_own
from keat.state import EventHistory

NONE = -1

Nodes = npt.NDArray[np.integer]


@dataclass(frozen=True, slots=True, eq=False)
class Sequences:
    """S sequences in slots, P slots a patch, one sequence after the other. Empty slots have node -1."""

    first: Integers  # (S + 1,) the first patch of each
    length: Integers  # (S,) elements of each
    node: Integers  # (slots,) the other end of the event; of a sequence's first slot, the node itself
    event: Integers  # (slots,) -1 in a sequence's first slot and in empty ones
    age: npt.NDArray[Any]  # (slots,) at the time of the question, in ticks or by a clock; 0 in empty slots

    @property
    def patches(self) -> Integers:
        """Patches of each sequence, (S,)."""
        return np.diff(self.first)

    def followed_by(self, other: Sequences) -> Sequences:
        columns = (np.concatenate((getattr(self, name), getattr(other, name))) for name in _COLUMNS)
        return Sequences(np.concatenate((self.first, self.first[-1] + other.first[1:])), *columns)

    def packed(self, patch: int) -> PackedSequences:
        """The nodes alone, as operations take them."""
        start = patch * self.first[:-1]
        return PackedSequences(start, start + self.length, self.first, self.node, patch)

    def measured_by(self, clock: Clock) -> Sequences:
        return replace(self, age=clock.measure(self.age))


_COLUMNS = ("length", "node", "event", "age")


def sample(
    history: EventHistory, nodes: Nodes, t: Integers, length: int, patch: int, alike: bool = False
) -> Sequences:
    """The sequences of ``nodes`` at times ``t``, of as many patches as each fills, or the longest of them."""
    entries = history.before(nodes, t, length - 1)
    there = entries >= 0
    events = there.sum(axis=1)
    patches = -(-(1 + events) // patch)
    if alike:
        patches = np.full_like(patches, patches.max(initial=1))
    first = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(patches)))
    slots = int(first[-1]) * patch
    node, event = np.full(slots, NONE, dtype=np.int64), np.full(slots, NONE, dtype=np.int64)
    age = np.zeros(slots, dtype=np.int64)
    start = patch * first[:-1]
    node[start] = nodes
    near = entries[there]  # of one node after the other, the oldest first
    before = np.cumsum(events) - events  # events of the nodes before
    place = np.arange(len(near)) + (start + 1 - before).repeat(events)
    node[place], event[place] = history.other_end(near), history.event_of(near)
    age[place] = t.repeat(events) - history.time_of(near)
    return Sequences(first, 1 + events, node, event, age)


def mean_ages(sequences: Sequences, patch: int) -> npt.NDArray[np.float64]:
    """Of the elements of each patch, (patches,); 0 for a patch of empty slots."""
    elements = (sequences.node.reshape(-1, patch) >= 0).sum(axis=1)
    total = sequences.age.reshape(-1, patch).sum(axis=1, dtype=np.float64)
    mean: npt.NDArray[np.float64] = total / np.maximum(elements, 1)
    return mean


@dataclass(frozen=True, slots=True, eq=False)
class PairTokens:
    """The tokens of N pairs, one pair after the other, as rows of a table of R distinct ones."""

    patch: Integers  # (R,) the patch a row of the table is made of
    own: Integers  # (R, P) how often the node of each slot occurs in its own sequence, 0 in empty slots
    cross: Integers  # (R, P) and in the other one
    row: Integers  # (tokens,) row of the table of each token
    first: Integers  # (N + 1,) the first token of each pair
    left: Integers  # (N,) how many of its tokens are u's


def pair_up(sequences: Sequences, left: Integers, right: Integers, patch: int) -> PairTokens:
    """The tokens of the pairs of sequences (left[i], right[i])."""
    patches, base = sequences.patches, int(sequences.first[-1])
    first = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(patches[left] + patches[right])))
    own = count_own(sequences.packed(patch))
    row, shared_patch, shared_cross = count_cross(sequences.packed(patch), left, right, int(first[-1]))
    own_counts: Integers = own.reshape(base, patch)
    return PairTokens(
        patch=np.concatenate((np.arange(base), shared_patch)),
        own=np.concatenate((own_counts, own_counts[shared_patch])),
        cross=np.concatenate((np.zeros_like(own_counts), shared_cross)),
        row=row,
        first=first,
        left=patches[left],
    )


def stand_ins(left: Sequences, right: Sequences, row: Integers, patch: int) -> Integers:
    """For each pair of (left[row[i]], right[i]) the first pair that has the same tokens: candidates without
    events cannot be told apart by a source that has not met them, of which there may be many."""
    same = np.arange(len(row))
    seen = np.full(len(left.length), NONE, dtype=np.int64)
    start = patch * left.first[:-1]
    nodes = right.node[patch * right.first[:-1]]
    _find_stand_ins(start, left.length, left.node, right.length, nodes, row, seen, same)
    return same


@compiled
def _find_stand_ins(
    start: Integers,
    length: Integers,
    node: Integers,
    candidate_length: Integers,
    candidate: Integers,
    row: Integers,
    seen: Integers,
    same: Integers,
) -> None:
    for i in range(len(row)):
        if candidate_length[i] > 1:
            continue
        source, met = row[i], False
        for slot in range(start[source], start[source] + length[source]):
            met = met or node[slot] == candidate[i]
        if met:
            continue
        if seen[source] < 0:
            seen[source] = i
        same[i] = seen[source]
