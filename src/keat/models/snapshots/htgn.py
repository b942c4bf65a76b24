"""UTG-HTGN: hyperbolic graph convolution over the latest snapshot, and a GRU over each node's last states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.clock import PLAIN, Clock
from keat.errors import InputError
from keat.models.settings import check_range, setting
from keat.models.snapshots.driver import SnapshotModel, View
from keat.models.snapshots.poincare import exp_0, log_0, mobius_add, squared_distance
from keat.models.snapshots.snapshot_config import SnapshotConfig
from keat.models.snapshots.snapshot_decoders import DistanceDecoder
from keat.models.snapshots.snapshot_graph import SnapshotGraph
from keat.models.snapshots.snapshot_memory import Memory


@dataclass(frozen=True, slots=True)
class HTGNConfig(SnapshotConfig):
    """Sizes are those of UTG."""

    input_dim: int = setting(128, "Learned numbers by which a node is told from others.")
    dim: int = setting(16, "Size of a node's state and of its embedding.")
    states: int = setting(5, "Last states of a node that are attended to.")
    consistency: float = setting(
        0.1, "Weight of the loss that keeps a node near where it was one snapshot before; 0 for none."
    )
    parity: bool = setting(
        False, "Whether to leave the loss of consistency out, as the published code does by a mistake."
    )

    def __post_init__(self) -> None:
        self.check("input_dim", "dim", "states")
        check_range(self, 0, None, "consistency")


class HTGN(SnapshotModel):
    """With Â = D^-½ (A + I) D^-½ of the latest snapshot, A weighted by ψ. All vectors are tangent at the
    origin of the Poincaré ball, where they stand for points exp₀(·); F has a learned row for each node:

        layer(v) = leaky(Â log₀(exp₀(W v) ⊕ exp₀(b)))
        x  = layer₂(layer₁([W_F F + b_F ‖ u₁]))              u_k: the node's state k snapshots ago
        h̄  = 1/5 Σ_k softmax_k(r · tanh(Q u_k)) u_k
        z  = GRU(x, h̄), the next u
        logit(a, b) = 2 - d²(exp₀(z_a), exp₀(z_b))

    In training, ``consistency`` · mean d²(exp₀(z), exp₀(u₁)) of the nodes asked about is added to the loss,
    whatever that is.
    """

    name = "utg-htgn"

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: HTGNConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__(num_nodes, feature_dim, sigma, config, clock)
        dim = self.embedding_dim = config.dim
        self.config, self.consistency = config, 0.0 if config.parity else config.consistency
        self.features = nn.Parameter(torch.empty(num_nodes, config.input_dim))
        self.of_features = nn.Linear(config.input_dim, dim)
        self.layers = nn.ModuleList((HyperbolicLayer(2 * dim, 2 * dim), HyperbolicLayer(2 * dim, dim)))
        self.query, self.weigh = nn.Parameter(torch.empty(dim, dim)), nn.Parameter(torch.empty(dim, 1))
        for parameter in (self.features, self.query, self.weigh):
            nn.init.xavier_uniform_(parameter)
        self.gru = nn.GRUCell(dim, dim)
        self.decoder = DistanceDecoder()
        self.memory.add_of_nodes("states", config.states, dim)  # the latest last

    def inputs(self, nodes: Tensor) -> Tensor:
        """W_F F + b_F. Nodes that came after training have zeros in F, the mean of what is drawn."""
        rows = functional.pad(self.features, (0, 0, 0, 1))  # (N + 1, ·)
        x: Tensor = self.of_features(rows.index_select(0, nodes.clamp(max=len(self.features))))
        return x

    def step(self, view: View, asked: Tensor | None) -> tuple[Tensor, Memory]:
        states = view.memory["states"]  # (m, k, d)
        x = torch.cat((view.x, states[:, -1]), dim=1)  # (m, 2d)
        first, second = self.layers
        x = second(first(x, view.graph, None), view.graph, asked)  # (n, d)
        states = states if asked is None else states[asked]
        weight = (torch.tanh(states @ self.query) @ self.weigh).softmax(dim=1)  # (n, k, 1)
        z: Tensor = self.gru(x, (weight * states).mean(dim=1))  # (n, d)
        return z, {"states": torch.cat((states[:, 1:], z[:, None]), dim=1)}

    def taught(self, z: Tensor, asked: Tensor, view: View) -> Tensor:
        if self.consistency:
            before = view.memory["states"][asked, -1]
            seen = view.seen[asked].to(z.dtype)  # nobody else was anywhere before
            moved = squared_distance(exp_0(z), exp_0(before)) * seen
            z = and_also(z, self.consistency * moved.sum() / seen.sum().clamp(min=1))
        return super().taught(z, asked, view)

    @property
    def last_layer(self) -> nn.Linear:
        raise InputError("utg-htgn decodes by a distance, so it has no last layer and no pair term.")


class HyperbolicLayer(nn.Module):
    """leaky(Â log₀(exp₀(W v) ⊕ exp₀(b))): Möbius product with W and Möbius sum with b, then a mean over
    neighbours in the tangent space. W and b are ordinary numbers: exp₀(b) is the point that is added."""

    def __init__(self, dim: int, out_dim: int) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, out_dim)
        nn.init.zeros_(self.linear.bias)

    def forward(self, v: Tensor, graph: SnapshotGraph, asked: Tensor | None) -> Tensor:
        moved = mobius_add(exp_0(v @ self.linear.weight.T), exp_0(self.linear.bias))
        return functional.leaky_relu(graph.with_loops(log_0(moved), asked))


class _AndAlso(torch.autograd.Function):
    """Passes z on; going back, the loss also has ``term`` in it."""

    @staticmethod
    def forward(context: Any, z: Tensor, term: Tensor) -> Tensor:
        context.shape, context.like = term.shape, term.new_ones(())
        return z.view_as(z)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        return gradient, context.like.expand(context.shape)


def and_also(z: Tensor, term: Tensor) -> Tensor:
    """z as it is, with ``term`` added to whatever loss is made of it. The training loop knows losses of
    scores alone, so a term that is none is taught this way; the loss that is reported is without it."""
    passed: Tensor = _AndAlso.apply(z, term)  # type: ignore[no-untyped-call]
    return passed
