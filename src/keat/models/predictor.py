"""From two embeddings to a logit: lin_final(ReLU(lin_src z_u + lin_dst z_v))."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from keat.state.compiled import Floats, compiled, is_compilable

NUMBERS_AT_ONCE = 1 << 22  # hidden numbers worked on at a time where they must be written down


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

        The (B, C, d) hidden layer is never whole in memory. Inference only.
        """
        return relu_dot(src, dst.T.contiguous()[None], self.lin_final.weight[0]).add_(self.lin_final.bias)


def relu_dot(own: Tensor, others: Tensor, weight: Tensor) -> Tensor:
    """out_ij = Σ_k weight_k max(own_ik + others_ikj, 0): (n, d) and (n or 1, d, m) → (n, m).

    Inference only.
    """
    if is_compilable(own):
        out = own.new_empty(len(own), others.shape[2])
        _relu_dot(own.numpy(), others.numpy(), weight.detach().numpy(), out.numpy())
        return out
    others = others.expand(len(own), -1, -1)
    rows = max(1, NUMBERS_AT_ONCE // max(others[0].numel(), 1)) if len(own) else 1
    pieces = zip(torch.split(own[..., None], rows), torch.split(others, rows), strict=True)
    return torch.cat([weight @ torch.relu(mine + theirs) for mine, theirs in pieces])


@compiled
def _relu_dot(own: Floats, others: Floats, weight: Floats, out: Floats) -> None:
    """One pass, nothing written but the result. The innermost loop runs over candidates, so it is made of
    vector instructions without reordering any sum."""
    nothing = weight.dtype.type(0)
    for i in range(len(own)):
        row, table = out[i], others[i % len(others)]
        row[:] = 0
        for k in range(len(weight)):
            mine, theirs, factor = own[i, k], table[k], weight[k]
            for j in range(len(row)):
                row[j] += factor * max(mine + theirs[j], nothing)
