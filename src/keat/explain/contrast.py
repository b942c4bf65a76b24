"""Why this candidate and not that one: what sets two candidates of one source apart.

A pair term judges every candidate by itself, and embeddings beside it do not read its numbers. So the effect
of a group of numbers on the difference of two scores is the difference of its effects on the two: exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.events.units import TimeUnit
from keat.explain.pair_wording import known_of
from keat.models.pair_explanation import PairExplanation
from keat.tasks.metrics import rank_of

FIRST = "first"  # says "the one that ranks first", unless a node is called so


@dataclass(frozen=True, slots=True, eq=False)
class ScoredCandidates:
    """All candidates of one question, with their scores."""

    nodes: npt.NDArray[np.int32]  # (C,)
    scores: Tensor  # (C,)

    def rank(self, place: int) -> float:
        return self.ranks_if(place, [0.0])[0]

    def ranks_if(self, place: int, lower_by: list[float]) -> list[float]:
        """The ranks of the candidate at a place, were its score lower by each of these and all else the
        same."""
        own = self.scores[place] - torch.tensor(lower_by, dtype=self.scores.dtype)
        others = torch.cat((self.scores[:place], self.scores[place + 1 :]))
        ranks: list[float] = rank_of(own, others.expand(len(own), -1)).tolist()
        return ranks


@dataclass(frozen=True, slots=True)
class ContrastedGroup:
    """A group of numbers: what it says of both, and how much lower the difference would be with these numbers
    as for strangers, in both."""

    group: str
    known: str
    known_of_other: str
    effect: float
    rank_without: float  # of the candidate asked about, with these numbers as for strangers in it alone


@dataclass(frozen=True, slots=True)
class Contrast:
    """Another candidate beside the one asked about. Differences are of the asked one less the other."""

    other: str | int
    score: float
    rank: float
    difference: float  # of the scores
    difference_of_pair_terms: float  # the rest is of embeddings, where the model has them
    groups: list[ContrastedGroup]  # largest effect first


def contrasted(
    pair: PairExplanation, other: PairExplanation, ranks_without: dict[str, float], unit: TimeUnit
) -> list[ContrastedGroup]:
    """What is known of a pair and of another with the same source, by group. Whether they met is always said;
    of the rest, what changes neither difference nor rank is not."""
    known, known_of_other = known_of(pair, unit), known_of(other, unit)
    found = [
        ContrastedGroup(
            group, known[group], known_of_other[group], effect - other.effects[group], ranks_without[group]
        )
        for group, effect in pair.effects.items()
        if effect != 0.0 or other.effects[group] != 0.0 or group == "meetings of the pair"
    ]
    return sorted(found, key=lambda one: -abs(one.effect))
