"""The decoder of TNCN: a product of two embeddings, and sums over the nodes that a pair has in common."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.ops import relu_dot
from keat.state import AROUND_BOTH, BOTH

PARTS = {1: 2, 0: 4, 2: 8}  # of what the decoder sees of a pair, by mode

KINDS = {1: range(BOTH, BOTH + 1), 0: range(BOTH, BOTH + 1), 2: range(BOTH, AROUND_BOTH + 1)}

Sums = list[
    tuple[Tensor, Tensor]
]  # for each part but the first: pairs (p,), and what is not zero there (p, d)


class CommonNeighborPredictor(nn.Module):
    """lin_final(ReLU(lin_hidden x)), x = [z_u ⊙ z_v ‖ sums]. Sums are given where they are not zero, and
    reach the hidden units through their own block of the matrix."""

    def __init__(self, dim: int, hidden: int, mode: int) -> None:
        super().__init__()
        self.dim, self.mode = dim, mode
        self.lin_hidden = nn.Linear(PARTS[mode] * dim, hidden)
        self.lin_final = nn.Linear(hidden, 1)

    def forward(self, z: Tensor, src: Tensor, dst: Tensor, sums: Sums) -> Tensor:
        """Logits (B, C) of rows of ``z`` (n, d): ``src`` (B,) with ``dst`` (B, C)."""
        first, *others = torch.split(self.lin_hidden.weight, self.dim, dim=1)  # (h, d) each
        product = z.index_select(0, src)[:, None] * functional.embedding(dst, z)  # (B, C, d)
        hidden = functional.linear(product, first, self.lin_hidden.bias).flatten(0, 1)  # (B·C, h)
        for weight, (pair, part) in zip(others, sums, strict=True):
            hidden.index_add_(0, pair, functional.linear(part, weight).to(hidden.dtype))
        logits: Tensor = self.lin_final(torch.relu_(hidden))
        return logits.view(dst.shape)

    def alone(self, src: Tensor, dst: Tensor) -> Tensor:
        """Logits (n, C) of sources (n, d) with candidates (d, C) that all share, of pairs with nothing in
        common. z_u goes into the matrix, so that hidden units are one product a source. Inference only."""
        first, bias = self.lin_hidden.weight[:, : self.dim], self.lin_hidden.bias[None]
        weight = self.lin_final.weight[0]
        logits = [relu_dot(bias, ((first * z) @ dst)[None], weight) for z in src]
        return torch.cat([src.new_empty(0, dst.shape[1]), *logits]).add_(self.lin_final.bias)

    def renew(self, logits: Tensor, z: Tensor, src: Tensor, columns: Tensor, sums: Sums) -> None:
        """Write the logits (B, C) of those pairs that have something in common: of rows ``src`` (B,) of ``z``
        with candidates ``columns`` (d, C)."""
        first, *others = torch.split(self.lin_hidden.weight, self.dim, dim=1)
        pairs, place = torch.unique(torch.cat([pair for pair, _ in sums]), return_inverse=True)
        row, column = pairs // max(logits.shape[1], 1), pairs % max(logits.shape[1], 1)
        product = z.index_select(0, src[row]) * columns.index_select(1, column).T  # (p, d)
        hidden = functional.linear(product, first, self.lin_hidden.bias)  # (p, h)
        where = torch.split(place, [len(pair) for pair, _ in sums])
        for weight, rows, (_, part) in zip(others, where, sums, strict=True):
            hidden.index_add_(0, rows, functional.linear(part, weight))
        logits.view(-1)[pairs] = self.lin_final(torch.relu_(hidden))[:, 0]


def add_up(kinds: range, z: Tensor, kind: Tensor, pair: Tensor, node: Tensor, weight: Tensor) -> Sums:
    """Σ weight · z over the entries of each kind and pair; ``node`` (E,) are rows of z. Entries are put in
    order and summed as they are read: no row of z is copied."""
    sums: Sums = []
    for each in kinds:
        entries = torch.nonzero(kind == each)[:, 0]
        entries = entries[torch.argsort(pair[entries], stable=True)]
        pairs, count = torch.unique_consecutive(pair[entries], return_counts=True)
        total = functional.embedding_bag(
            node[entries], z, count.cumsum(0) - count, mode="sum", per_sample_weights=weight[entries].to(z)
        )
        sums.append((pairs, total))
    return sums
