"""One list of candidates, asked about at several times: what does not depend on the time is made once.

Of what a candidate brings to a pair, the ages of its events alone depend on when it is asked about: the
gates of both GRUs are a sum of which φ is one term. What it has in common with a source is found through an
index of the nodes that candidates hold, so a source costs as much as there is in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.models.nat.pooling import CODES, Pooled, corrections

if TYPE_CHECKING:
    from keat.models.nat.nat_model import NAT


class TimedGRU:
    """A GRU of n inputs, each W [known ‖ φ], of which φ alone changes."""

    def __init__(self, cell: nn.GRUCell, known: Tensor, of_time: Tensor, before: Tensor) -> None:
        """W known (n, d), the part (d, T) of W for φ, and hidden states (n, d) before."""
        into = functional.linear(known, cell.weight_ih, cell.bias_ih)  # (n, 3d)
        again = functional.linear(before, cell.weight_hh, cell.bias_hh)
        gated = 2 * before.shape[1]
        self.before, self.again = before, again[:, gated:].contiguous()
        self.gates = torch.cat((into[:, :gated] + again[:, :gated], into[:, gated:]), dim=1)
        self.of_time = (cell.weight_ih @ of_time).T

    def at(self, time: Tensor) -> Tensor:
        """Hidden states (n, d) after φ (n, T)."""
        gates = torch.addmm(self.gates, time, self.of_time)
        reset, keep, new = gates.chunk(3, dim=1)
        new = torch.tanh(new + torch.sigmoid(reset) * self.again)
        return new + torch.sigmoid(keep) * (self.before - new)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """What n candidates bring to the hidden units at a time."""

    pooled: Pooled
    hidden: Tensor  # (hidden, n)


class OneList:
    """Distinct candidates (n,) of a model in evaluation."""

    def __init__(self, model: NAT, nodes: Tensor) -> None:
        self.model, self.held = model, model.state.held(nodes)
        held, mask = self.held, self.held.mask
        self.slots, self.memories = model.refresh.timed(held)
        self.happened, self.last = held.happened[mask], held.happened[:, 0][mask[:, 0]]
        self.offsets = mask.sum(dim=1).cumsum(0) - mask.sum(dim=1)
        self.order = torch.arange(len(self.happened), device=nodes.device)
        self.known, memory = model._first_layer()
        self.of_memory = memory.chunk(2, dim=1)[1]
        self._fixed = self._pooled(0) if model.ageless else None
        pooled = self._fixed[0] if self._fixed is not None else self._pooled(0)[0]
        key, (moment, slot) = pooled.key[pooled.first], pooled.first.nonzero().unbind(1)
        self.keys, order = key.sort(stable=True)
        self.moment, self.slot = moment[order], slot[order]

    def _pooled(self, t: int) -> tuple[Pooled, Tensor, Tensor]:
        """Which nodes are held how firmly at a time, ψ of slots with an event (V,), and Σ ψ x_w."""
        psi, age = self.model.fading(self.held, torch.full_like(self.held.node, t))
        pooled = self.model.pooled(self.held, psi, age)
        return pooled, psi[self.held.mask], self.model._features(self.held.key, psi)

    def at(self, t: int) -> Columns:
        model, held = self.model, self.held
        pooled, psi, features = self._pooled(t) if self._fixed is None else self._fixed
        rep = self.slots.at(model.refresh.encoded(self.happened, t))  # (V, d)
        faded = functional.embedding_bag(
            self.order, rep, self.offsets, mode="sum", per_sample_weights=psi.to(rep.dtype)
        )
        memory = held.memory[held.node]
        memory[held.mask[:, 0]] = self.memories.at(model.refresh.encoded(self.last, t))
        own = torch.cat((features, faded, pooled.codes @ model.code.weight[::CODES]), dim=1)
        return Columns(pooled, torch.addmm(self.known @ own.T, self.of_memory, memory.T))

    def common(self, sources: Pooled) -> tuple[Tensor, Tensor, Tensor]:
        """Places in the index where sources hold the same node: (E,) each, in the order of sources, of the
        source, its slot, and the place."""
        source, slot = sources.first.nonzero().unbind(1)
        key = sources.key[source, slot]
        first = torch.searchsorted(self.keys, key)
        count = torch.searchsorted(self.keys, key, right=True) - first
        entry = torch.repeat_interleave(torch.arange(len(key), device=key.device), count)
        within = torch.arange(len(entry), device=key.device) - (count.cumsum(0) - count)[entry]
        return source[entry], slot[entry], first[entry] + within

    def corrections(
        self, columns: Columns, sources: Pooled, source: Tensor, slot: Tensor, place: Tensor
    ) -> Tensor:
        """What is added for nodes that a source and candidates hold both, (n, code)."""
        there = self.moment[place], self.slot[place]
        table = self.model.code.weight
        total = corrections(sources, (source, slot), columns.pooled, there, table)
        return table.new_zeros(len(self.held.node), table.shape[1]).index_add_(0, there[0], total)
