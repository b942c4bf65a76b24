"""TPNet's full encoder: past events of both ends of a pair as tokens that know where their nodes stand."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from keat.clock import Clock
from keat.kernels import create_kernel
from keat.models.graphmixer import GraphMixerConfig, MixerBlock
from keat.models.tpnet.tpnet_config import TPNetConfig
from keat.state import EventHistory, PastSlots
from keat.time_encoding import create_time_encoder


class TokenEncoder(nn.Module):
    """Of the last m events (w, t_w, e) of a before t, where a is u or v:

        token = W₂ ReLU(W₁ [x_w ‖ ψ(Δ) φ(log(1 + Δ)) ‖ ψ(Δ) e ‖ f_wu ‖ f_wv] + b₁) + b₂,    Δ = t - t_w
        h_a   = mean of mixer(… mixer(tokens))

    ψ is KEAT; in TPNet it is 1. Where there are fewer events, the tokens are zero.
    """

    def __init__(
        self, pair_dim: int, feature_dim: int, sigma: float, config: TPNetConfig, clock: Clock
    ) -> None:
        super().__init__()
        self.clock = clock
        self.time_encoder = create_time_encoder(config.time_encoder, config.time_dim, config.precision)
        self.kernel = create_kernel(config.kernel, sigma, config.width)
        dim = max(config.node_dim, 1) + config.time_dim + feature_dim + 2 * pair_dim
        self.token = nn.Sequential(
            nn.Linear(dim, 2 * config.channels), nn.ReLU(), nn.Linear(2 * config.channels, config.channels)
        )
        sizes = GraphMixerConfig(
            neighbors=config.neighbors,
            channels=config.channels,
            token_expansion=config.token_expansion,
            channel_expansion=config.channel_expansion,
            dropout=config.dropout,
        )
        self.mixers = nn.ModuleList(MixerBlock(sizes) for _ in range(config.layers))

    def forward(self, past: PastSlots, t: Tensor, pair: Tensor, history: EventHistory) -> Tensor:
        """Last events (n, m) of nodes at times (n,) with their [f_wu ‖ f_wv] (n, m, 2·) → (n, channels)"""
        since = torch.where(past.mask, t[:, None] - past.happened, 0)
        age = self.clock.ages(since)  # (n, m)
        message = history.messages.index_select(0, past.event.flatten()).view(*age.shape, -1)
        evidence = torch.cat((self.time_encoder(torch.log1p(age.double())), message), dim=2)
        psi = self.kernel(age)  # (n, m, 1)
        other = torch.where(past.mask, past.other, 0)
        known = history.node_features.of(other.flatten()).view(*age.shape, -1)
        tokens = self.token(torch.cat((known, psi * evidence, pair), dim=2)) * past.mask[..., None]
        *mixers, last = self.mixers
        for mixer in mixers:
            tokens = mixer(tokens)
        assert isinstance(last, MixerBlock)
        return last.mean(tokens)
