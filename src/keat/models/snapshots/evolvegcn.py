"""UTG-EvolveGCN-O: one layer of graph convolution whose weight changes with every snapshot."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from keat.clock import PLAIN, Clock
from keat.models.settings import Help, PairTermName, setting
from keat.models.snapshots.driver import SnapshotModel, View
from keat.models.snapshots.inputs import RandomInputs
from keat.models.snapshots.snapshot_config import FEATURES, PARITY, SnapshotConfig
from keat.models.snapshots.snapshot_decoders import ProductDecoder
from keat.models.snapshots.snapshot_memory import Memory


@dataclass(frozen=True, slots=True)
class EvolveGCNConfig(SnapshotConfig):
    """Sizes are those of UTG. With ``parity`` the weight is not carried on: it is one step away from the
    first for ever."""

    dropout: float = setting(0.2, Help.DROPOUT)
    input_dim: int = setting(256, FEATURES)
    dim: int = setting(256, "Size of an embedding.")
    parity: bool = setting(False, PARITY)
    pair_term: PairTermName = setting("none", Help.PAIR_TERM)
    pair_widths: str = setting("geometric", Help.PAIR_WIDTHS)

    def __post_init__(self) -> None:
        self.check("input_dim", "dim")


class EvolveGCN(SnapshotModel):
    """With Â = D^-½ (A + I) D^-½ of the latest snapshot, A weighted by ψ, and fixed random x:

        W ← GRU(W, W)                               a step for each snapshot, the rows of W as a batch
        z = W_z ReLU(Â X W) + b_z
        logit(u, v) = w · ReLU(V (z_u ⊙ z_v) + b) + c

    The memory is W alone. It is learned where it starts, and as long as that is what a step starts from, the
    gradient reaches it.
    """

    name = "utg-evolvegcn"

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: EvolveGCNConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__(num_nodes, feature_dim, sigma, config, clock)
        self.config, self.embedding_dim = config, config.dim
        self.random = RandomInputs(config.input_dim)
        self.start = nn.Parameter(torch.empty(config.input_dim, config.input_dim))  # the first W
        nn.init.xavier_uniform_(self.start)
        self.gru = nn.GRUCell(config.input_dim, config.input_dim)
        self.output = nn.Linear(config.input_dim, config.dim)
        self.decoder = ProductDecoder(config.dim, config.dropout)
        self.memory.add("weight", config.input_dim, config.input_dim)
        self.memory.add("evolved")  # 1 once the weight is not the first

    def inputs(self, nodes: Tensor) -> Tensor:
        return self.random(nodes, len(self.state.seen))  # type: ignore[no-any-return]

    def step(self, view: View, asked: Tensor | None) -> tuple[Tensor, Memory]:
        before = torch.where(view.memory["evolved"] > 0, view.memory["weight"], self.start)
        weight: Tensor = self.gru(before, before)
        mixed = view.graph.with_loops(view.x, asked)  # (n, f) Â X
        z: Tensor = self.output(torch.relu(mixed @ weight))
        if self.config.parity:
            return z, {}
        return z, {"weight": weight, "evolved": torch.ones_like(view.memory["evolved"])}

    def taught(self, z: Tensor, asked: Tensor, view: View) -> Tensor:  # noqa: ARG002
        """What is dropped is in the decoder."""
        return z

    @property
    def last_layer(self) -> nn.Linear:
        assert isinstance(self.decoder, ProductDecoder)
        return self.decoder.last
