"""What TGN's attention would have been: other ages, or without some of the past events.

Every answer comes from the model's own layers, asked with other ages or with a smaller mask. Two things stay
as they were: memory, the state of the nodes, in which a past event also left a trace; and which events are
looked at, though an event moved far enough back would have made way for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.attention import Attention, LastEvents, NeighborFeatures
from keat.models.tgn import TGN

Grid = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """The last K events of n nodes as the model sees them, with two ages: the one given to the kernel ψ and
    the one given to the time encoding φ, which in the model are the same."""

    node: Tensor  # (n, K) at the other end of each event
    seeds: Tensor  # (n, d) memory of the nodes
    hood: LastEvents  # with the memory of these nodes as it is now: later events do not change it
    psi_age: Tensor  # (n, K) int64, in the unit of the stream's times
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
        hood = {
            name: getattr(self.hood, name).repeat_interleave(times, dim=0)
            for name in ("row", "mask", "event", "age")
        }
        own = {
            name: getattr(self, name).repeat_interleave(times, dim=0)
            for name in ("node", "seeds", "psi_age", "phi_age")
        }
        return Past(**own, hood=replace(self.hood, **hood))


def past_of(model: TGN, nodes: Tensor, t: Tensor) -> Past:
    """What the model, in evaluation, looks at when it is asked about ``nodes`` at times ``t``; newest first.

    The age is t - event where Δ is measured from the query, else the neighbour's last update - event.
    """
    state = model.state
    slots = state.slots_newest_first(nodes)
    now = t[:, None] if model.config.delta == "query" else state.last_update[slots.other]
    age = torch.where(slots.mask, now - slots.happened, 0)
    x, row = state.memory[slots.other.flatten()], torch.arange(slots.other.numel()).view_as(slots.other)
    hood = LastEvents(x, row, slots.mask, slots.event, age, state.messages)
    return Past(slots.other, state.memory[nodes], hood, age, age)


@torch.no_grad()
def attend(model: TGN, past: Past, *, kernel: bool = True) -> tuple[Tensor, Attention]:
    """Embeddings (n, d) and attention (n, K, H) under the ages and the mask of ``past``.

    ``kernel=False`` asks the same weights with ψ = 1.
    """
    hood = past.hood
    psi = model.kernel(model.clock.ages(past.psi_age)) if kernel else None
    features = NeighborFeatures(
        x=hood.x,
        index=hood.row,
        time=model.time_encoder(model.clock.ages(past.phi_age)),
        mask=hood.mask,
        psi=psi,
        message=hood.message,
        event=hood.event,
    )
    return model.attention.explain(past.seeds, features)


@torch.no_grad()
def score(model: TGN, source: Tensor, destination: Tensor) -> Tensor:
    """Logits (n,) of embeddings (n or 1, d)."""
    predictor = model.predictor
    return predictor.own(predictor.lin_src(source), predictor.lin_dst(destination)[:, None])[:, 0]


def all_at(past: Past, ages: Tensor, *, recompute_phi: bool = False, event_of: Past | None = None) -> Past:
    """One node's past with *all* events given the same age, for each of G ages: G rows. All are its own, or
    those that are also events of the other end of a pair.

    With φ frozen this is the sweep of the paper's figure. It cannot show whether a model tells old from new,
    since no two events ever differ in age.
    """
    which = same_events(event_of or past, past).any(dim=0)
    rows = past.repeated(len(ages))
    return rows.at_ages(torch.where(which, ages[:, None], rows.psi_age), recompute_phi=recompute_phi)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Attention (n, G) of one node to its past events over a shared age: with ψ = 1, and with the kernel."""

    name: str
    plain: Grid
    modulated: Grid


def attention_over_age(model: TGN, past: Past, ages: Sequence[int], *, kernel: bool = True) -> Grid:
    """Attention (n, G) of one node to its n past events, all given the same of G ages, with φ frozen; mean
    over heads."""
    alpha = attend(model, all_at(past, torch.tensor(list(ages))), kernel=kernel)[1].alpha.mean(dim=2)
    return np.asarray(alpha.T[: int(past.mask.sum())].numpy(), dtype=np.float64)


def each_at(past: Past, ages: Tensor, *, recompute_phi: bool = True, event_of: Past | None = None) -> Past:
    """A node's past with *one* event given another age, the others as they were, for each of K events and G
    ages: K·G rows, event by event. The age is Δ, in the model's own clock.

    The events are its own, or those of the other end of a pair: an event between the two is in both pasts,
    and has another age in both.
    """
    which = same_events(event_of or past, past).repeat_interleave(len(ages), dim=0)
    rows = past.repeated(len(which))
    changed = torch.where(which, ages.repeat(len(which) // len(ages))[:, None], rows.psi_age)
    return rows.at_ages(changed, recompute_phi=recompute_phi)


def each_older(model: TGN, past: Past, shift: int, *, event_of: Past | None = None) -> Past:
    """A node's past had one event happened ``shift`` earlier, for each of its K events, or of those of the
    other end of a pair: K rows.

    Where Δ is measured from a neighbour's last update and the event was that update, the neighbour's clock
    goes back too: to the event's new time, or to the update before. Which events are looked at stays.
    """
    events = event_of or past
    which = same_events(events, past)
    rows = past.repeated(len(which))
    older = rows.psi_age + shift * which
    if model.config.delta == "neighbor":
        older = older - torch.where(past.mask, _clocks_back(model, events, past, shift), 0)
    return rows.at_ages(older, recompute_phi=True)


def each_missing(past: Past, *, event_of: Past | None = None) -> Past:
    """A node's past with one event masked, for each of its K events, or of those of the other end of a pair:
    K rows. All ages stay as they were."""
    which = same_events(event_of or past, past)
    return past.repeated(len(which)).keeping(~which)


def same_events(past: Past, other: Past) -> Tensor:
    """(K, K') whether a slot of ``other`` is the event of a slot of ``past``; they have one row each."""
    same = past.hood.event[0, :, None] == other.hood.event[0]
    return same & past.mask[0, :, None] & other.mask[0]


def _clocks_back(model: TGN, events: Past, past: Past, shift: int) -> Tensor:
    """(K, K') how much earlier the last update of each neighbour in ``past`` would be, had an event of
    ``events`` happened ``shift`` earlier."""
    state = model.state
    back = torch.zeros(events.mask.shape[1], past.mask.shape[1], dtype=torch.int64)
    for k in torch.nonzero(events.mask[0])[:, 0].tolist():
        event = int(events.hood.event[0, k])
        src, dst, happened = state.event(event)
        for node in {src, dst}:
            if happened < state.last_update[node]:
                continue
            known = state.slots(torch.tensor([node]))
            # The update before is among the last K events.
            before = known.happened[known.mask & (known.event != event)]
            gap = int(state.last_update[node] - before.max()) if len(before) else shift
            back[k, past.node[0] == node] = min(gap, shift)
    return back
