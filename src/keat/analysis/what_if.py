"""What TGN's attention would have been: other ages, or without some of the past events.

Every answer comes from the model's own layers, asked with other ages or with a smaller mask; nothing is
approximated. What stays as it was is memory: the state of the nodes, in which a past event also left a trace.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from keat.attention import Attention, NeighborFeatures
from keat.models.query_time import Neighborhood
from keat.models.tgn import TGN


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """The last K events of n nodes as the model sees them, with two ages: the one given to the kernel ψ and
    the one given to the time encoding φ, which in the model are the same."""

    node: Tensor  # (n, K) at the other end of each event
    hood: Neighborhood  # with the memory of these nodes as it is now: later events do not change it
    psi_age: Tensor  # (n, K) int64
    phi_age: Tensor  # (n, K)

    @property
    def mask(self) -> Tensor:
        return self.hood.mask

    def __len__(self) -> int:
        return len(self.hood.mask)

    def at_ages(self, age: Tensor, *, recompute_phi: bool) -> Past:
        """With these ages instead, (n, K); φ stays frozen unless it is to be recomputed."""
        return replace(self, psi_age=age, phi_age=age if recompute_phi else self.phi_age)

    def keeping(self, kept: Tensor) -> Past:
        """Without the events where ``kept`` (n, K) is False."""
        return replace(self, hood=replace(self.hood, mask=self.hood.mask & kept))

    def repeated(self, times: int) -> Past:
        """Every row ``times`` times, one after the other."""
        parts = {
            name: getattr(self.hood, name).repeat_interleave(times, dim=0)
            for name in ("seeds", "index", "mask", "event", "happened")
        }
        node, psi_age, phi_age = (
            own.repeat_interleave(times, dim=0) for own in (self.node, self.psi_age, self.phi_age)
        )
        return Past(node, replace(self.hood, **parts), psi_age, phi_age)


def past_of(model: TGN, nodes: Tensor, t: Tensor) -> Past:
    """What the model, in evaluation, looks at when it is asked about ``nodes`` at times ``t``; newest first.

    The age is t - event where Δ is measured from the query, else the neighbour's last update - event.
    """
    events = model.recent.of(nodes)
    order = torch.argsort(events, dim=1, descending=True, stable=True)  # an absent one has number -1
    events = events.gather(1, order)
    mask = events >= 0
    events = events.clamp(min=0)
    own = nodes[:, None]
    others = torch.where(mask, model.log.other_end(events, own), own)
    happened = model.log.t[events]
    memory = model.memory.memory
    place = torch.arange(others.numel()).view_as(others)
    hood = Neighborhood(memory[nodes], memory[others.flatten()], place, mask, events, happened)
    now = t[:, None] if model.config.delta == "query" else model.memory.last_update[others]
    age = torch.where(mask, now - happened, 0)
    return Past(others, hood, age, age)


@torch.no_grad()
def attend(model: TGN, past: Past, *, kernel: bool = True) -> tuple[Tensor, Attention]:
    """Embeddings (n, d) and attention (n, K, H) under the ages and the mask of ``past``.

    ``kernel=False`` asks the same weights with ψ = 1.
    """
    hood = past.hood
    psi = model.kernel(past.psi_age) if kernel else None
    features = NeighborFeatures(
        x=hood.x,
        index=hood.index,
        time=model.time_encoder(past.phi_age),
        mask=hood.mask,
        psi=psi,
        message=model.log.features,
        event=hood.event,
    )
    return model.attention.explain(hood.seeds, features)


@torch.no_grad()
def score(model: TGN, source: Tensor, destination: Tensor) -> Tensor:
    """Logits (n,) of embeddings (n or 1, d)."""
    predictor = model.predictor
    return predictor.own(predictor.lin_src(source), predictor.lin_dst(destination)[:, None])[:, 0]


def all_at(past: Past, ages: Tensor, *, recompute_phi: bool = False) -> Past:
    """One node's past with *all* events given the same age, for each of G ages: G rows.

    With φ frozen this is the sweep of the paper's figure. It cannot show whether a model tells old from new,
    since no two events ever differ in age.
    """
    rows = past.repeated(len(ages))
    return rows.at_ages(ages[:, None].expand_as(rows.psi_age), recompute_phi=recompute_phi)


def each_at(past: Past, ages: Tensor, *, recompute_phi: bool = True) -> Past:
    """One node's past with *one* event given another age, the others as they were, for each of K events and G
    ages: K·G rows, event by event. With φ recomputed it is exactly what the model would have done."""
    slots = past.psi_age.shape[1]
    rows = past.repeated(slots * len(ages))
    which = torch.arange(slots).repeat_interleave(len(ages))[:, None] == torch.arange(slots)
    changed = torch.where(which, ages.repeat(slots)[:, None], rows.psi_age)
    return rows.at_ages(changed, recompute_phi=recompute_phi)


def each_older(past: Past, shift: int) -> Past:
    """One node's past with one event ``shift`` older, for each of its K events: K rows."""
    slots = past.psi_age.shape[1]
    rows = past.repeated(slots)
    older = rows.psi_age + shift * torch.eye(slots, dtype=torch.int64)
    return rows.at_ages(older, recompute_phi=True)


def each_missing(past: Past) -> Past:
    """One node's past without one event, for each of its K events: K rows."""
    slots = past.psi_age.shape[1]
    return past.repeated(slots).keeping(~torch.eye(slots, dtype=torch.bool))
