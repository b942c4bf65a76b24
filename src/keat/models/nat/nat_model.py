"""NAT and KEAT-NAT as link models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.clock import PLAIN, Clock
from keat.events import EventStream
from keat.kernels import Identity, create_kernel
from keat.models.contract import KeepsEvents, Queries
from keat.models.nat.nat_config import NATConfig
from keat.models.nat.one_list import OneList
from keat.models.nat.pooling import CODES, Pooled, in_common, pool
from keat.models.nat.refresh import SlotRefresh
from keat.models.node_time import Nodes, distinct_moments
from keat.ops import Integers, dropout, relu_dot
from keat.state import HeldSlots, NeighborSlots, NodeFeatures, as_tensor, check_state
from keat.time_encoding import create_time_encoder

PAIRS_AT_ONCE = 1 << 13  # in evaluation: their slots, side by side, have some 20 MiB


@dataclass(frozen=True, slots=True, eq=False)
class Halves:
    """What n moments bring to a pair on either side."""

    pooled: Pooled
    memory: Tensor  # (n, S) s'
    sums: Tensor  # (n, features + d) Σ ψ [x_w ‖ rep'(w)] over slots


class NAT(KeepsEvents):
    """Every node u holds itself, M₁ neighbours and M₂ neighbours of neighbours in slots (`NeighborSlots`). At
    time t, with s' and rep' as `SlotRefresh` says, and a sum over all nodes w that u or v hold:

        y(w)  = [Σ_{slots of w} ψ [x_w ‖ rep'] ‖ E[b_u(w) + 8 b_v(w)]]      ψ also on E, see `pooling`
        pool  = mean over heads of W_h Σ_w y(w) + b
        logit(u, v, t) = w₂ · ReLU(W₁ [pool ‖ s'_u ‖ s'_v] + b₁) + b₂

    ψ is KEAT; in NAT it is 1. All before the ReLU is linear, so a node goes through it once for each side,
    and a pair is a sum of two vectors, corrected where both hold the same node.
    """

    name = "nat"
    cuts_matter = True  # events that are observed together read the slots as they were before
    state: NeighborSlots

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: NATConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__()
        self.config, self.sigma, self.clock = config, sigma, clock
        encoder = create_time_encoder(config.time_encoder, config.time_dim, config.precision)
        self.kernel = create_kernel(config.kernel, sigma, config.width)
        self.ageless = isinstance(self.kernel, Identity)  # slots do not fade
        self.timeless = config.parity and self.ageless  # asked later, it says the same
        self.refresh = SlotRefresh(
            feature_dim, config.memory_dim, config.slot_dim, encoder, clock, config.parity
        )
        self.state = NeighborSlots(
            num_nodes, feature_dim, config.sizes, config.slot_dim, config.memory_dim, self.refresh
        )
        self.node_features = NodeFeatures(config.node_dim)
        self.code = nn.Embedding(CODES * CODES, config.code_dim)
        known = self.node_features.width + config.slot_dim + config.code_dim
        self.pooling = nn.Linear(known, config.heads * config.channels, bias=False)
        self.pooling_bias = nn.Parameter(torch.zeros(config.channels))
        hidden = config.channels + 2 * config.memory_dim
        self.hidden, self.output = nn.Linear(hidden, hidden), nn.Linear(hidden, 1)
        for layer in (self.pooling, self.hidden, self.output):
            nn.init.xavier_normal_(layer.weight)

    # -- state ---------------------------------------------------------------------------------------

    def observe(self, events: EventStream) -> None:
        self.node_features.learn(events)
        super().observe(events)

    def reset(self) -> None:
        super().reset()
        self.node_features.clear()

    def stream_state(self) -> dict[str, Tensor]:
        return super().stream_state() | {"node_features": self.node_features.table}

    def load_stream_state(self, state: dict[str, Tensor]) -> None:
        features = {name: value for name, value in state.items() if name == "node_features"}
        check_state(features, {"node_features": self.node_features.expected()})
        super().load_stream_state({name: value for name, value in state.items() if name not in features})
        self.node_features.load(features["node_features"])

    # -- scores --------------------------------------------------------------------------------------

    def score(self, queries: Queries) -> Tensor:
        self.state.make_room_for(queries.src, queries.candidates)
        rows, width = queries.shape
        if self.training:
            return self._score(queries)
        step = max(1, PAIRS_AT_ONCE // max(1, width))
        with torch.no_grad():
            if queries.shared:
                return self._score_list(queries)
            parts = [self._score(queries.rows(first, first + step)) for first in range(0, max(rows, 1), step)]
        return torch.cat(parts)

    def _score(self, queries: Queries) -> Tensor:
        candidates = np.broadcast_to(queries.candidates, queries.shape)
        nodes = np.concatenate((queries.src, candidates.ravel()))
        t = np.concatenate((queries.t, queries.t.repeat(queries.shape[1])))
        if self.timeless:
            t = np.full_like(t, queries.t.max(initial=0))
        first, place = distinct_moments(nodes, t)
        halves = self._halves(nodes[first], t[first])
        row = as_tensor(place, self.device)
        left, right = row[: len(queries.src)].repeat_interleave(queries.shape[1]), row[len(queries.src) :]
        return self._join(halves, left, right).view(queries.shape)

    def _score_list(self, queries: Queries) -> Tensor:
        """One list (C,) for all: each time that is asked about costs a pass over the candidates, and each
        source what it has in common with them."""
        distinct, place = np.unique(queries.candidates, return_inverse=True)
        listed = OneList(self, as_tensor(distinct, self.device).long())
        t = np.full_like(queries.t, queries.t.max(initial=0)) if self.timeless else queries.t
        halves = self._halves(queries.src, t)
        u, _ = self._projected(halves)  # (B, hidden)
        of_code = listed.known[:, -self.config.code_dim :]
        entries = listed.common(halves.pooled)
        last = torch.bincount(entries[0], minlength=len(t)).cumsum(0).tolist()
        logits = u.new_empty(len(t), len(distinct))
        columns, now = None, None
        for row, (when, end) in enumerate(zip(t.tolist(), last, strict=True)):
            if columns is None or when != now:
                columns, now = listed.at(when), when
            mine = slice(last[row - 1] if row else 0, end)
            added = listed.corrections(columns, halves.pooled, *(part[mine] for part in entries))
            hidden = torch.addmm(columns.hidden, of_code, added.T)
            logits[row] = relu_dot(u[row : row + 1], hidden[None], self.output.weight[0])[0]
        return logits.add_(self.output.bias)[:, as_tensor(place, self.device)]

    def _halves(self, nodes: Nodes, t: Integers) -> Halves:
        held = self.state.held(as_tensor(nodes, self.device).long())
        at = as_tensor(t, self.device)
        memory, rep = self.refresh.refreshed(held, at)
        psi, age = self.fading(held, at)
        faded = torch.einsum("nm,nmd->nd", psi, rep)
        sums = torch.cat((self._features(held.key, psi), faded), dim=1)
        return Halves(self.pooled(held, psi, age), memory, sums)

    def fading(self, held: HeldSlots, t: Tensor) -> tuple[Tensor, Tensor]:
        """ψ and ages (n, M) of slots at times (n,)."""
        since = torch.where(held.mask, t[:, None] - held.happened, 0)
        since[:, 0] = 0  # a node does not fade from its own sight
        age = self.clock.ages(since)
        psi: Tensor = self.kernel(age)[..., 0] * (held.key >= 0)
        return torch.cat((torch.ones_like(psi[:, :1]), psi[:, 1:]), dim=1), age

    def pooled(self, held: HeldSlots, psi: Tensor, age: Tensor) -> Pooled:
        return pool(held, self.config.sizes, psi, age)

    def _features(self, key: Tensor, psi: Tensor) -> Tensor:
        """Σ ψ x_w over slots, (n, features); without features of nodes it is zero and costs nothing."""
        table = self.node_features.table
        if not self.node_features.used:
            return psi.new_zeros(len(key), table.shape[1])
        row = torch.where(key >= 0, self.node_features.rows(key), len(table) - 1)
        return functional.embedding_bag(row, table, mode="sum", per_sample_weights=psi.to(table.dtype))

    def _join(self, halves: Halves, left: Tensor, right: Tensor) -> Tensor:
        """Logits (P,) of pairs of moments."""
        pair, shared = in_common(halves.pooled, self.config.sizes, left, right, self.code.weight)
        if self.training and self.config.dropout:
            on_left, on_right = self._own_sums(halves)
            of_pair = (on_left[left] + on_right[right]).to(on_left.dtype)  # (P, ·)
            zeros = of_pair.new_zeros(len(left), of_pair.shape[1] - shared.shape[1])
            of_code = shared.new_zeros(len(left), shared.shape[1]).index_add(0, pair, shared)
            return self._decode_dropping(
                of_pair + torch.cat((zeros, of_code), dim=1), halves.memory[left], halves.memory[right]
            )
        u, v = self._projected(halves)
        of_code = self._first_layer()[0][:, -self.config.code_dim :]
        hidden = u[left] + v[right]
        hidden = hidden.index_add(0, pair, functional.linear(shared, of_code).to(hidden.dtype))
        logits: Tensor = self.output(torch.relu(hidden))[:, 0]
        return logits

    def _own_sums(self, halves: Halves) -> tuple[Tensor, Tensor]:
        """Σ over own nodes (n, ·) on the left and on the right of a pair."""
        codes, table = halves.pooled.codes, self.code.weight
        left, right = (
            torch.cat((halves.sums, codes @ part), dim=1) for part in (table[:CODES], table[::CODES])
        )
        return left, right

    def _projected(self, halves: Halves) -> tuple[Tensor, Tensor]:
        """What moments bring to the hidden units, (n, hidden) each, on the left with the biases."""
        known, memory = self._first_layer()
        u, v = (
            functional.linear(own, known) + functional.linear(halves.memory, part)
            for own, part in zip(self._own_sums(halves), memory.chunk(2, dim=1), strict=True)
        )
        of_bias = functional.linear(self.pooling_bias, self.hidden.weight[:, : self.config.channels])
        return u + of_bias + self.hidden.bias, v

    def _decode_dropping(self, known: Tensor, first: Tensor, second: Tensor) -> Tensor:
        """The same from Σ y(w) (P, ·) and memories (P, S), with what dropout needs side by side."""
        share = self.config.dropout
        heads = dropout(self.pooling(dropout(known, share, True)), share, True)
        pooled = heads.view(len(known), self.config.heads, -1).mean(dim=1) + self.pooling_bias
        hidden = torch.relu(self.hidden(torch.cat((pooled, first, second), dim=1)))
        logits: Tensor = self.output(hidden)[:, 0]
        return logits

    def _first_layer(self) -> tuple[Tensor, Tensor]:
        """The first layer of the decoder as one map of Σ y(w), and one of [s'_u ‖ s'_v]."""
        sizes = [self.config.channels, 2 * self.config.memory_dim]
        of_pool, of_memory = torch.split(self.hidden.weight, sizes, dim=1)
        mean = self.pooling.weight.view(self.config.heads, self.config.channels, -1).mean(dim=0)
        return of_pool @ mean, of_memory
