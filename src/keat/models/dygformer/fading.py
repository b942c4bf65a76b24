"""Co-occurrence that fades: how much, not how often, a node occurs in a sequence.

    S_m(w) = Σ exp(-age_i/σ_m)      over the elements i of a sequence that are w

With infinite widths these are the counts. The node itself, a sequence's first element, has age 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keat.models.dygformer.sequences import PairTokens, Sequences
from keat.ops import Floats, Integers, sum_cross, sum_own


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
    psi = np.exp(-sequences.age[:, None] / widths).astype(np.float32)  # (slots, M)
    own = sum_own(sequences.packed(patch), psi)
    cross = sum_cross(sequences.packed(patch), psi, left, right, tokens.row, len(tokens.patch) - patches)
    return FadingSums(own.reshape(patches, patch, kernels), cross.reshape(-1, patch, kernels))
