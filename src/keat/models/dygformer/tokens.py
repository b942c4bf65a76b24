"""Four channels make a token: node and edge features, time encoding, co-occurrence.

Each channel is Linear(P · d → 50) of the P slots of a patch one after the other; empty slots are zeros.

Co-occurrence is f(in u's sequence) + f(in v's) of each slot, with f = Linear ∘ ReLU ∘ Linear of how often the
slot's node occurs there, or of kernel sums of the ages at which it does (`keat.models.dygformer.fading`), or
the sum of two such f.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.models.dygformer.config import Cooccurrence
from keat.models.dygformer.fading import FadingSums
from keat.models.dygformer.sequences import PairTokens, Sequences
from keat.state import NodeFeatures, as_tensor
from keat.time_encoding import TimeEncoder


class Channels(nn.Module):
    """Sequences and pairs of them → distinct tokens (R, 4 · channel)."""

    def __init__(
        self,
        patch: int,
        channel: int,
        feature_dim: int,
        node_features: NodeFeatures,
        encoder: TimeEncoder,
        cooccurrence: Cooccurrence,
        kernels: int,  # M: widths of the kernel sums
    ) -> None:
        super().__init__()
        self.patch, self.feature_dim = patch, feature_dim
        self.node_features, self.time_encoder = node_features, encoder
        self.node = nn.Linear(patch * node_features.width, channel)
        self.edge = nn.Linear(patch * max(feature_dim, 1), channel)  # without features: one zero
        self.time = nn.Linear(patch * encoder.dim, channel)
        self.count = _encoder(1, channel) if cooccurrence in ("counts", "both") else None
        self.fading = _encoder(kernels, channel) if cooccurrence in ("kernel", "both") else None
        self.cooccurrence = nn.Linear(patch * channel, channel)

    def forward(
        self, sequences: Sequences, tokens: PairTokens, sums: FadingSums | None, features: Tensor
    ) -> Tensor:
        patches = self._patches(sequences, features)
        if len(tokens.patch) > len(patches):
            patches = patches.index_select(0, as_tensor(tokens.patch, patches.device))
        return torch.cat((patches, self._cooccurrences(tokens, sums)), dim=1)

    def _patches(self, sequences: Sequences, features: Tensor) -> Tensor:
        """What a patch is by itself, [n ‖ e ‖ τ], (patches, 3 · channel)."""
        device = features.device
        count = int(sequences.first[-1])
        node, event, age = (
            as_tensor(part, device) for part in (sequences.node, sequences.event, sequences.age)
        )
        if self.node_features.used:
            known = self.node_features.of(torch.where(node < 0, len(self.node_features.table), node))
            n = self.node(known.view(count, -1))
        else:
            n = _of_zeros(self.node, count)
        if self.feature_dim > 0:
            of_event = features.index_select(0, event.clamp(min=0)) * (event >= 0)[:, None]
            e = self.edge(of_event.view(count, -1))
        else:
            e = _of_zeros(self.edge, count)
        encoded = self.time_encoder(age)
        if len(node) > sequences.length.sum():
            encoded = encoded * (node >= 0)[:, None]
        return torch.cat((n, e, self.time(encoded.view(count, -1))), dim=1)

    def _cooccurrences(self, tokens: PairTokens, sums: FadingSums | None) -> Tensor:
        """W [f(own) + f(cross)] of each slot + b, (R, channel)."""
        of_counts = None if self.count is None else self._counts(tokens, self.count)
        if sums is None or self.fading is None:
            assert of_counts is not None
            return of_counts + self.cooccurrence.bias
        of_sums = self._sums(tokens, sums, self.fading)
        return (of_sums if of_counts is None else of_counts + of_sums) + self.cooccurrence.bias

    def _sums(self, tokens: PairTokens, sums: FadingSums, f: nn.Sequential) -> Tensor:
        """Of kernel sums. Where nothing is shared the other sequence adds f(0), the same for all."""
        device = self.edge.bias.device

        def projected(of_slots: Tensor) -> Tensor:
            return functional.linear(f(of_slots).flatten(1), self.cooccurrence.weight)

        own, cross = (projected(as_tensor(part, device)) for part in (sums.own, sums.cross))
        nothing = projected(own.new_zeros(1, *sums.own.shape[1:]))
        own = own.index_select(0, as_tensor(tokens.patch, device))
        return own + torch.cat((nothing.expand(len(sums.own), -1), cross))

    def _counts(self, tokens: PairTokens, f: nn.Sequential) -> Tensor:
        """Of counts: a sum over slots of columns of one small table, since counts are small integers."""
        own, cross = (as_tensor(part, self.edge.bias.device) for part in (tokens.own, tokens.cross))
        most = 1 + int(max(tokens.own.max(initial=0), tokens.cross.max(initial=0)))
        channel = len(self.cooccurrence.bias)
        numbers = torch.arange(most, device=own.device, dtype=self.edge.bias.dtype)
        encoded = f(numbers[:, None])  # (counts, channel)
        by_slot = self.cooccurrence.weight.view(channel, self.patch, channel)
        table = torch.einsum("kc,opc->pko", encoded, by_slot).reshape(-1, channel)  # (P · counts, channel)
        place = most * torch.arange(self.patch, device=own.device)
        bags = torch.cat((own + place, cross + place), dim=1)  # (R, 2P)
        return functional.embedding_bag(bags, table, mode="sum")


def _encoder(numbers: int, channel: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(numbers, channel), nn.ReLU(), nn.Linear(channel, channel))


def _of_zeros(linear: nn.Linear, count: int) -> Tensor:
    zeros = linear.weight.new_zeros(1, linear.in_features)
    row: Tensor = linear(zeros)
    return row.expand(count, -1)
