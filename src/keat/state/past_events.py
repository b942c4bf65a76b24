"""The last events of some nodes, in the forms that states give them in."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class PastSlots:
    """The last K events of n nodes, in K slots for each."""

    mask: Tensor  # (n, K) whether there is an event; where not, the other entries may be any that exist
    other: Tensor  # (n, K) the node at its other end
    event: Tensor  # (n, K) its number
    happened: Tensor  # (n, K) its time


@dataclass(frozen=True, slots=True, eq=False)
class PastEvents:
    """The last events of n nodes one after the other, V in all, with the memories that TGN reads there."""

    seeds: Tensor  # (n, d) memory of the nodes
    x: Tensor  # (M, d) memory of all nodes their events lead to
    last_update: Tensor  # (M,) of these
    first: Tensor  # (n + 1,) where those of each node begin
    row: Tensor  # (V,) row of x: the node at the other end
    event: Tensor  # (V,) number of the event
    happened: Tensor  # (V,) its time


@dataclass(frozen=True, slots=True, eq=False)
class PastNodes:
    """The last events of n nodes one after the other, V in all, with the nodes at their other ends."""

    first: Tensor  # (n + 1,) where those of each node begin
    other: Tensor  # (V,) the node at the other end
    event: Tensor  # (V,) number of the event
    happened: Tensor  # (V,) its time
