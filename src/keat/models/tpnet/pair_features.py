"""Products of walks of a pair into features, with as little work for each candidate as there can be."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class PairFeatures(nn.Module):
    """With F the rows H⁽⁰⁾ … H⁽ᵏ⁾ of u and then those of v,

        f_uv = W₂ ReLU(W₁ log(1 + max(F Fᵀ, 0)) + b₁) + b₂

    of all numbers of F Fᵀ, for each width. F Fᵀ is symmetric, and its corners belong to u alone and v alone:
    W₁ is applied to each corner by itself, to that of u once for all of its candidates.
    """

    def __init__(self, widths: int, steps: int) -> None:
        super().__init__()
        self.widths, self.size = widths, steps + 1
        dim = self.dim = widths * 4 * self.size**2
        self.linear1 = nn.Linear(dim, 4 * dim)
        self.linear2 = nn.Linear(4 * dim, dim)

    def forward(self, own: Tensor, cross: Tensor, other: Tensor) -> Tensor:
        """Gram matrices (…, M, K, K) of u with itself, of u with v and of v with itself, whose other axes may
        be broadcast → (…, dim)"""
        weight = self.linear1.weight.view(-1, self.widths, 2 * self.size, 2 * self.size)
        k = self.size
        both = weight[..., :k, k:] + weight[..., k:, :k].transpose(2, 3)  # cross is there twice
        of_own, of_cross, of_other = (
            part.flatten(1) for part in (weight[..., :k, :k], both, weight[..., k:, k:])
        )
        mine, ours, theirs = (torch.log1p(gram.clamp(min=0)).flatten(-3) for gram in (own, cross, other))
        known = torch.cat((ours, theirs.expand_as(ours)), dim=-1)  # (…, 2·M·K·K)
        hidden = functional.linear(known, torch.cat((of_cross, of_other), dim=1))  # (…, 4 dim)
        hidden = hidden.add_(functional.linear(mine, of_own, self.linear1.bias))
        features: Tensor = self.linear2(torch.relu_(hidden))
        return features
