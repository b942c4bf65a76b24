"""Co-occurrence that fades: how much, not how often, a node occurs in a sequence.

    S_m(w) = Σ exp(-age_i/σ_m)      over the elements i of a sequence that are w

With infinite widths these are the counts. The node itself, a sequence's first element, has age 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keat.compiled import Floats, Integers, compiled
from keat.models.dygformer.sequences import PairTokens, Sequences


@dataclass(frozen=True, slots=True, eq=False)
class FadingSums:
    """Sums of the node of each slot for M widths; 0 in empty slots."""

    own: Floats  # (patches, P, M) over its own sequence
    cross: Floats  # (R - patches, P, M) over the other one, for the rows of the table that share something


def sum_up(
    sequences: Sequences,
    tokens: PairTokens,
    left: Integers,
    right: Integers,
    patch: int,
    widths: npt.NDArray[np.float64],
) -> FadingSums:
    """Of the pairs of sequences (left[i], right[i]) that ``tokens`` were made of."""
    patches, kernels = int(sequences.first[-1]), len(widths)
    start = patch * sequences.first[:-1]
    stop = start + sequences.length
    psi = np.exp(-sequences.age[:, None] / widths).astype(np.float32)  # (slots, M)
    scratch = np.zeros((1 + int(sequences.node.max(initial=0)), kernels), dtype=np.float32)
    own = np.zeros((patches * patch, kernels), dtype=np.float32)
    cross = np.zeros(((len(tokens.patch) - patches) * patch, kernels), dtype=np.float32)
    _sum_own(start, stop, sequences.node, psi, scratch, own)
    _sum_cross(
        start, stop, sequences.first, sequences.node, psi, left, right, patch, tokens.row, scratch, cross
    )
    return FadingSums(own.reshape(patches, patch, kernels), cross.reshape(-1, patch, kernels))


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
