"""UTG-GCN: two layers of graph convolution over the latest snapshot; nothing is remembered."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from keat.clock import PLAIN, Clock
from keat.models.settings import Help, PairTermName, setting
from keat.models.snapshots.driver import SnapshotModel, View
from keat.models.snapshots.inputs import RandomInputs
from keat.models.snapshots.snapshot_config import FEATURES, PARITY, SnapshotConfig
from keat.models.snapshots.snapshot_decoders import AdditiveDecoder
from keat.models.snapshots.snapshot_memory import Memory


@dataclass(frozen=True, slots=True)
class GCNConfig(SnapshotConfig):
    """Sizes are those of UTG. With ``parity`` the first snapshot stays the latest for ever, as `GCNConv` had
    it by keeping the first adjacency."""

    input_dim: int = setting(256, FEATURES)
    dim: int = setting(128, "Size of both layers.")
    parity: bool = setting(False, PARITY)
    pair_term: PairTermName = setting("none", Help.PAIR_TERM)
    pair_widths: str = setting("geometric", Help.PAIR_WIDTHS)

    def __post_init__(self) -> None:
        self.check("input_dim", "dim")


class GCN(SnapshotModel):
    """With Â = D^-½ (A + I) D^-½ of the latest snapshot, A weighted by ψ, and fixed random x:

        h = ReLU(norm(Â X W₁ + b₁))
        z = Â h W₂ + b₂
        logit(u, v) = w · ReLU(W_src z_u + W_dst z_v + b) + c

    ``norm`` is batch normalisation over the nodes seen so far, in training and in evaluation alike: the
    statistics are those of the snapshot, so that no score depends on who else is asked about, and scoring
    changes nothing.
    """

    name = "utg-gcn"

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: GCNConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__(num_nodes, feature_dim, sigma, config, clock, first_only=config.parity)
        self.config, self.embedding_dim = config, config.dim
        self.random = RandomInputs(config.input_dim)
        self.first, self.second = nn.Linear(config.input_dim, config.dim), nn.Linear(config.dim, config.dim)
        self.norm = nn.BatchNorm1d(config.dim, track_running_stats=False)
        self.decoder = AdditiveDecoder(config.dim)

    def inputs(self, nodes: Tensor) -> Tensor:
        return self.random(nodes, len(self.state.seen))  # type: ignore[no-any-return]

    def step(self, view: View, asked: Tensor | None) -> tuple[Tensor, Memory]:
        weight, bias = self.first.weight, self.first.bias
        hidden = torch.relu(self._normalized(view.graph.with_loops(view.x @ weight.T) + bias, view.seen))
        z: Tensor = self.second(view.graph.with_loops(hidden, asked))  # (n, d)
        return z, {}

    def _normalized(self, h: Tensor, seen: Tensor) -> Tensor:
        """By mean and variance of the rows of nodes that were seen, (m, d); as it is before there are any."""
        share = seen.to(h.dtype) / seen.sum().clamp(min=1)  # (m,)
        mean = share @ h
        variance = share @ (h - mean).square() + (1 - share.sum())  # 1 where nobody was seen
        return (h - mean) * (variance + self.norm.eps).rsqrt() * self.norm.weight + self.norm.bias

    @property
    def last_layer(self) -> nn.Linear:
        assert isinstance(self.decoder, AdditiveDecoder)
        return self.decoder.predictor.lin_final
