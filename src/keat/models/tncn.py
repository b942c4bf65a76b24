"""TNCN and KEAT-TNCN: TGN whose decoder also sees the neighbours that two nodes have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.clock import PLAIN, Clock
from keat.errors import InputError
from keat.kernels import create_kernel
from keat.models.common_neighbors import KINDS, CommonNeighborPredictor, Sums, add_up
from keat.models.contract import Queries
from keat.models.settings import check_sizes, setting
from keat.models.tgn import TGN
from keat.models.tgn_config import TGNConfig
from keat.ops import Integers
from keat.state import AROUND_BOTH, Common, Kept, as_tensor

MODES = (0, 1, 2)
PAIRS_AT_ONCE = 1 << 12  # decoded together in evaluation: 4 MiB of hidden numbers, which caches hold
JOINED_AT_ONCE = {0: 1 << 17, 1: 1 << 17, 2: 1 << 14}  # by mode, pairs of one list that are joined together


@dataclass(frozen=True, slots=True)
class TNCNConfig(TGNConfig):
    """Those of TGN, and what the decoder sees of a pair (u, v) beside z_u ⊙ z_v: with ``mode`` 1 their common
    neighbours; with 0 also whether they are neighbours themselves; with 2 also nodes two steps away."""

    mode: int = setting(
        0,
        "What is seen of a pair: 1, common neighbours; 0, also whether the two are neighbours; 2, also nodes "
        "two steps away.",
    )
    hidden: int = setting(256, "Hidden units of the decoder.")

    def __post_init__(self) -> None:
        TGNConfig.__post_init__(self)
        check_sizes(self, "hidden")
        if self.mode not in MODES:
            raise InputError(f"mode must be 0, 1 or 2, not {self.mode}.")


class TNCN(TGN):
    """With z the embeddings of TGN, N(a) the neighbours of a by the last K events of either node
    (`keat.state.NeighborGraph`), and ψ a kernel of the age of the last meeting, at the time of the query:

        x(u, v) = [z_u ⊙ z_v ‖ ψ_uv z_u ‖ ψ_uv z_v ‖ Σ_w ψ_uw ψ_vw z_w ‖ …]     w ∈ N(u) ∩ N(v)
        logit(u, v, t) = w · ReLU(W x(u, v) + b) + c                             ψ is KEAT; in TNCN it is 1

    where ψ_uv is 0 unless u and v are neighbours, and … are sums over nodes two steps away (mode 2). A kernel
    also fades the edge evidence in the attention, as in KEAT-TGN. Ages of meetings are measured from the
    query, whatever ``delta`` is.

    W is a block for each part of x. All but the first are zero for a pair that shares nothing, as most do:
    they are added where a sparse join finds something. The first has no ψ, so it is made once for a source
    that asks about one list several times.

    Shapes below: n embedded nodes, d numbers, B queries with C candidates each, E entries of common nodes.
    """

    name = "tncn"
    kept = Kept(from_first=True)
    config: TNCNConfig
    predictor: CommonNeighborPredictor  # type: ignore[assignment]

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: TNCNConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__(num_nodes, feature_dim, sigma, config, clock)
        self.predictor = CommonNeighborPredictor(config.dim, config.hidden, config.mode)
        self.pair_kernel = create_kernel(config.kernel, sigma, config.width)

    # -- scores --------------------------------------------------------------------------------------

    def _score(self, src: Tensor, t: Tensor, queries: Queries) -> Tensor:
        whole = queries.shared and not self.training and not self.at_query
        at_once = JOINED_AT_ONCE[self.config.mode] if whole else PAIRS_AT_ONCE
        rows = len(src) if self.training else max(1, at_once // max(queries.shape[1], 1))
        pieces = [slice(start, start + rows) for start in range(0, max(len(src), 1), max(rows, 1))]
        if whole:
            return self._score_list(src, t, queries, pieces)
        return torch.cat([self._score_part(t[p], queries.rows(p.start, p.stop)) for p in pieces])

    def _score_list(self, src: Tensor, t: Tensor, queries: Queries, pieces: list[slice]) -> Tensor:
        """One list (C,) for all. What has nothing to do with common nodes depends on no time: it is made once
        for a source that asks several times, from embeddings that are kept from call to call."""
        candidates = as_tensor(queries.candidates, self.device).long()
        stale = self.state.stale(queries.candidates, candidates, self.reach)
        columns = self.state.renewed(candidates, stale, self.embed(candidates[stale]))  # (d, C)
        sources, place = self.state.distinct(src)
        logits = self.predictor.alone(self.embed(sources), columns).index_select(0, place)  # (B, C)
        for p in pieces:
            part = queries.rows(p.start, p.stop)
            common = self.state.graph().common(part.src, part.candidates, far=self.config.mode == 2)
            nodes: list[npt.NDArray[np.integer]] = [part.src, common.node]
            z, (own, shared) = self._embed_distinct(nodes, [], t[p])
            both = torch.arange(len(z), len(z) + len(candidates), device=z.device).expand(part.shape)
            sums = self._sums(torch.cat((z, columns.T)), own, both, shared, common, t[p])
            self.predictor.renew(logits[p], z, own, columns, sums)
        return logits

    def _score_part(self, t: Tensor, queries: Queries) -> Tensor:
        """Candidates of each query by itself."""
        common = self.state.graph().common(queries.src, queries.candidates, far=self.config.mode == 2)
        count, width = queries.shape
        everybody = np.broadcast_to(queries.candidates, queries.shape).ravel()
        nodes: list[npt.NDArray[np.integer]] = [queries.src, common.node, everybody]
        asked = [np.arange(count), common.pair // max(width, 1), np.arange(count).repeat(width)]
        z, (own, shared, others) = self._embed_distinct(nodes, asked, t)
        candidates = others.view(count, width)
        sums = self._sums(z, own, candidates, shared, common, t)
        logits: Tensor = self.predictor(z, own, candidates, sums)
        return logits

    def _embed_distinct(
        self, nodes: Sequence[npt.NDArray[np.integer]], asked: Sequence[Integers], t: Tensor
    ) -> tuple[Tensor, Sequence[Tensor]]:
        """z (n, d) of the distinct nodes, and for each list where among them its nodes are; where the time of
        the query matters, of the distinct (node, query) by the lists of queries that are ``asked``."""
        ids = as_tensor(np.concatenate(nodes), self.device).long()
        if self.at_query:
            query = as_tensor(np.concatenate(asked), self.device)
            key, place = torch.unique(ids * len(t) + query, return_inverse=True)
            z = self.embed(key // len(t), t[key % len(t)])
        else:
            distinct, place = self.state.distinct(ids)
            z = self.embed(distinct)
        return z, torch.split(place, [len(part) for part in nodes])

    def _sums(
        self, z: Tensor, own: Tensor, candidates: Tensor, shared: Tensor, common: Common, t: Tensor
    ) -> Sums:
        """The parts of x but the first, of pairs where they are not zero. ``shared`` (E,) are rows of z."""
        kind, pair, source, candidate, onward, met, when_met = (
            as_tensor(part, z.device) for part in (common.kind, common.pair, *common[3:])
        )
        width = max(candidates.shape[1], 1)
        now = t[pair // width]
        weight = self._psi(now - source) * self._psi(now - candidate)
        if self.config.mode == 2:
            weight = torch.where(kind == AROUND_BOTH, weight * self._psi(now - onward), weight)
        sums = add_up(KINDS[self.config.mode], z, kind, pair, shared, weight)
        if self.config.mode == 1:
            return sums
        fresh = self._psi(t[met // width] - when_met)[:, None]  # (M, 1) ψ_uv
        ends = (own[met // width], candidates.flatten()[met])
        return [*((met, fresh * z.index_select(0, end)) for end in ends), *sums]

    def _psi(self, difference: Tensor) -> Tensor:
        """ψ (E,) of the time since something happened."""
        psi: Tensor = self.pair_kernel(self.clock.ages(difference))
        return psi.squeeze(-1)
