"""How often, or how much, the nodes of two sequences occur in their own sequence and in the other one.

Sequences lie in slots, P slots a patch, and the last patch of one may have empty slots. A pair of sequences
(u, v) has a token for every patch of u and then of v. Most pairs share nothing, and cost next to nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keat.ops.compiling import Floats, Integers, compiled


class PackedSequences(NamedTuple):
    """S sequences, one after the other."""

    start: Integers  # (S,) first slot of each
    stop: Integers  # (S,) one past the last slot that is not empty
    first_patch: Integers  # (S + 1,)
    node: Integers  # (slots,) -1 in empty ones
    patch: int  # P

    @property
    def nodes(self) -> int:
        """Room that a place for every node takes. Sequences are counted into it one at a time."""
        return 1 + int(self.node.max(initial=0))


# -- counts ------------------------------------------------------------------------------------------


def count_own(sequences: PackedSequences) -> Integers:
    """How often the node of each slot occurs in its own sequence, (slots,); 0 in empty slots."""
    own = np.zeros(len(sequences.node), dtype=np.int64)
    start, stop, _, node, _ = sequences
    _count_own(start, stop, node, np.zeros(sequences.nodes, dtype=np.int64), own)
    return own


def count_own_plainly(sequences: PackedSequences) -> Integers:
    own = np.zeros(len(sequences.node), dtype=np.int64)
    for start, stop in zip(sequences.start, sequences.stop, strict=True):
        mine = sequences.node[start:stop]
        own[start:stop] = (mine[:, None] == mine).sum(axis=1)
    return own


def count_cross(
    sequences: PackedSequences, left: Integers, right: Integers, tokens: int
) -> tuple[Integers, Integers, Integers]:
    """Of pairs (left[i], right[i]) with so many tokens in all: for each token its row in a table that has all
    patches first, and then a row for each token that shares a node with the other sequence; of these rows,
    the patch (R,), and how often the nodes of its slots occur in the other sequence (R, P)."""
    row, shared_patch = np.empty(tokens, dtype=np.int64), np.empty(tokens, dtype=np.int64)
    counts = np.empty((tokens, sequences.patch), dtype=np.int64)
    scratch = np.zeros(sequences.nodes, dtype=np.int64)
    shared = _count_cross(*sequences[:4], left, right, sequences.patch, scratch, row, shared_patch, counts)
    return row, shared_patch[:shared], counts[:shared]


def count_cross_plainly(
    sequences: PackedSequences, left: Integers, right: Integers, tokens: int
) -> tuple[Integers, Integers, Integers]:
    start, stop, first_patch, node, patch = sequences
    row: list[int] = []
    shared: list[int] = []
    counts: list[Integers] = []
    for one, two in zip(left, right, strict=True):
        for mine, other in ((one, two), (two, one)):
            theirs = node[start[other] : stop[other]]
            for number in range(first_patch[mine], first_patch[mine + 1]):
                slots = node[number * patch : (number + 1) * patch]
                met = ((slots[:, None] == theirs) & (slots >= 0)[:, None]).sum(axis=1)
                row.append(first_patch[-1] + len(shared) if met.any() else number)
                if met.any():
                    shared.append(number)
                    counts.append(met)
    assert len(row) == tokens
    found = np.array(counts, dtype=np.int64).reshape(len(shared), patch)
    return np.array(row, dtype=np.int64), np.array(shared, dtype=np.int64), found


# -- sums of weights ---------------------------------------------------------------------------------


def sum_own(sequences: PackedSequences, psi: Floats) -> Floats:
    """`count_own` with a weight ψ (slots, M) instead of 1 for each slot, (slots, M)."""
    own = np.zeros_like(psi)
    start, stop, _, node, _ = sequences
    _sum_own(start, stop, node, psi, np.zeros((sequences.nodes, psi.shape[1]), dtype=np.float32), own)
    return own


def sum_own_plainly(sequences: PackedSequences, psi: Floats) -> Floats:
    own = np.zeros_like(psi)
    for start, stop in zip(sequences.start, sequences.stop, strict=True):
        mine = sequences.node[start:stop]
        own[start:stop] = (mine[:, None] == mine) @ psi[start:stop]
    return own


def sum_cross(
    sequences: PackedSequences, psi: Floats, left: Integers, right: Integers, row: Integers, shared: int
) -> Floats:
    """`count_cross` with a weight instead of 1, of those rows (shared · P, M) that share something."""
    cross = np.zeros((shared * sequences.patch, psi.shape[1]), dtype=np.float32)
    scratch = np.zeros((sequences.nodes, psi.shape[1]), dtype=np.float32)
    _sum_cross(*sequences[:4], psi, left, right, sequences.patch, row, scratch, cross)
    return cross


def sum_cross_plainly(
    sequences: PackedSequences, psi: Floats, left: Integers, right: Integers, row: Integers, shared: int
) -> Floats:
    start, stop, first_patch, node, patch = sequences
    cross = np.zeros((shared, patch, psi.shape[1]), dtype=np.float32)
    rows = iter(row)
    for one, two in zip(left, right, strict=True):
        for mine, other in ((one, two), (two, one)):
            theirs = slice(start[other], stop[other])
            for number in range(first_patch[mine], first_patch[mine + 1]):
                slots, place = node[number * patch : (number + 1) * patch], next(rows) - first_patch[-1]
                if place >= 0:
                    same = (slots[:, None] == node[theirs]) & (slots >= 0)[:, None]
                    cross[place] = same @ psi[theirs]
    return cross.reshape(-1, psi.shape[1])


# -- loops -------------------------------------------------------------------------------------------


@compiled
def _count_own(start: Integers, stop: Integers, node: Integers, scratch: Integers, own: Integers) -> None:
    """``scratch``, zero for every node, counts one sequence at a time and is left as it was."""
    for i in range(len(start)):
        for slot in range(start[i], stop[i]):
            scratch[node[slot]] += 1
        for slot in range(start[i], stop[i]):
            own[slot] = scratch[node[slot]]
        for slot in range(start[i], stop[i]):
            scratch[node[slot]] = 0


@compiled
def _count_cross(
    start: Integers,
    stop: Integers,
    first_patch: Integers,
    node: Integers,
    left: Integers,
    right: Integers,
    patch: int,
    scratch: Integers,
    row: Integers,
    shared_patch: Integers,
    shared_cross: Integers,
) -> int:
    """Fills in the rows of tokens; returns how many patches share something with the other sequence."""
    base = first_patch[-1]
    shared = token = 0
    for i in range(len(left)):
        for mine, other in ((left[i], right[i]), (right[i], left[i])):
            for slot in range(start[other], stop[other]):
                scratch[node[slot]] += 1
            for number in range(first_patch[mine], first_patch[mine + 1]):
                met = False
                for place in range(patch):
                    slot = number * patch + place
                    count = scratch[node[slot]] if slot < stop[mine] else 0
                    shared_cross[shared, place] = count
                    met = met or count > 0
                row[token] = base + shared if met else number
                token += 1
                if met:
                    shared_patch[shared] = number
                    shared += 1
            for slot in range(start[other], stop[other]):
                scratch[node[slot]] = 0
    return shared


@compiled
def _add(node: Integers, psi: Floats, start: int, stop: int, scratch: Floats) -> None:
    for slot in range(start, stop):
        for m in range(psi.shape[1]):
            scratch[node[slot], m] += psi[slot, m]


@compiled
def _wipe(node: Integers, start: int, stop: int, scratch: Floats) -> None:
    for slot in range(start, stop):
        scratch[node[slot]] = 0.0


@compiled
def _sum_own(
    start: Integers, stop: Integers, node: Integers, psi: Floats, scratch: Floats, own: Floats
) -> None:
    """``scratch``, zero for every node, sums one sequence at a time and is left as it was."""
    for i in range(len(start)):
        _add(node, psi, start[i], stop[i], scratch)
        for slot in range(start[i], stop[i]):
            own[slot] = scratch[node[slot]]
        _wipe(node, start[i], stop[i], scratch)


@compiled
def _sum_cross(
    start: Integers,
    stop: Integers,
    first_patch: Integers,
    node: Integers,
    psi: Floats,
    left: Integers,
    right: Integers,
    patch: int,
    row: Integers,
    scratch: Floats,
    cross: Floats,
) -> None:
    """Sums only where patches share something: most pairs share nothing, and cost nothing here."""
    base = first_patch[-1]
    token = 0
    for i in range(len(left)):
        for mine, other in ((left[i], right[i]), (right[i], left[i])):
            summed = False
            for number in range(first_patch[mine], first_patch[mine + 1]):
                shared = row[token] - base
                token += 1
                if shared < 0:
                    continue
                if not summed:
                    _add(node, psi, start[other], stop[other], scratch)
                    summed = True
                for place in range(patch):
                    slot = number * patch + place
                    if slot < stop[mine]:
                        cross[shared * patch + place] = scratch[node[slot]]
            if summed:
                _wipe(node, start[other], stop[other], scratch)
