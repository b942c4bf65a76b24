"""Walks from nodes at times, and where nodes occur in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.clock import Clock
from keat.ops import Integers
from keat.state import EventHistory, as_tensor


@dataclass(frozen=True, slots=True, eq=False)
class Walks:
    """Walks of one step from n roots, K each: a root, then the other end of one of its events."""

    root: Tensor  # (n,)
    other: Tensor  # (n, K) where each walk leads, the real ones first; -1 where there is none
    event: Tensor  # (n, K) by which event; 0 where there is none
    age: Tensor  # (n, K) of the event, by the clock; 0 where there is none
    weight: Tensor  # (n, K) probability of the walk; all of a root that has a past sum to 1

    @property
    def nodes(self) -> Tensor:
        """(n, 1 + K) of the root and of each walk."""
        return torch.cat((self.root[:, None], self.other), dim=1)

    @property
    def count(self) -> Tensor:
        """How many walks there are of each root, (n,)."""
        return (self.other >= 0).sum(dim=1)


def walks_by(
    history: EventHistory,
    roots: npt.NDArray[np.integer],
    t: Integers,
    entries: Integers,
    clock: Clock,
    alpha: float | None,
) -> Walks:
    """Walks by entries (n, K) of the history, the real ones last, from roots at times (n,). They have weights
    in proportion to exp(-α age), or, without α, equal ones."""
    device = history.messages.device
    slots = history.slots(entries[:, ::-1].copy())  # (n, K) each
    age = clock.ages(torch.where(slots.mask, as_tensor(t, device)[:, None] - slots.happened, 0))
    level = -(alpha or 0.0) * age.double()
    weight = torch.softmax(level.masked_fill(~slots.mask, -torch.inf), dim=1).nan_to_num(0.0)
    return Walks(
        root=as_tensor(roots, device).long(),
        other=torch.where(slots.mask, slots.other, -1),
        event=torch.where(slots.mask, slots.event, 0),
        age=age,
        weight=weight.to(history.messages.dtype),
    )


def occurrences(nodes: Tensor, root: Tensor, other: Tensor, weight: Tensor) -> Tensor:
    """g (n, L, 2) of nodes (n, L) in the walks from roots (n,) to others (n, K) with weights (n, K): whether
    a node is the root, and how likely a walk leads to it; zeros for a node of -1."""
    is_root = (nodes == root[:, None]).to(weight.dtype)
    leads = ((nodes[:, :, None] == other[:, None, :]).to(weight.dtype) @ weight[:, :, None])[..., 0]
    return torch.stack((is_root, leads), dim=2) * (nodes >= 0)[..., None]
