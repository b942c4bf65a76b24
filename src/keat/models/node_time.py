"""Models that embed a node at a time from its past events, and score pairs of embeddings."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.clock import Clock
from keat.kernels import create_kernel
from keat.models.contract import EmbedsNodes, KeepsEvents, Queries, ReadsByTime
from keat.models.decoders import MergeLayer
from keat.ops import Integers, Precision
from keat.state import EventHistory, NodeFeatures, as_tensor
from keat.time_encoding import create_time_encoder

Nodes = npt.NDArray[np.integer]

MOMENTS_AT_ONCE = 1 << 13  # distinct (node, time) embedded together in evaluation
PAIRS_AT_ONCE = 1 << 15  # pairs decoded together in evaluation


class NodeTimeConfig(Protocol):
    """The settings that all these models have."""

    @property
    def kernel(self) -> str: ...
    @property
    def width(self) -> float: ...
    @property
    def time_encoder(self) -> str: ...
    @property
    def precision(self) -> Precision: ...
    @property
    def time_dim(self) -> int: ...
    @property
    def node_dim(self) -> int: ...
    @property
    def out_dim(self) -> int: ...


class NodeTimeModel(KeepsEvents, EmbedsNodes, ReadsByTime):
    """logit(u, v, t) = merge(z_u(t), z_v(t)), where z_i(t) reads the events of i strictly before t.

    An embedding depends on (node, time) and nothing else, so in every call each distinct one is made once.
    """

    state: EventHistory

    def __init__(
        self,
        num_nodes: int,
        feature_dim: int,
        sigma: float,
        config: NodeTimeConfig,
        clock: Clock,
        heads: int = 1,  # of the kernel
    ) -> None:
        super().__init__()
        self.sigma, self.clock, self.embedding_dim = sigma, clock, config.out_dim
        self.state = EventHistory(num_nodes, feature_dim, config.node_dim)
        self.time_encoder = create_time_encoder(config.time_encoder, config.time_dim, config.precision)
        self.kernel = create_kernel(config.kernel, sigma, config.width, heads)
        self.decoder = MergeLayer(config.out_dim, config.out_dim, config.out_dim, 1)

    @abstractmethod
    def embed(self, nodes: Nodes, t: Integers) -> Tensor:
        """z of each node at its time, (n, out)."""

    def embeddings(self, nodes: Tensor, t: Tensor) -> Tensor:
        return self.embed(nodes.cpu().numpy(), t.cpu().numpy())

    @property
    def last_layer(self) -> nn.Linear:
        return self.decoder.fc2

    @property
    def node_features(self) -> NodeFeatures:
        """What is known of nodes from the start."""
        return self.state.node_features

    def reset(self) -> None:
        super().reset()
        self.node_features.clear()

    # -- scores --------------------------------------------------------------------------------------

    def score(self, queries: Queries) -> Tensor:
        if self.training:
            return self._score_learning(queries)
        with torch.no_grad():
            return self._score(queries)

    def _score_learning(self, queries: Queries) -> Tensor:
        """Everything at once, for the gradient."""
        candidates = np.broadcast_to(queries.candidates, queries.shape)
        nodes = np.concatenate((queries.src, candidates.ravel()))
        t = np.concatenate((queries.t, queries.t.repeat(candidates.shape[1])))
        first, place = distinct_moments(nodes, t)
        z = self.embed(nodes[first], t[first])
        rows = torch.from_numpy(place).to(z.device)
        src, dst = (z.index_select(0, part) for part in torch.tensor_split(rows, [len(queries.src)]))
        logits: Tensor = self.decoder(src[:, None], dst.view(*candidates.shape, -1))
        return logits.squeeze(-1)

    def _score(self, queries: Queries) -> Tensor:
        """Distinct moments in the order of nodes, so that those of one node, which see much the same past,
        are embedded together; then the pairs they are part of."""
        own, mine = distinct_moments(queries.src, queries.t)
        sources = self.decoder.project_first(self.embed(queries.src[own], queries.t[own]))  # (m, out)
        nodes = np.broadcast_to(queries.candidates, queries.shape).ravel()
        t = queries.t.repeat(queries.shape[1])
        first, place = distinct_moments(nodes, t)
        pairs = np.argsort(place, kind="stable")  # by moment
        ends = np.cumsum(np.bincount(place, minlength=len(first)))
        logits = sources.new_empty(len(pairs))
        for start in range(0, len(first), MOMENTS_AT_ONCE):
            moments = first[start : start + MOMENTS_AT_ONCE]
            z = self.decoder.project_second(self.embed(nodes[moments], t[moments]))
            low, high = int(ends[start - 1]) if start else 0, int(ends[start + len(moments) - 1])
            for begin in range(low, high, PAIRS_AT_ONCE):
                pair = pairs[begin : min(begin + PAIRS_AT_ONCE, high)]
                source = as_tensor(mine[pair // queries.shape[1]], z.device)
                other = as_tensor(place[pair] - start, z.device)
                joined = self.decoder.join(sources.index_select(0, source), z.index_select(0, other))
                logits[as_tensor(pair, z.device)] = joined[:, 0]
        return logits.view(queries.shape)


def distinct_moments(nodes: Nodes, t: Integers) -> tuple[Integers, Integers]:
    """The first occurrence of each distinct (node, time), in the order of nodes and then times, and for every
    given one which of them it is. Times are numbered first, since node · span + t may not fit in 64 bits."""
    times, when = np.unique(t, return_inverse=True)
    key = nodes.astype(np.int64) * len(times) + when
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    return first, place
