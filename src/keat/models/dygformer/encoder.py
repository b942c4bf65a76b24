"""The Transformer over the tokens of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.models.dygformer.attention import PairAttention, scale_edges, scale_nodes
from keat.models.dygformer.bundles import Bundle
from keat.models.dygformer.config import Reading
from keat.ops import add_dropped, feed_forward, hidden_units


class Layer(nn.Module):
    """x ← x + drop(W_O attention(x)),  x ← x + drop(FFN(LN x))."""

    def __init__(self, dim: int, heads: int, dropout: float, reading: Reading) -> None:
        super().__init__()
        self.attention = PairAttention(dim, heads, dropout, reading)
        self.norm = nn.LayerNorm(dim)
        self.feed_forward = FeedForward(dim, dropout)


class FeedForward(nn.Module):
    """y = W₂ drop(GELU(W₁ x + b₁)) + b₂."""

    def __init__(self, dim: int, dropout: float) -> None:
        super().__init__()
        self.linear1 = nn.Linear(dim, 4 * dim)
        self.linear2 = nn.Linear(4 * dim, dim)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        """(n, d) → (n, d)"""
        return feed_forward(x, self.linear1, self.linear2, self.dropout if self.training else 0.0)

    def hidden(self, x: Tensor) -> Tensor:
        """(n, d) → (n, 4d)"""
        return hidden_units(x, self.linear1, self.dropout if self.training else 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Projected:
    """What attention needs of tokens and can be had before they meet others."""

    first: list[Tensor]  # [Q ‖ K ‖ V] of the first layer, in pieces (·, d), (·, 2d) or (·, 3d)
    later: list[list[Tensor]]  # for ``release``, Q and K of each layer after it


class Encoder(nn.Module):
    """Tokens of a pair → the mean of u's and the mean of v's, after all layers."""

    def __init__(self, dim: int, layers: int, heads: int, dropout: float, reading: Reading) -> None:
        super().__init__()
        self.reading, self.dropout = reading, dropout
        self.layers = nn.ModuleList(Layer(dim, heads, dropout, reading) for _ in range(layers))

    def project(self, x: Tensor, psi: Tensor | None) -> Projected:
        """Of tokens (·, d) and their ψ (·, heads or 1); no ψ is the plain model."""
        attention = [layer.attention for layer in self._layers()]
        if psi is None or self.reading != "release":
            return Projected(attention[0].project(x, psi), [])
        queries, keys = (
            [functional.layer_norm(token, token.shape[1:]) for token in scale(x, psi)]
            for scale in (scale_nodes, scale_edges)
        )
        fixed = [part.queries_keys(queries, keys) for part in attention]
        return Projected([*fixed[0], attention[0].values(x)], fixed[1:])

    def forward(
        self, bundle: Bundle, x: Tensor, psi: Tensor | None, table: Projected | None = None
    ) -> Tensor:
        """Tokens (T, d) of a bundle → (g, 2, d). Where the rows of the table they come from are projected
        already, ``table`` has that; else they are projected here."""
        start = self.project(x, psi) if table is None else table
        fetch = bundle.from_tokens if table is None else bundle.from_table
        among = bundle.from_tokens(psi) if psi is not None and self.reading == "paper_patch" else None
        for number, layer in enumerate(self._layers()):
            attention = layer.attention
            if number == 0:
                pieces = [fetch(piece) for piece in start.first]
            elif start.later:
                pieces = [fetch(piece) for piece in start.later[number - 1]]
                pieces.append(bundle.from_tokens(attention.values(x)))
            else:
                pieces = [bundle.from_tokens(piece) for piece in attention.project(x, psi)]
            mixed = bundle.pack(attention.attend(pieces, bundle.mask, among))
            x = self._add(x, attention.out_proj, mixed)
            if self.training:
                x = add_dropped(x, layer.feed_forward(layer.norm(x)), self.dropout, self.training)
                continue
            hidden = layer.feed_forward.hidden(layer.norm(x))
            if number == len(self.layers) - 1:
                # Nothing is dropped, so the mean over tokens may be taken before W₂ instead of after it.
                means: Tensor = bundle.averages(x) + layer.feed_forward.linear2(bundle.averages(hidden))
                return means
            x = self._add(x, layer.feed_forward.linear2, hidden)
        return bundle.averages(x)

    def _layers(self) -> list[Layer]:
        return cast(list[Layer], list(self.layers))

    def _add(self, x: Tensor, linear: nn.Linear, y: Tensor) -> Tensor:
        """x + drop(linear(y)); where nothing is dropped, the product is added to x as it is made."""
        if self.training:
            return add_dropped(x, linear(y), self.dropout, self.training)
        return torch.addmm(x, y, linear.weight.T).add_(linear.bias)
