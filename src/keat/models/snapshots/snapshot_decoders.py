"""From a table of embeddings to logits: what is done once for each node, and what is left for a pair."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from keat.models.decoders import LinkPredictor
from keat.models.snapshots.poincare import exp_0, squared_distance
from keat.ops import dropout

PAIRS_AT_ONCE = 1 << 13  # decoded together in evaluation: what the caches hold


class TableDecoder(nn.Module, ABC):
    """Scores pairs of rows of a table. A row is made once, however many pairs it is part of."""

    @abstractmethod
    def project(self, z: Tensor) -> Tensor:
        """What is made of each embedding once, (n, d) → (n, ·)."""

    @abstractmethod
    def decode(self, src: Tensor, dst: Tensor) -> Tensor:
        """Logits (p,) of projected sources and destinations (p, ·)."""

    def pairs(self, z: Tensor, src: Tensor, dst: Tensor) -> Tensor:
        """Logits (B, C) of rows of ``z``, for the gradient: ``src`` (B,) with ``dst`` (B, C)."""
        table = self.project(z)
        logits = self.decode(table[src.repeat_interleave(dst.shape[1])], table[dst.flatten()])
        return logits.view(dst.shape)

    def rank(self, table: Tensor, src: Tensor, dst: Tensor) -> Tensor:
        """Logits (B, C) of rows of a projected table: ``src`` (B,) with ``dst`` (C,) or (B, C)."""
        shape = (len(src), dst.shape[-1])
        first, second = src.repeat_interleave(shape[1]), dst.expand(shape).flatten()
        pieces = zip(torch.split(first, PAIRS_AT_ONCE), torch.split(second, PAIRS_AT_ONCE), strict=True)
        return torch.cat([self.decode(table[one], table[other]) for one, other in pieces]).view(shape)


class AdditiveDecoder(TableDecoder):
    """w · ReLU(W_src z_u + W_dst z_v + b) + c, TGN's decoder. A pair costs a sum, a ReLU and a product."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.predictor = LinkPredictor(dim)

    def project(self, z: Tensor) -> Tensor:
        """[W_src z ‖ W_dst z]"""
        return torch.cat((self.predictor.lin_src(z), self.predictor.lin_dst(z)), dim=1)

    def decode(self, src: Tensor, dst: Tensor) -> Tensor:
        dim = src.shape[1] // 2
        return self.predictor.own(src[:, :dim], dst[:, None, dim:])[:, 0]

    def pairs(self, z: Tensor, src: Tensor, dst: Tensor) -> Tensor:
        return self.predictor.pairs(z, src, dst)

    def rank(self, table: Tensor, src: Tensor, dst: Tensor) -> Tensor:
        if dst.dim() == 2:
            return super().rank(table, src, dst)
        dim = table.shape[1] // 2
        return self.predictor.shared(table[src, :dim], table[dst, dim:].T.contiguous())


class ProductDecoder(TableDecoder):
    """w · drop(ReLU(W (z_u ⊙ z_v) + b)) + c. Nothing of W can be done beforehand: a pair costs d²
    products."""

    def __init__(self, dim: int, dropped: float) -> None:
        super().__init__()
        self.hidden, self.last, self.dropped = nn.Linear(dim, dim), nn.Linear(dim, 1), dropped

    def project(self, z: Tensor) -> Tensor:
        return z

    def decode(self, src: Tensor, dst: Tensor) -> Tensor:
        hidden = dropout(torch.relu(self.hidden(src * dst)), self.dropped, self.training)
        logits: Tensor = self.last(hidden)
        return logits[:, 0]


class DistanceDecoder(TableDecoder):
    """2 - d²(z_u, z_v), d being the distance in the Poincaré ball: the logit of Fermi and Dirac's probability
    1/(exp(d² - 2) + 1). Embeddings are tangent at the origin, and no parameter is here."""

    RADIUS = 2.0

    def project(self, z: Tensor) -> Tensor:
        return exp_0(z)

    def decode(self, src: Tensor, dst: Tensor) -> Tensor:
        return self.RADIUS - squared_distance(src, dst)
