"""TCL and KEAT-TCL as link models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.clock import PLAIN, Clock
from keat.kernels import create_kernel
from keat.models.contract import KeepsEvents, Queries, ReadsByTime
from keat.models.decoders import MergeLayer
from keat.models.node_time import Nodes, distinct_moments
from keat.models.settings import Help, check_divides, check_model, setting
from keat.models.tcl.towers import TwoTowers
from keat.ops import Integers, Precision
from keat.state import EventHistory, as_tensor
from keat.time_encoding import create_time_encoder

PAIRS_AT_ONCE = 1 << 10  # in evaluation: the tokens of their ends have some 100 MiB


@dataclass(frozen=True, slots=True)
class TCLConfig:
    """Sizes are those of DyGLib. Δ is measured from the query, for φ and ψ alike."""

    kernel: str = setting("identity", Help.KERNEL)
    width: float = setting(1.0, Help.WIDTH)
    clock: str = setting("s", Help.CLOCK)
    time_encoder: str = setting("cosine-geometric", Help.TIME_ENCODER)
    precision: Precision = setting("exact", Help.PRECISION)
    layers: int = setting(2, "Layers of the Transformer.")
    neighbors: int = setting(20, "Last events of a node that become tokens.")
    heads: int = setting(2, Help.HEADS)
    dropout: float = setting(0.1, Help.DROPOUT)
    time_dim: int = setting(100, Help.TIME_DIM)
    channels: int = setting(172, "Size of a token.")
    node_dim: int = setting(0, Help.NODE_DIM)
    out_dim: int = setting(172, Help.OUT_DIM)

    def __post_init__(self) -> None:
        check_model(self, "layers", "neighbors", "heads", "time_dim", "channels", "out_dim")
        check_divides(self.heads, self.channels, "a token")


class TCL(KeepsEvents, ReadsByTime):
    """The tokens of node a at time t are a itself (no message, age 0) and its last K events before t, with
    the other end w_k, the message e_k and the age Δ_k:

        h_0 = W_n x_a + b_n + b_e + W_t φ(0) + b_t + D_0
        h_k = W_n x_{w_k} + b_n + W_e (ψ(Δ_k) e_k) + b_e + W_t (ψ(Δ_k) φ(Δ_k)) + b_t + D_k
        z_u, z_v = W_o (first tokens of the two towers over both) + b_o         see `TwoTowers`
        logit(u, v, t) = merge(z_u, z_v)

    ψ is KEAT; in TCL it is 1. D_k is learned, one row for each place: D_K is the newest event's. As ψ goes to
    0, of an event there stays who it was with.
    """

    name = "tcl"
    state: EventHistory

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: TCLConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__()
        self.config, self.sigma, self.clock, self.feature_dim = config, sigma, clock, feature_dim
        self.state = EventHistory(num_nodes, feature_dim, config.node_dim)
        self.time_encoder = create_time_encoder(config.time_encoder, config.time_dim, config.precision)
        self.kernel = create_kernel(config.kernel, sigma, config.width)
        self.node = nn.Linear(self.state.node_features.width, config.channels)
        self.edge = nn.Linear(max(feature_dim, 1), config.channels)  # without features: one zero
        self.time = nn.Linear(config.time_dim, config.channels)
        self.depth = nn.Embedding(config.neighbors + 1, config.channels)
        self.towers = TwoTowers(config.channels, config.layers, config.heads, config.dropout)
        self.output = nn.Linear(config.channels, config.out_dim)
        self.decoder = MergeLayer(config.out_dim, config.out_dim, config.out_dim, 1)

    # -- scores --------------------------------------------------------------------------------------

    def score(self, queries: Queries) -> Tensor:
        src = queries.src.repeat(queries.shape[1])
        t = queries.t.repeat(queries.shape[1])
        dst = np.broadcast_to(queries.candidates, queries.shape).ravel()
        if self.training:
            return self._logits(src, dst, t).view(queries.shape)
        logits = [self.output.weight.new_empty(0)]
        with torch.no_grad():
            for start in range(0, len(t), PAIRS_AT_ONCE):
                part = slice(start, start + PAIRS_AT_ONCE)
                logits.append(self._logits(src[part], dst[part], t[part]))
        return torch.cat(logits).view(queries.shape)

    def _logits(self, src: Nodes, dst: Nodes, t: Integers) -> Tensor:
        logits: Tensor = self.decoder(*self.embed_pairs(src, dst, t))
        return logits[:, 0]

    def embed_pairs(self, src: Nodes, dst: Nodes, t: Integers) -> tuple[Tensor, Tensor]:
        """z_u and z_v, (N, out) each, of pairs (src[i], dst[i]) at t[i]; each distinct pair is made once."""
        nodes, times = np.concatenate((src, dst)), np.concatenate((t, t))
        first, place = distinct_moments(nodes, times)
        entries = self.state.before(nodes[first], times[first], self.config.neighbors)
        place = self._same_tokens(entries)[place]
        left, right = place[: len(t)], place[len(t) :]
        pairs, which = np.unique(left * len(first) + right, return_inverse=True)
        h, mask = self._tokens(nodes[first], times[first], entries)
        ends = (as_tensor(part, self.device) for part in np.divmod(pairs, max(len(first), 1)))
        z = self.output(self.towers(h, mask, *ends)).index_select(0, as_tensor(which, self.device))
        return z[:, 0], z[:, 1]

    def _same_tokens(self, entries: Integers) -> Integers:
        """For each moment the first that has the same tokens: nodes without events and without features
        cannot be told apart, and there may be many."""
        same = np.arange(len(entries))
        empty = entries[:, -1] < 0
        if not self.state.node_features.used and empty.any():
            same[empty] = np.argmax(empty)
        return same

    def _tokens(self, nodes: Nodes, t: Integers, entries: Integers) -> tuple[Tensor, Tensor]:
        """Tokens (n, 1 + K, channels) of moments, the node, then its events from the newest to the oldest,
        then padding; and which are there, (n, 1 + K)."""
        slots = self.state.slots(np.ascontiguousarray(entries[:, ::-1]))  # (n, K) each
        own = as_tensor(nodes, self.device).long()[:, None]
        there = torch.cat((torch.ones_like(own, dtype=torch.bool), slots.mask), dim=1)  # (n, 1 + K)
        happened = torch.where(slots.mask, slots.happened, as_tensor(t, self.device)[:, None])
        since = as_tensor(t, self.device)[:, None] - torch.cat((happened[:, :1], happened), dim=1)
        since[:, 0] = 0  # the node itself
        age = self.clock.ages(since)
        psi: Tensor = self.kernel(age)  # (n, 1 + K, 1)
        psi = torch.cat((torch.ones_like(psi[:, :1]), psi[:, 1:]), dim=1)  # the node itself is no event
        other = torch.where(slots.mask, slots.other, own)
        x = self.node(self._features(torch.cat((own, other), dim=1)))
        x = x + self.time(psi * self.time_encoder(age)) + self.edge.bias
        if self.feature_dim:
            message = self.state.messages.index_select(0, slots.event.flatten()).view(*slots.event.shape, -1)
            known = functional.linear(psi[:, 1:] * message, self.edge.weight)  # (n, K, channels)
            x = x + functional.pad(known, (0, 0, 1, 0))
        place = torch.arange(x.shape[1], device=x.device)
        depth = self.depth(torch.where(place == 0, 0, x.shape[1] - place))  # the newest event is at the end
        return x + depth, there

    def _features(self, nodes: Tensor) -> Tensor:
        return self.state.node_features.of(nodes.flatten()).view(*nodes.shape, -1)
