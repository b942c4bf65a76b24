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
from keat.models.nat.pooling import CODES, Pooled, in_common, pool
from keat.models.nat.refresh import SlotRefresh
from keat.models.node_time import Nodes, distinct_moments
from keat.ops import Integers, dropout
from keat.state import NeighborSlots, NodeFeatures, as_tensor, check_state
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
        self.timeless = config.parity and isinstance(self.kernel, Identity)  # asked later, it says the same
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

    def _halves(self, nodes: Nodes, t: Integers) -> Halves:
        held = self.state.held(as_tensor(nodes, self.device).long())
        at = as_tensor(t, self.device)
        memory, rep = self.refresh.refreshed(held, at)
        since = torch.where(held.mask, at[:, None] - held.happened, 0)
        since[:, 0] = 0  # a node does not fade from its own sight
        age = self.clock.ages(since)
        psi: Tensor = self.kernel(age)[..., 0] * (held.key >= 0)  # (n, M)
        psi = torch.cat((torch.ones_like(psi[:, :1]), psi[:, 1:]), dim=1)
        faded = torch.einsum("nm,nmd->nd", psi, rep)
        sums = torch.cat((self._features(held.key, psi), faded), dim=1)
        return Halves(pool(held, self.config.sizes, psi, age), memory, sums)

    def _features(self, key: Tensor, psi: Tensor) -> Tensor:
        """Σ ψ x_w over slots, (n, features); without features of nodes it is zero and costs nothing."""
        table = self.node_features.table
        if not self.node_features.used:
            return psi.new_zeros(len(key), table.shape[1])
        row = torch.where(key >= 0, self.node_features.rows(key), len(table) - 1)
        return functional.embedding_bag(row, table, mode="sum", per_sample_weights=psi.to(table.dtype))

    def _join(self, halves: Halves, left: Tensor, right: Tensor) -> Tensor:
        """Logits (P,) of pairs of moments."""
        pooled, code = halves.pooled, self.code.weight
        on_left = torch.cat((halves.sums, pooled.codes @ code[:CODES]), dim=1)  # (n, ·) Σ over own nodes
        on_right = torch.cat((halves.sums, pooled.codes @ code[::CODES]), dim=1)
        pair, shared = in_common(pooled, self.config.sizes, left, right, code)  # (V,), (V, code)
        if self.training and self.config.dropout:
            of_pair = (on_left[left] + on_right[right]).to(on_left.dtype)  # (P, ·)
            zeros = of_pair.new_zeros(len(left), of_pair.shape[1] - shared.shape[1])
            of_code = shared.new_zeros(len(left), shared.shape[1]).index_add(0, pair, shared)
            return self._decode_dropping(
                of_pair + torch.cat((zeros, of_code), dim=1), halves.memory[left], halves.memory[right]
            )
        known, memory = self._first_layer()
        of_code = known[:, known.shape[1] - shared.shape[1] :]
        first, second = memory.chunk(2, dim=1)
        u = functional.linear(on_left, known) + functional.linear(halves.memory, first)
        v = functional.linear(on_right, known) + functional.linear(halves.memory, second)
        u = u + functional.linear(self.pooling_bias, self.hidden.weight[:, : self.config.channels])
        hidden = (u + self.hidden.bias)[left] + v[right]
        hidden = hidden.index_add(0, pair, functional.linear(shared, of_code).to(hidden.dtype))
        logits: Tensor = self.output(torch.relu(hidden))[:, 0]
        return logits

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
