"""Does attention say what mattered? Take away the most attended events and see whether the score moves more
than when as many are taken away at random."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from keat.analysis.what_if import Past, attend, same_events, score
from keat.models.tgn import TGN

RANDOM_ORDERS = 40


@dataclass(frozen=True, slots=True, eq=False)
class DeletionCurves:
    """The score of a pair with 0 … n of the n past events of its ends taken away, (n + 1,) each. An event
    between the two is one event: it is taken away from both at once."""

    most_attended_first: Tensor
    least_attended_first: Tensor
    random: Tensor  # (orders, n + 1)

    @property
    def moved_by_attention(self) -> float:
        """How far from its start the score was on the way, the most attended taken first."""
        return float(_area(self.most_attended_first))

    @property
    def moved_by_chance(self) -> float:
        """The same, averaged over random orders."""
        return float(_area(self.random).mean())

    @property
    def faithfulness(self) -> float:
        """The first in multiples of the second. Above 1, attention points at what mattered; at 1 it might as
        well be random."""
        by_chance = self.moved_by_chance
        return self.moved_by_attention / by_chance if by_chance > 0 else float("nan")


def _area(curve: Tensor) -> Tensor:
    """How far a curve is from its start between its ends, which all curves have in common."""
    return (curve[..., 1:-1] - curve[..., :1]).abs().sum(dim=-1)


def deletion_curves(model: TGN, source: Past, destination: Past) -> DeletionCurves:
    """Curves of one pair; ``source`` and ``destination`` have one row each. The attention to an event is what
    it has in both ends together."""
    attention = torch.cat([attend(model, past)[1].alpha[0].mean(dim=1) for past in (source, destination)])
    where = _distinct_events(source, destination)  # (n, slots of both ends)
    by_attention = torch.argsort(where.to(attention.dtype) @ attention, descending=True, stable=True)
    draw = torch.Generator().manual_seed(0)
    shuffled = [torch.randperm(len(where), generator=draw) for _ in range(RANDOM_ORDERS)]
    orders = torch.stack([by_attention, by_attention.flip(0), *shuffled])  # (o, n)
    curves = _scores_along(model, source, destination, where, orders)
    return DeletionCurves(curves[0], curves[1], curves[2:])


def _distinct_events(source: Past, destination: Past) -> Tensor:
    """(n, slots of both ends) in which slots each of the n events is; the source's come first."""
    pasts = (source, destination)
    where = torch.cat([torch.cat([same_events(past, other) for other in pasts], dim=1) for past in pasts])
    first = where & (where.cumsum(dim=1) == 1)  # an event counts once: in its first slot
    return where[first.diagonal()]


def _scores_along(model: TGN, source: Past, destination: Past, where: Tensor, orders: Tensor) -> Tensor:
    """Scores (o, n + 1) as the events of each order (o, n) are taken away one by one."""
    events = orders.shape[1]
    turn = torch.empty_like(orders)  # when each event goes
    turn.scatter_(1, orders, torch.arange(events).expand_as(orders))
    gone = turn[:, None] < torch.arange(events + 1)[:, None]  # (o, n + 1, n)
    kept = (gone.flatten(0, 1).float() @ where.float()) == 0  # (o·(n+1), slots)
    ends = zip((source, destination), torch.split(kept, source.mask.shape[1], dim=1), strict=True)
    embedded = [attend(model, past.repeated(len(kept)).keeping(part))[0] for past, part in ends]
    return score(model, *embedded).view(len(orders), -1)
