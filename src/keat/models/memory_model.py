"""Models that embed a node from memories and last events, and score a pair by two kept projections."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn

from keat.models.contract import EmbedsNodes, KeepsEvents, Queries
from keat.models.decoders import LinkPredictor
from keat.state import NodeState, as_tensor

PAIRS_AT_ONCE = 1 << 14  # (node, time) pairs embedded together in evaluation: about 100 MiB of encodings


class MemoryModel(KeepsEvents, EmbedsNodes):
    """logit(u, v) = w · ReLU(W_src z_u + W_dst z_v + b) + c, where z depends on the node and the state alone;
    if ``at_query``, also on the time of the query.

    Each distinct node of a call is embedded once. Where all queries have one list of candidates, W_dst z_v is
    kept from call to call, until an event is observed within ``reach`` steps of v.

    Shapes: n nodes, d numbers in an embedding, B queries with C candidates each.
    """

    cuts_matter = True  # of several events of a node in one call, its memory takes in the last alone
    state: NodeState
    predictor: LinkPredictor

    @property
    def at_query(self) -> bool:
        """Whether an embedding depends on the time that is asked about."""
        return False

    @property
    def reach(self) -> int:
        """How many events away from a node a change can be that changes its embedding."""
        return 1

    @abstractmethod
    def embed(self, nodes: Tensor, t: Tensor | None = None) -> Tensor:
        """z (n, d) of nodes (n,): of distinct ones, or of any at times ``t`` (n,) if ``at_query``."""

    @property
    def last_layer(self) -> nn.Linear:
        return self.predictor.lin_final

    def embeddings(self, nodes: Tensor, t: Tensor) -> Tensor:
        self.state.make_room_for(nodes.cpu().numpy())
        if self.at_query:
            z = self.embed(nodes, t)
        else:
            distinct, place = torch.unique(nodes, return_inverse=True)
            z = self.embed(distinct).index_select(0, place)
        self.state.forget_read()
        return z

    # -- scores --------------------------------------------------------------------------------------

    def score(self, queries: Queries) -> Tensor:
        src, t = as_tensor(queries.src, self.device).long(), as_tensor(queries.t, self.device)
        if self.training:
            return self._score(src, t, queries)
        self.state.make_room_for(queries.src, queries.candidates)
        with torch.no_grad():
            return self._score(src, t, queries)

    def _score(self, src: Tensor, t: Tensor, queries: Queries) -> Tensor:
        candidates = as_tensor(queries.candidates, self.device).long()
        if queries.shared and not self.training and not self.at_query:
            return self._score_shared(src, candidates, queries.candidates)
        candidates = candidates.expand(queries.shape)  # (B, C)
        rows = len(src) if self.training else max(1, PAIRS_AT_ONCE // (1 + candidates.shape[1]))
        pieces = zip(*(torch.split(part, rows) for part in (src, t, candidates)), strict=True)
        return torch.cat([self._score_own(*piece) for piece in pieces])

    def _score_own(self, src: Tensor, t: Tensor, candidates: Tensor) -> Tensor:
        """Candidates (B, C) of each source (B,) by itself."""
        both = torch.cat((src, candidates.flatten()))
        if self.at_query:
            z = self.embed(both, torch.cat((t, t.repeat_interleave(candidates.shape[1]))))
            place = torch.arange(len(both), device=both.device)
        else:
            nodes, place = self.state.distinct(both)
            z = self.embed(nodes)
        sources, others = torch.tensor_split(place, [len(src)])
        return self.predictor.pairs(z, sources, others.view(candidates.shape))

    def _score_shared(self, src: Tensor, candidates: Tensor, key: object) -> Tensor:
        """One list (C,) for all: a candidate is embedded once, and again if something it sees has changed."""
        stale = self.state.stale(key, candidates, self.reach)
        nodes, place = self.state.distinct(src)
        z = self.embed(torch.cat((nodes, candidates[stale])))
        sources, others = self.predictor.lin_src(z[: len(nodes)]), self.predictor.lin_dst(z[len(nodes) :])
        return self.predictor.shared(sources[place], self.state.renewed(candidates, stale, others))
