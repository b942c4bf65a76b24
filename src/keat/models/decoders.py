"""Two vectors into one: decoders of pairs of embeddings."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.ops import relu_dot, relu_dot_both, score_pairs


class LinkPredictor(nn.Module):
    """TGN's decoder, lin_final(ReLU(lin_src z_u + lin_dst z_v)). Each node is projected once; a pair costs
    one addition, ReLU and dot product."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.lin_src = nn.Linear(dim, dim)
        self.lin_dst = nn.Linear(dim, dim)
        self.lin_final = nn.Linear(dim, 1)

    def own(self, src: Tensor, dst: Tensor) -> Tensor:
        """Logits (B, C) of projected sources (B, d) with projected candidates of their own (B, C, d)."""
        hidden: Tensor = self.lin_final(torch.relu(src[:, None] + dst))
        return hidden.squeeze(-1)

    def pairs(self, z: Tensor, src: Tensor, dst: Tensor) -> Tensor:
        """Logits (B, C) of rows of ``z`` (n, d), each projected once: ``src`` (B,) with ``dst`` (B, C)."""
        weight, bias = (
            torch.cat((getattr(self.lin_src, name), getattr(self.lin_dst, name)))
            for name in ("weight", "bias")
        )
        projected = functional.linear(z, weight, bias).to(z.dtype)  # (n, 2d)
        return score_pairs(projected, self.lin_final.weight[0], self.lin_final.bias, src, dst)

    def shared(self, src: Tensor, dst: Tensor) -> Tensor:
        """Logits (B, C) of projected sources (B, d) with candidates (d, C) that all share.

        The (B, C, d) hidden layer is never whole in memory. Inference only.
        """
        return relu_dot(src, dst[None], self.lin_final.weight[0]).add_(self.lin_final.bias)

    def shared_at_all_times(self, src: Tensor, dst: Tensor, later: Tensor) -> Tensor:
        """Logits (c, B) of projected sources (d, B) with c candidates that all share, each embedded anew for
        every source: projected they are ``dst`` (c, d) plus ``later`` (c, d, B). Inference only."""
        return relu_dot_both(dst, src, later, self.lin_final.weight[0]).add_(self.lin_final.bias)


class MergeLayer(nn.Module):
    """W₂ ReLU(W₁ [a ‖ b] + b₁) + b₂: the decoder of DyGLib's models, and the layer that TGAT ends with.

    W₁ [a ‖ b] is a sum of two products, so where a is paired with many b, each is projected once.
    """

    def __init__(self, first_dim: int, second_dim: int, hidden_dim: int, out_dim: int) -> None:
        super().__init__()
        self.first_dim = first_dim
        self.fc1 = nn.Linear(first_dim + second_dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, out_dim)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """(..., first_dim) and (..., second_dim) → (..., out_dim)"""
        return self.join(self.project_first(first), self.project_second(second))

    def project_first(self, first: Tensor) -> Tensor:
        return functional.linear(first, self.fc1.weight[:, : self.first_dim], self.fc1.bias)

    def project_second(self, second: Tensor) -> Tensor:
        return functional.linear(second, self.fc1.weight[:, self.first_dim :])

    def join(self, first: Tensor, second: Tensor) -> Tensor:
        """The rest of the way from two projections."""
        out: Tensor = self.fc2(torch.relu(first + second))
        return out
