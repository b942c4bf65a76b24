"""From two embeddings to a logit: lin_final(ReLU(lin_src z_u + lin_dst z_v))."""

from __future__ import annotations

import torch
from torch import Tensor, nn

NUMBERS_AT_ONCE = 1 << 18  # hidden numbers worked on at a time: 1 MiB, which stays in a core's cache


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

    def shared(self, src: Tensor, dst: Tensor) -> Tensor:
        """Logits (B, C) of projected sources (B, d) with candidates (C, d) that all share.

        The (B, C, d) hidden layer is never whole in memory: it is made, used and overwritten in pieces.
        Inference only.
        """
        weight = self.lin_final.weight[0]
        out = src.new_empty(len(src), len(dst))
        rows = max(1, NUMBERS_AT_ONCE // max(dst.numel(), 1))
        hidden = src.new_empty(rows, *dst.shape)
        for start in range(0, len(src), rows):
            part = src[start : start + rows]
            piece = torch.add(part[:, None], dst, out=hidden[: len(part)]).relu_()
            torch.matmul(piece, weight, out=out[start : start + rows])
        return out.add_(self.lin_final.bias)
