"""The Transformer of two towers: each end of a pair reads its own tokens, then those of the other end.

What a node reads in its own tokens in the first layer has nothing to do with the other end, and nor have its
queries, keys and values there. So these are made once for every distinct (node, time); all that follows is of
a pair. Of the last layer only the first token of each end is asked for, so only that is made.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.ops import dropout

TOKENS_AT_ONCE = 1 << 13  # of pairs, encoded together: the widest layer then has some 20 MiB
Projected = tuple[Tensor, Tensor, Tensor]


class Tower(nn.Module):
    """Enc(x, y) = LN(a + drop(W₂ drop(ReLU(W₁ a + b₁)) + b₂)),  a = LN(x + drop(attention of x to y)).

    Named and initialized as `nn.TransformerEncoderLayer`, which Enc(x, x) is.
    """

    def __init__(self, dim: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.in_proj = nn.Linear(dim, 3 * dim)
        self.out_proj = nn.Linear(dim, dim)
        self.linear1, self.linear2 = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        nn.init.xavier_uniform_(self.in_proj.weight)
        nn.init.zeros_(self.in_proj.bias)
        nn.init.zeros_(self.out_proj.bias)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Enc(x, x) of tokens (n, L, d); ``mask`` (n, L) tells tokens from padding, or is added to logits."""
        return self.attend(x, *self.project(x), mask)

    def project(self, x: Tensor) -> Projected:
        """Queries, keys and values of tokens (n, L, d), (n, L, d) each."""
        q, k, v = self.in_proj(x).chunk(3, dim=-1)
        return q, k, v

    def attend(self, x: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        """Enc(x, y) of x (n, l, d) and its queries, and keys, values and mask of y (n, L, ·)."""
        q, k, v = (part.reshape(*part.shape[:2], self.heads, -1).transpose(1, 2) for part in (q, k, v))
        share = self.dropout if self.training else 0.0
        mask = mask if mask.dtype == torch.bool else mask.to(q.dtype)
        mixed = functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask[:, None, None], dropout_p=share
        )  # (n, heads, l, d / heads)
        read = self.out_proj(mixed.transpose(1, 2).flatten(2))
        a = self.norm1(x + dropout(read, share, self.training))
        hidden = dropout(torch.relu(self.linear1(a)), share, self.training)
        out: Tensor = self.norm2(a + dropout(self.linear2(hidden), share, self.training))
        return out


class TwoTowers(nn.Module):
    """In each layer, with the same weights for both ends and for both steps:

    H_u, H_v ← Enc(H_u, H_u), Enc(H_v, H_v),  then at once  H_u, H_v ← Enc(H_u, H_v), Enc(H_v, H_u)
    """

    def __init__(self, dim: int, layers: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Tower(dim, heads, dropout) for _ in range(layers))

    def forward(self, h: Tensor, mask: Tensor, left: Tensor, right: Tensor) -> Tensor:
        """First tokens (N, 2, d) of both ends of pairs (left[i], right[i]) of rows of ``h`` (M, L, d).

        The first token of a row is always there, and padding is at its end.
        """
        first = self.layers[0]
        assert isinstance(first, Tower)
        h = first(h, mask)
        projected = first.project(h)
        tokens = mask.sum(dim=1)
        longest = torch.maximum(tokens[left], tokens[right])  # (N,)
        order = torch.argsort(longest, stable=True)
        pairs = [
            self._pairs(h, projected, mask, torch.stack((left[part], right[part])), width)
            for part, width in _pieces(order, longest, h.shape[1])
        ]
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order), device=order.device)
        return torch.cat([h.new_empty(0, 2, h.shape[2]), *pairs]).index_select(0, place)

    def _pairs(self, h: Tensor, projected: Projected, mask: Tensor, rows: Tensor, width: int) -> Tensor:
        """First tokens (g, 2, d) of pairs (2, g) whose rows have at most ``width`` tokens."""
        own = rows.flatten()  # (2g,) u's, then v's
        x, q, k, v = (part[:, :width].index_select(0, own) for part in (h, *projected))  # (2g, width, d)
        there = mask[:, :width].index_select(0, own)
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, Tower)
            if number > 0:
                x = layer(x, there)
                q, k, v = layer.project(x)
            if number == len(self.layers) - 1:
                x, q = x[:, :1], q[:, :1]
            k, v, of_other = (part.roll(len(own) // 2, dims=0) for part in (k, v, there))
            x = layer.attend(x, q, k, v, of_other)
        return x[:, 0].view(2, -1, x.shape[2]).transpose(0, 1)


def _pieces(order: Tensor, longest: Tensor, most: int) -> Iterator[tuple[Tensor, int]]:
    """Pairs in the order of their length, in pieces, and the length of the longest of each piece."""
    size = max(1, TOKENS_AT_ONCE // (2 * most))
    last = [min(first + size, len(order)) - 1 for first in range(0, len(order), size)]
    widths = longest[order[last]].tolist()  # one wait for the device, for all pieces
    yield from zip(torch.split(order, size), widths, strict=False)  # of no pairs, split makes one piece
