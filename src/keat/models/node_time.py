"""Models that embed a node at a time from its past events, and score pairs of embeddings."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.clock import Clock
from keat.events import EventStream
from keat.kernels import create_kernel
from keat.models.contract import LearnedLinkModel, Queries, ReadsByTime
from keat.models.merge import MergeLayer
from keat.models.node_features import NodeFeatures
from keat.ops import Integers, Precision
from keat.state.checking import check_state
from keat.state.history import EventHistory
from keat.state.tensors import as_tensor
from keat.time_encoding import create_time_encoder

Nodes = npt.NDArray[np.integer]

MOMENTS_AT_ONCE = 1 << 13  # distinct (node, time) embedded together in evaluation
PAIRS_AT_ONCE = 1 << 15  # pairs decoded together in evaluation


class NodeTimeModel(LearnedLinkModel, ReadsByTime):
    """logit(u, v, t) = merge(z_u(t), z_v(t)), where z_i(t) reads the events of i strictly before t.

    An embedding depends on (node, time) and nothing else, so in every call each distinct one is made once.
    """

    def __init__(
        self,
        num_nodes: int,
        feature_dim: int,
        sigma: float,
        clock: Clock,
        *,
        kernel: str,
        width: float,
        heads: int,
        time_encoder: str,
        precision: Precision,
        time_dim: int,
        node_dim: int,
        out_dim: int,
    ) -> None:
        super().__init__()
        self.sigma, self.clock, self.embedding_dim = sigma, clock, out_dim
        self.history = EventHistory(num_nodes, feature_dim)
        self.node_features = NodeFeatures(node_dim)
        self.time_encoder = create_time_encoder(time_encoder, time_dim, precision)
        self.kernel = create_kernel(kernel, sigma, width, heads)
        self.decoder = MergeLayer(out_dim, out_dim, out_dim, 1)

    @abstractmethod
    def embed(self, nodes: Nodes, t: Integers) -> Tensor:
        """z of each node at its time, (n, out)."""

    def embeddings(self, nodes: Tensor, t: Tensor) -> Tensor:
        return self.embed(nodes.cpu().numpy(), t.cpu().numpy())

    # -- state ---------------------------------------------------------------------------------------

    def reset(self) -> None:
        self.history.clear()
        self.node_features.clear()

    def grow(self, num_nodes: int) -> None:
        self.history.grow(num_nodes)

    def observe(self, events: EventStream) -> None:
        self.node_features.learn(events)
        self.history.append(events)

    def last_time(self) -> int:
        self.require_past(len(self.history))
        return int(self.history.t[len(self.history) - 1])

    def sources(self) -> npt.NDArray[np.int32]:
        return np.unique(self.history.node[0 : 2 * len(self.history) : 2]).astype(np.int32)

    def destinations(self) -> npt.NDArray[np.int32]:
        return np.unique(self.history.node[1 : 2 * len(self.history) : 2]).astype(np.int32)

    def reserve(self, events: int) -> None:
        self.history.reserve(events)

    def stream_state(self) -> dict[str, Tensor]:
        return self.history.state() | {"node_features": self.node_features.table}

    def load_stream_state(self, state: dict[str, Tensor]) -> None:
        check_state(state, self.history.expected() | {"node_features": self.node_features.expected()})
        self.node_features.load(state["node_features"])
        self.history.load_state(state)

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
