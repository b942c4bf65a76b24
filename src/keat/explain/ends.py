"""One end of a scored pair: its past events, what each was worth, and the score had it been otherwise.

An event between the two ends is in the past of both. Whatever is asked about it, it changes wherever it is
attended to, so that one event has one answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from keat.analysis.what_if import Past, all_at, attend, each_at, each_missing, each_older, score
from keat.explain.scored import Names
from keat.models.tgn import TGN


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A past event of one end of the pair; the lists have a number for each head."""

    node: str | int  # at the other end of that event
    row: int | None  # of the event in the dataset, where there is one
    happened: int
    since: int  # t - happened
    age: int  # what ψ and φ are given: the same, or the neighbour's last update - happened
    psi: list[float]
    node_logit: list[float]
    edge_logit: list[float]
    alpha: list[float]
    score_if_older: float  # of the pair, had this event been `Explanation.older` older
    score_without: float

    @property
    def attention(self) -> float:
        """Mean over the heads."""
        return sum(self.alpha) / len(self.alpha)


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """The source or the destination of the pair, its past events (newest first), and their sweeps.

    Sweeps are over ``Explanation.ages`` (G): attention is the mean over the heads.
    """

    role: str
    node: str | int
    neighbors: list[Neighbor]
    shared: list[list[float]]  # (n, G) α of each event, all given the same age, φ frozen: the paper's figure
    shared_score: list[float]  # (G,)
    frozen: list[list[float]]  # (n, G) α of the event itself, it alone given another age, φ frozen
    recomputed: list[list[float]]  # (n, G) the same with φ recomputed: what the model would do
    recomputed_score: list[list[float]]  # (n, G)
    past: Past = field(repr=False)  # one row, for whoever wants more of the same model


def end_of(
    model: TGN,
    pasts: tuple[Past, Past],
    place: int,
    ages: Tensor,
    older: int,
    *,
    t: int,
    beside: float,
    node: str | int,
    names: Names,
) -> End:
    """The end at ``place`` of the two whose ``pasts`` are given; ``beside`` is the part of the score that is
    not the attention's."""
    own = pasts[place]

    def scored(change: Callable[[Past], Past]) -> Tensor:
        """The pair's score with the same change in the past of either end."""
        return beside + score(model, *(attend(model, change(past))[0] for past in pasts))

    if_older = scored(lambda past: each_older(model, past, older, event_of=own))
    without = scored(lambda past: each_missing(past, event_of=own))
    slots, count = own.mask.shape[1], int(own.mask.sum())
    one_score = scored(lambda past: each_at(past, ages, event_of=own))
    return End(
        role=("source", "destination")[place],
        node=node,
        neighbors=_neighbors(model, own, t, if_older, without, names),
        past=own,
        shared_score=scored(lambda past: all_at(past, ages, event_of=own)).tolist(),
        recomputed_score=one_score.view(slots, len(ages))[:count].tolist(),
        **_sweeps(model, own, ages),
    )


def _neighbors(
    model: TGN, past: Past, t: int, if_older: Tensor, without: Tensor, names: Names
) -> list[Neighbor]:
    _, seen = attend(model, past)
    found = []
    for k in range(int(past.mask.sum())):
        event = int(past.hood.event[0, k])
        src, dst, happened = model.state.event(event)
        found.append(
            Neighbor(
                node=names.label(int(past.node[0, k])),
                row=names.row_of(src, dst, happened),
                happened=happened,
                since=t - happened,
                age=int(past.psi_age[0, k]),
                psi=seen.psi[0, k].tolist(),
                node_logit=seen.node_logit[0, k].tolist(),
                edge_logit=seen.edge_logit[0, k].tolist(),
                alpha=seen.alpha[0, k].tolist(),
                score_if_older=float(if_older[k]),
                score_without=float(without[k]),
            )
        )
    return found


def _sweeps(model: TGN, past: Past, ages: Tensor) -> dict[str, Any]:
    """The attention of an `End` over age, by the names of its fields; it has to do with its own past only."""
    count, slots = int(past.mask.sum()), past.mask.shape[1]

    def own(rows: Past) -> Any:
        """The attention that each of the n present events has in its own G of the K·G rows, (n, G)."""
        by_event = attend(model, rows)[1].alpha.mean(dim=2).view(slots, len(ages), slots)
        return by_event[torch.arange(count), :, torch.arange(count)].tolist()

    return {
        "shared": attend(model, all_at(past, ages))[1].alpha.mean(dim=2).T[:count].tolist(),
        "frozen": own(each_at(past, ages, recompute_phi=False)),
        "recomputed": own(each_at(past, ages)),
    }
