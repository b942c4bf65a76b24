"""GraphMixer and KEAT-GraphMixer: an MLP-Mixer over a node's last events; no attention and no memory."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.clock import PLAIN, Clock
from keat.errors import InputError
from keat.models.node_time import Nodes, NodeTimeModel
from keat.models.settings import LARGEST, Help, check_model, check_range, setting
from keat.ops import Integers, Precision, dropout
from keat.state import as_tensor

NODES_AT_ONCE = 1 << 8  # in evaluation: the widest layer then has some 20 MiB


@dataclass(frozen=True, slots=True)
class GraphMixerConfig:
    """Sizes are those of DyGLib on wikipedia. Δ is measured from the query, for φ and ψ alike."""

    kernel: str = setting("identity", Help.KERNEL)
    width: float = setting(1.0, Help.WIDTH)
    clock: str = setting("s", Help.CLOCK)
    time_encoder: str = setting("fixed", Help.TIME_ENCODER)
    precision: Precision = setting("exact", Help.PRECISION)
    layers: int = setting(2, "Layers of the mixer.")
    neighbors: int = setting(30, "Last events of a node that become tokens.")
    node_neighbors: int = setting(2000, "Last events whose nodes' features are averaged.")
    token_expansion: float = setting(0.5, "Hidden units of the network over tokens, for each token.")
    channel_expansion: float = setting(4.0, "Hidden units of the network over channels, for each channel.")
    dropout: float = setting(0.5, Help.DROPOUT)
    time_dim: int = setting(100, Help.TIME_DIM)
    channels: int = setting(172, "Size of a token.")
    node_dim: int = setting(0, Help.NODE_DIM)
    out_dim: int = setting(172, Help.OUT_DIM)

    def __post_init__(self) -> None:
        check_model(self, "layers", "neighbors", "node_neighbors", "time_dim", "channels", "out_dim")
        check_range(self, 0, LARGEST, "token_expansion", "channel_expansion", open_below=True)
        mixed = ((self.token_expansion, self.neighbors), (self.channel_expansion, self.channels))
        for expansion, dim in mixed:
            if int(expansion * dim) < 1:
                raise InputError(f"An expansion by {expansion} leaves nothing of {dim}; choose a larger one.")


class GraphMixer(NodeTimeModel):
    """Of the last K events of node i before t, oldest first, with messages e_k and ages Δ_k:

        a_k    = ψ(Δ_k) · [φ(Δ_k) ‖ e_k]                                     ψ is KEAT; in GraphMixer it is 1
        X      = mixer(… mixer([W_p a_k + b_p]_k))                           (K, channels), see `MixerBlock`
        z_i(t) = W [mean_k X_k ‖ x_i + mean of the last neighbours' x_j] + b
        logit(u, v, t) = merge(z_u(t), z_v(t))

    Where there are fewer events, the first tokens are padding, b_p alone: as ψ goes to 0, an event turns into
    padding.
    """

    name = "graphmixer"

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: GraphMixerConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__(num_nodes, feature_dim, sigma, config, clock)
        self.config = config
        self.projection = nn.Linear(config.time_dim + feature_dim, config.channels)
        self.mixers = nn.ModuleList(MixerBlock(config) for _ in range(config.layers))
        self.output = nn.Linear(config.channels + self.node_features.width, config.out_dim)

    def embed(self, nodes: Nodes, t: Integers) -> Tensor:
        at_once = max(len(nodes), 1) if self.training else NODES_AT_ONCE
        pieces = (slice(first, first + at_once) for first in range(0, max(len(nodes), 1), at_once))
        return torch.cat([self._embed(nodes[part], t[part]) for part in pieces])

    def _embed(self, nodes: Nodes, t: Integers) -> Tensor:
        tokens = self.projection(self._evidence(nodes, t))  # (n, K, channels)
        *mixers, last = self.mixers
        for mixer in mixers:
            tokens = mixer(tokens)
        assert isinstance(last, MixerBlock)
        z: Tensor = self.output(torch.cat((last.mean(tokens), self._node_encoding(nodes, t)), dim=1))
        return z

    def _evidence(self, nodes: Nodes, t: Integers) -> Tensor:
        """ψ [φ ‖ message] of the last K events, (n, K, T + R); zero where there is none."""
        slots = self.state.slots(self.state.before(nodes, t, self.config.neighbors))  # (n, K) each
        since = torch.where(slots.mask, as_tensor(t, self.device)[:, None] - slots.happened, 0)
        age = self.clock.ages(since)
        message = self.state.messages.index_select(0, slots.event.flatten()).view(*age.shape, -1)
        evidence = torch.cat((self.time_encoder(age), message), dim=2)  # (n, K, T + R) [φ ‖ e]
        psi: Tensor = self.kernel(age) * slots.mask[..., None]  # (n, K, 1) ψ, or 0
        return psi * evidence  # this multiplication is KEAT

    def _node_encoding(self, nodes: Nodes, t: Integers) -> Tensor:
        """x_i + mean x_j over the last events; without node features it is zero and costs nothing."""
        own = self.node_features.of(as_tensor(nodes, self.device).long())
        if not self.node_features.used:
            return own
        entries = self.state.before(nodes, t, self.config.node_neighbors)
        mask = entries >= 0
        others = as_tensor(self.state.other_end(entries[mask]), self.device)
        count = as_tensor(mask.sum(axis=1), self.device)
        mean = functional.embedding_bag(
            self.node_features.rows(others), self.node_features.table, count.cumsum(0) - count, mode="mean"
        )
        return own + mean


class MixerBlock(nn.Module):
    """x + FFN(LN xᵀ)ᵀ over tokens, then x + FFN(LN x) over channels."""

    def __init__(self, config: GraphMixerConfig) -> None:
        super().__init__()
        self.token_norm = nn.LayerNorm(config.neighbors)
        self.token_mlp = MixerMLP(config.neighbors, config.token_expansion, config.dropout)
        self.channel_norm = nn.LayerNorm(config.channels)
        self.channel_mlp = MixerMLP(config.channels, config.channel_expansion, config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(n, K, channels) → the same"""
        x = self._mix_tokens(x)
        mixed: Tensor = x + self.channel_mlp(self.channel_norm(x))
        return mixed

    def mean(self, x: Tensor) -> Tensor:
        """The mean of `forward` over tokens, (n, channels). Where nothing is dropped between the last linear
        layer and the mean, they change places: one row instead of K is multiplied."""
        if self.training:
            return self.forward(x).mean(dim=1)
        x = self._mix_tokens(x)
        hidden = self.channel_mlp.hidden(self.channel_norm(x))
        mean: Tensor = x.mean(dim=1) + self.channel_mlp.linear2(hidden.mean(dim=1))
        return mean

    def _mix_tokens(self, x: Tensor) -> Tensor:
        mixed: Tensor = self.token_mlp(self.token_norm(x.transpose(1, 2)))
        return x + mixed.transpose(1, 2)


class MixerMLP(nn.Module):
    """drop(W₂ drop(GELU(W₁ x + b₁)) + b₂), over the last axis."""

    def __init__(self, dim: int, expansion: float, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.linear1 = nn.Linear(dim, int(expansion * dim))
        self.linear2 = nn.Linear(int(expansion * dim), dim)

    def forward(self, x: Tensor) -> Tensor:
        return dropout(self.linear2(self.hidden(x)), self.dropout, self.training)

    def hidden(self, x: Tensor) -> Tensor:
        return dropout(functional.gelu(self.linear1(x)), self.dropout, self.training)
