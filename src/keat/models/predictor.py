"""From two embeddings to a logit: lin_final(ReLU(lin_src z_u + lin_dst z_v))."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.ops import relu_dot, score_pairs


class LinkPredictor(nn.Module):
    """TGN's decoder. Each node is projected once; a pair costs one addition, ReLU and dot product."""

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
