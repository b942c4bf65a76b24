"""UTG-GCLSTM: an LSTM for every node, whose gates see the states of its neighbours in the latest snapshot."""

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
class GCLSTMConfig(SnapshotConfig):
    """Sizes are those of UTG. With ``parity`` the Chebyshev polynomial has one term, K = 1, and no edge is
    ever seen."""

    dropout: float = setting(0.2, Help.DROPOUT)
    input_dim: int = setting(256, FEATURES)
    dim: int = setting(256, "Size of a node's state and of its embedding.")
    parity: bool = setting(False, PARITY)
    pair_term: PairTermName = setting("none", Help.PAIR_TERM)
    pair_widths: str = setting("geometric", Help.PAIR_WIDTHS)

    def __post_init__(self) -> None:
        self.check("input_dim", "dim")


class GCLSTM(SnapshotModel):
    """With L̂ = -D^-½ A D^-½, the Laplacian scaled to [-1, 1], A weighted by ψ, and fixed random x:

        i, f, o = sigmoid(x W + H W₀ + (L̂ H) W₁ + b)           for each gate; with ``parity`` without W₁
        c       = tanh(the same with weights of its own)
        C ← f ⊙ C + i ⊙ c;    H ← o ⊙ tanh(C)
        z       = W_z ReLU(H) + b_z
        logit(u, v) = w · ReLU(W (z_u ⊙ z_v) + b) + c

    A step reads the states that neighbours had before, so rows that nobody asks about are not computed.
    """

    name = "utg-gclstm"

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: GCLSTMConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__(num_nodes, feature_dim, sigma, config, clock)
        self.config, self.embedding_dim = config, config.dim
        self.random = RandomInputs(config.input_dim)
        self.terms = 1 if config.parity else 2  # K
        self.of_input = nn.Linear(config.input_dim, 4 * config.dim)
        self.of_state = nn.Linear(self.terms * config.dim, 4 * config.dim)
        self.output = nn.Linear(config.dim, config.dim)
        self.decoder = ProductDecoder(config.dim, config.dropout)
        self.memory.add_of_nodes("hidden", config.dim)
        self.memory.add_of_nodes("cell", config.dim)

    def inputs(self, nodes: Tensor) -> Tensor:
        return self.random(nodes, len(self.state.seen))  # type: ignore[no-any-return]

    def step(self, view: View, asked: Tensor | None) -> tuple[Tensor, Memory]:
        hidden, cell = view.memory["hidden"], view.memory["cell"]
        x, own, cell = (rows if asked is None else rows[asked] for rows in (view.x, hidden, cell))
        if self.terms == 2:
            own = torch.cat((own, -view.graph.without_loops(hidden, asked)), dim=1)  # (n, 2d) [H ‖ L̂ H]
        gates = self.of_input(x) + self.of_state(own)  # (n, 4d)
        enter, forget, leave, new = gates.chunk(4, dim=1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
        hidden = torch.sigmoid(leave) * torch.tanh(cell)
        return self.output(torch.relu(hidden)), {"hidden": hidden, "cell": cell}

    def taught(self, z: Tensor, asked: Tensor, view: View) -> Tensor:  # noqa: ARG002
        """What is dropped is in the decoder."""
        return z

    @property
    def last_layer(self) -> nn.Linear:
        assert isinstance(self.decoder, ProductDecoder)
        return self.decoder.last
