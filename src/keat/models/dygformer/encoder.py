"""The Transformer over the tokens of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from torch import Tensor, nn

from keat.models.dygformer.attention import PairAttention
from keat.models.dygformer.bundles import Bundle
from keat.models.dygformer.config import Reading
from keat.models.dygformer.dropping import dropout
from keat.models.dygformer.feed_forward import FeedForward


class Layer(nn.Module):
    """x ← x + drop(W_O attention(x)),  x ← x + drop(FFN(LN x))."""

    def __init__(self, dim: int, heads: int, dropout: float, reading: Reading) -> None:
        super().__init__()
        self.attention = PairAttention(dim, heads, dropout, reading)
        self.norm = nn.LayerNorm(dim)
        self.feed_forward = FeedForward(dim, dropout)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Distinct tokens, and what the first layers make of them before pairs come in."""

    x: Tensor  # (R, d)
    psi: Tensor | None  # (R, heads or 1)
    first: list[Tensor]  # [Q ‖ K ‖ V] of the first layer, in pieces
    later: list[list[Tensor]]  # for ``release``, [Q ‖ K] of each layer after it


class Encoder(nn.Module):
    """Tokens of a pair → the mean of u's and the mean of v's, after all layers."""

    def __init__(self, dim: int, layers: int, heads: int, dropout: float, reading: Reading) -> None:
        super().__init__()
        self.reading, self.dropout = reading, dropout
        self.layers = nn.ModuleList(Layer(dim, heads, dropout, reading) for _ in range(layers))

    def tabulate(self, x: Tensor, psi: Tensor | None) -> Table:
        """Work on distinct tokens (R, d) alone, once for all the pairs they occur in."""
        attention = [layer.attention for layer in self._layers()]
        if psi is None or self.reading != "release":
            return Table(x, psi, attention[0].project(x, psi), [])
        fixed = [part.queries_keys(x, psi) for part in attention]
        return Table(x, psi, [*fixed[0], attention[0].values(x)], fixed[1:])

    def forward(self, table: Table, bundle: Bundle) -> Tensor:
        """(g, 2, d)"""
        x = table.x.index_select(0, bundle.row)
        psi = None if table.psi is None else table.psi.index_select(0, bundle.row)
        for number, layer in enumerate(self._layers()):
            pieces = self._queries_keys_values(number, layer.attention, table, bundle, x, psi)
            among = bundle.from_tokens(psi) if psi is not None and self.reading == "paper_patch" else None
            mixed = bundle.pack(layer.attention.attend(pieces, bundle.mask, among))
            x = x + self._drop(layer.attention.out_proj(mixed))
            if number == len(self.layers) - 1 and not self.training:
                # Nothing is dropped, so the mean over tokens may be taken before W₂ instead of after it.
                hidden = bundle.averages(layer.feed_forward.hidden(layer.norm(x)))
                means: Tensor = bundle.averages(x) + layer.feed_forward.linear2(hidden)
                return means
            x = x + self._drop(layer.feed_forward(layer.norm(x)))
        return bundle.averages(x)

    def _queries_keys_values(
        self,
        number: int,
        attention: PairAttention,
        table: Table,
        bundle: Bundle,
        x: Tensor,
        psi: Tensor | None,
    ) -> list[Tensor]:
        if number == 0:
            return [bundle.from_table(piece) for piece in table.first]
        if table.later:
            fixed = [bundle.from_table(piece) for piece in table.later[number - 1]]
            return [*fixed, bundle.from_tokens(attention.values(x))]
        return [bundle.from_tokens(piece) for piece in attention.project(x, psi)]

    def _layers(self) -> list[Layer]:
        return cast(list[Layer], list(self.layers))

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.dropout, self.training)
