"""GEARSage and KEAT-GEARSage: three sums over neighbours, with the type, direction and time of every edge.

KEAT is one factor of it: [edge ‖ time] of a message is multiplied by ψ(Δ).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from keat.clock import PLAIN
from keat.errors import InputError
from keat.events import EventStream, NodeLabels
from keat.kernels import create_kernel
from keat.models.contract import LearnedNodeModel, NodeQueries
from keat.models.gearsage.features import FEATURES, TYPES
from keat.models.gearsage.graph import ContactGraph, Delta
from keat.models.gearsage.subgraph import Neighborhood, SubgraphSampler
from keat.models.settings import Help, check_model, setting
from keat.state import check_state

CLASSES = 2
NODES_AT_ONCE = 1 << 18  # whose messages are summed together when a whole graph is scored


@dataclass(frozen=True, slots=True)
class GEARSageConfig:
    """The published sizes. ``delta`` is what Δ means, see `Delta`."""

    kernel: str = setting("identity", Help.KERNEL)
    width: float = setting(1.0, Help.WIDTH)
    delta: Delta = setting(
        "target", "Age of an edge: target (until the receiver's latest edge) or end (until the graph's)."
    )
    hidden: int = setting(96, "Size of a hidden layer.")
    layers: int = setting(3, "Layers: how many edges away a node is looked for.")
    edge_dim: int = setting(50, "Size of the embeddings of an edge's type and direction.")
    time_dim: int = setting(50, Help.TIME_DIM)
    dropout: float = setting(0.3, Help.DROPOUT)

    def __post_init__(self) -> None:
        check_model(self, "hidden", "layers", "edge_dim", "time_dim")


GEARSAGE_CONFIGS = {"gearsage": GEARSageConfig(), "keat-gearsage": GEARSageConfig(kernel="laplacian")}


class GEARSage(LearnedNodeModel):
    """h_i ← dropout(ELU(BN(½ A Σ_j [h_j ‖ ψ e_ij ‖ ψ τ_ij] + B h_i))), layer after layer, then softmax.

    e_ij = type + direction embedding and τ_ij = cos(w log(1 + t_ij) + b) are the same in every layer.

    It scores the nodes of the graph it was given by `read`: every edge is input, and nothing is observed.
    """

    name = "GEARSage"

    def __init__(self, sigma: float, config: GEARSageConfig) -> None:
        super().__init__()
        self.sigma, self.config, self.clock = sigma, config, PLAIN
        self._sampler: SubgraphSampler | None = None
        self._last: tuple[npt.NDArray[np.int32], Neighborhood] | None = None
        widths = [FEATURES, *[config.hidden] * (config.layers - 1), CLASSES]
        of_edge = config.edge_dim + config.time_dim
        self.type_embedding = nn.Embedding(TYPES + 1, config.edge_dim)
        self.direction_embedding = nn.Embedding(2, config.edge_dim)
        self.frequency = nn.Parameter(10.0 ** -torch.linspace(0, 1.5, config.time_dim))
        self.offset = nn.Parameter(torch.zeros(config.time_dim))
        self.layers = nn.ModuleList(
            SumLayer(i, of_edge, o, config.dropout) for i, o in itertools.pairwise(widths)
        )
        self.kernel = create_kernel(config.kernel, sigma, config.width)
        nn.init.xavier_uniform_(self.type_embedding.weight)
        nn.init.xavier_uniform_(self.direction_embedding.weight)

    def read(self, graph: ContactGraph) -> None:
        """Score the nodes of this graph from now on."""
        self._sampler, self._last = SubgraphSampler(graph), None

    def score(self, queries: NodeQueries) -> Tensor:
        """Log odds of fraud, (B, 1). In training, batch norm's statistics are those of all nodes that can
        reach the ones asked about."""
        around = self._around(queries.node)
        graph, position = around.graph.to(self.device), around.position.to(self.device)
        if not self.training:
            return self.predict(graph, around.within)[position, None]
        of_class: Tensor = self(graph)[position]
        return of_class[:, 1:] - of_class[:, :1]

    def _around(self, nodes: npt.NDArray[np.int32]) -> Neighborhood:
        """What can reach these nodes; of the same list as last time it is known already."""
        if self._sampler is None:
            raise InputError("The model has no graph yet; let it read one.")
        if self.training:
            return self._sampler.around(nodes, self.config.layers)
        if self._last is None or self._last[0] is not nodes:
            self._last = nodes, self._sampler.around(nodes, self.config.layers)
        return self._last[1]

    def observe(self, events: EventStream) -> None:
        """Every edge is input already."""

    def observe_labels(self, labels: NodeLabels) -> None:
        """Labels are learned from; they are no input."""

    def reset(self) -> None:
        """Nothing was observed."""

    def forward(self, graph: ContactGraph) -> Tensor:
        """Log probabilities of the classes, (n, 2), of all nodes together: batch norm's statistics are theirs
        while training."""
        edges = self.edge_sums(graph)
        h = graph.x
        for layer in self._layers():
            h = layer(graph, layer.sent(h), h, edges)
        return h.log_softmax(dim=-1)

    @torch.no_grad()
    def predict(self, graph: ContactGraph, within: list[int] | None = None) -> Tensor:
        """Log odds of fraud of every node, (n,), as `forward` in evaluation but in less memory: a layer is
        computed some nodes at a time, so that nothing but its input and output is held for all.

        Of a `Neighborhood` with as many hops as layers, and its ``within``: of its seeds alone. A layer is
        then computed only where the next one looks.
        """
        self.eval()
        h = graph.x
        for number, layer in enumerate(self._layers(), start=1):
            wanted = graph.num_nodes if within is None else within[self.config.layers - number]
            sent, out = layer.sent(h), h.new_empty(wanted, layer.out_dim)
            for start in range(0, wanted, NODES_AT_ONCE):
                stop = min(start + NODES_AT_ONCE, wanted)
                rows = graph.rows(start, stop)
                out[start:stop] = layer(rows, sent, h[start:stop], self.edge_sums(rows))
            h = out
        return h[:, 1] - h[:, 0]

    def _layers(self) -> list[SumLayer]:
        return cast("list[SumLayer]", list(self.layers))

    def edge_sums(self, graph: ContactGraph) -> Tensor:
        """Σ_j ψ(Δ_ij) [e_ij ‖ τ_ij], (n, edge + time)."""
        kinds = self.type_embedding.weight[:, None] + self.direction_embedding.weight  # (types, 2, edge)
        log_time = torch.log1p(graph.times.double()).to(self.offset.dtype)
        encoded = torch.cos(log_time[:, None] * self.frequency + self.offset)  # (times, time)
        psi = self.kernel(graph.ages)[:, 0].to(encoded).index_select(0, graph.age)  # (m,)
        parts = ((graph.kind, kinds.flatten(0, 1)), (graph.time, encoded))
        return torch.cat([_sums(row, table, graph.first, psi) for row, table in parts], dim=1)

    # All a checkpoint needs beside the parameters is σ: the graph itself is the input.

    def stream_state(self) -> dict[str, Tensor]:
        return {}

    def load_stream_state(self, state: dict[str, Tensor]) -> None:
        check_state(state, {})


class SumLayer(nn.Module):
    """dropout(ELU(BN(½ A Σ_j [h_j ‖ edge_ij] + B h_i))), A and B with a bias each."""

    def __init__(self, node_dim: int, edge_dim: int, out_dim: int, dropout: float) -> None:
        super().__init__()
        self.node_dim, self.edge_dim, self.out_dim = node_dim, edge_dim, out_dim
        self.dropout = dropout
        self.neighbors = nn.Linear(node_dim + edge_dim, out_dim)
        self.own = nn.Linear(node_dim, out_dim)
        self.norm = nn.BatchNorm1d(out_dim)

    def sent(self, h: Tensor) -> Tensor:
        """What nodes send: h, or A h where that is narrower."""
        return functional.linear(h, self._weights()[0]) if self._multiply_first else h

    def forward(self, graph: ContactGraph, sent: Tensor, h: Tensor, edges: Tensor) -> Tensor:
        """``h`` of the nodes of ``graph``, and the sums over their messages' edge parts."""
        of_node, of_edge = self._weights()
        total: Tensor = _NeighborSum.apply(sent, graph)  # type: ignore[no-untyped-call]
        if not self._multiply_first:
            total = functional.linear(total, of_node)
        total = total + functional.linear(edges, of_edge, self.neighbors.bias)
        out = functional.elu(self.norm(0.5 * total + self.own(h)))
        return functional.dropout(out, self.dropout, self.training)

    @property
    def _multiply_first(self) -> bool:
        return self.out_dim < self.node_dim

    def _weights(self) -> tuple[Tensor, Tensor]:
        return self.neighbors.weight[:, : self.node_dim], self.neighbors.weight[:, self.node_dim :]


def _sums(row: Tensor, table: Tensor, first: Tensor, weight: Tensor | None = None) -> Tensor:
    """Σ of weight · table[row] over each node's messages, (n, dim), without a copy for each message."""
    return functional.embedding_bag(
        row, table, first, mode="sum", per_sample_weights=weight, include_last_offset=True
    )


class _NeighborSum(torch.autograd.Function):
    """h ↦ Σ_j h_j. The graph is symmetric, so the gradient is the same sum over the gradients: quicker than
    a search for all messages each sender sent."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, graph: ContactGraph) -> Tensor:
        ctx.graph = graph
        return _sums(graph.neighbor, h, graph.first)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _sums(ctx.graph.neighbor, grad.contiguous(), ctx.graph.first), None
