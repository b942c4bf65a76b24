"""TNCN and KEAT-TNCN: TGN whose decoder also sees the neighbours that two nodes have in common."""

from __future__ import annotations

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
    they are added where a sparse join finds something.

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
        rows = len(src) if self.training else max(1, PAIRS_AT_ONCE // max(queries.shape[1], 1))
        known = None
        if queries.shared and not self.training and not self.at_query:
            known = self._embedded(queries.candidates)
        starts = range(0, max(len(src), 1), max(rows, 1))
        pieces = (slice(start, start + rows) for start in starts)
        return torch.cat([self._score_part(t[p], queries.rows(p.start, p.stop), known) for p in pieces])

    def _embedded(self, listed: npt.NDArray[np.int32]) -> Tensor:
        """z (C, d) of a list of candidates, kept from call to call."""
        candidates = as_tensor(listed, self.device).long()
        stale = self.state.stale(listed, candidates, self.reach)
        return self.state.renewed(candidates, stale, self.embed(candidates[stale])).T

    def _score_part(self, t: Tensor, queries: Queries, known: Tensor | None) -> Tensor:
        """Where embeddings of all candidates are ``known`` (C, d), sources and common nodes are left."""
        common = self.state.graph().common(queries.src, queries.candidates, far=self.config.mode == 2)
        count, width = queries.shape
        row = common.pair // max(width, 1)  # (E,) the query of each entry
        nodes: list[npt.NDArray[np.integer]] = [queries.src, common.node]
        asked = [np.arange(count), row]
        if known is None:
            nodes.append(np.broadcast_to(queries.candidates, queries.shape).ravel())
            asked.append(np.arange(count).repeat(width))
        z, place = self._embed_distinct(np.concatenate(nodes), np.concatenate(asked), t)
        own, shared, *others = torch.tensor_split(
            place, np.cumsum([len(part) for part in nodes])[:-1].tolist()
        )
        if known is None:
            candidates = others[0].view(count, width)
        else:
            candidates = torch.arange(len(z), len(z) + width, device=z.device).expand(count, width)
            z = torch.cat((z, known))
        sums = self._sums(z, own, candidates, shared, common, t)
        logits: Tensor = self.predictor(z, own, candidates, sums)
        return logits

    def _embed_distinct(
        self, nodes: npt.NDArray[np.integer], asked: Integers, t: Tensor
    ) -> tuple[Tensor, Tensor]:
        """z (n, d) of the distinct nodes, and where among them each of ``nodes`` is; where the time of the
        query matters, of the distinct (node, query)."""
        ids = as_tensor(nodes, self.device).long()
        if not self.at_query:
            distinct, place = self.state.distinct(ids)
            return self.embed(distinct), place
        key, place = torch.unique(ids * len(t) + as_tensor(asked, self.device), return_inverse=True)
        return self.embed(key // len(t), t[key % len(t)]), place

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
