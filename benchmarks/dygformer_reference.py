"""DyGFormer as DyGLib is organized: neighbours node by node, co-occurrence pair by pair, everything padded to
the longest of the batch and attended to, positives and negatives in passes of their own.

Written for the benchmark from the description of that code; a test holds its scores to keat's with
``legacy_padding``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.events import EventStream
from keat.models.dygformer import DyGFormer
from keat.models.dygformer.encoder import Layer

Ints = npt.NDArray[np.int64]


class NeighborSampler:
    """Every node's events in lists, looked up one node at a time. Ids are shifted by one: 0 is padding."""

    def __init__(self, events: EventStream) -> None:
        lists: list[list[tuple[int, int, int]]] = [[] for _ in range(events.num_nodes)]
        columns = (events.src.tolist(), events.dst.tolist(), events.t.tolist())
        for i, (u, v, t) in enumerate(zip(*columns, strict=True)):
            lists[u].append((v + 1, i + 1, t))
            lists[v].append((u + 1, i + 1, t))
        by_node = [np.array(rows, dtype=np.int64).reshape(-1, 3) for rows in lists]
        self.ids, self.events, self.times = (
            [np.ascontiguousarray(rows[:, column]) for rows in by_node] for column in range(3)
        )

    def before(self, nodes: Ints, t: Ints) -> list[tuple[Ints, Ints, Ints]]:
        found = []
        for node, now in zip(nodes.tolist(), t.tolist(), strict=True):
            end = np.searchsorted(self.times[node], now)
            found.append((self.ids[node][:end], self.events[node][:end], self.times[node][:end]))
        return found


@dataclass(frozen=True, slots=True)
class Padded:
    ids: Ints  # (n, longest)
    events: Ints
    times: Ints


def pad(nodes: Ints, t: Ints, found: list[tuple[Ints, Ints, Ints]], length: int) -> Padded:
    kept = [tuple(column[-(length - 1) :] for column in one) for one in found]
    longest = 1 + max(len(one[0]) for one in kept)
    padded = Padded(*(np.zeros((len(nodes), longest), dtype=np.int64) for _ in range(3)))
    for i, (ids, events, times) in enumerate(kept):
        padded.ids[i, 0], padded.times[i, 0] = nodes[i] + 1, t[i]
        padded.ids[i, 1 : len(ids) + 1] = ids
        padded.events[i, 1 : len(ids) + 1] = events
        padded.times[i, 1 : len(ids) + 1] = times
    return padded


def count(left: Padded, right: Padded) -> tuple[Tensor, Tensor]:
    """How often each node occurs in its own sequence and in the other, pair by pair; 0 for padding."""
    counted: tuple[list[Tensor], list[Tensor]] = ([], [])
    for u, v in zip(left.ids, right.ids, strict=True):
        unique_u, inverse_u, times_u = np.unique(u, return_inverse=True, return_counts=True)
        unique_v, inverse_v, times_v = np.unique(v, return_inverse=True, return_counts=True)
        in_u = dict(zip(unique_u.tolist(), times_u.tolist(), strict=True))
        in_v = dict(zip(unique_v.tolist(), times_v.tolist(), strict=True))
        of_u = torch.tensor([in_v.get(i, 0) for i in u.tolist()])
        of_v = torch.tensor([in_u.get(i, 0) for i in v.tolist()])
        counted[0].append(torch.stack((torch.from_numpy(times_u[inverse_u]), of_u), dim=1))
        counted[1].append(torch.stack((of_v, torch.from_numpy(times_v[inverse_v])), dim=1))
    of_left, of_right = (torch.stack(rows).float() for rows in counted)
    of_left[torch.from_numpy(left.ids == 0)] = 0
    of_right[torch.from_numpy(right.ids == 0)] = 0
    return of_left, of_right


class Reference(nn.Module):
    """The plain model with patches of one element, built from the parameters of one of keat's."""

    def __init__(self, model: DyGFormer, events: EventStream) -> None:
        super().__init__()
        config = model.config
        self.length, self.dropout = config.length, config.dropout
        self.channels, self.output, self.decoder = model.channels, model.output, model.decoder
        self.layers = nn.ModuleList(
            _EncoderLayer(layer, config.heads, config.dropout)
            for layer in model.encoder.layers
            if isinstance(layer, Layer)
        )
        self.sampler = NeighborSampler(events)
        self.features = torch.cat((torch.zeros(1, events.feature_dim), torch.tensor(events.features)))

    def sample(self, src: Ints, dst: Ints, t: Ints) -> tuple[Padded, Padded, tuple[Tensor, Tensor]]:
        left, right = (pad(nodes, t, self.sampler.before(nodes, t), self.length) for nodes in (src, dst))
        return left, right, count(left, right)

    def forward(self, src: Ints, dst: Ints, t: Ints) -> Tensor:
        """One pass: logits (n,) of pairs."""
        left, right, counts = self.sample(src, dst, t)
        return self.network(left, right, counts, t)

    def network(self, left: Padded, right: Padded, counts: tuple[Tensor, Tensor], t: Ints) -> Tensor:
        tokens = [self.tokens(side, n, t) for side, n in zip((left, right), counts, strict=True)]
        x = torch.cat(tokens, dim=1)
        for layer in self.layers:
            x = layer(x)
        split = left.ids.shape[1]
        z_u, z_v = self.output(x[:, :split].mean(dim=1)), self.output(x[:, split:].mean(dim=1))
        logits: Tensor = self.decoder(z_u, z_v)
        return logits[:, 0]

    def tokens(self, side: Padded, counts: Tensor, t: Ints) -> Tensor:
        channels = self.channels
        encoded = channels.time_encoder(torch.from_numpy(t[:, None] - side.times))
        encoded = encoded.masked_fill(torch.from_numpy(side.ids == 0)[..., None], 0)
        nodes = torch.zeros(*side.ids.shape, 1)
        edges = self.features[torch.from_numpy(side.events)] if self.features.shape[1] else nodes
        assert channels.count is not None
        appearing = channels.count(counts[..., None]).sum(dim=2)
        parts = (
            (channels.node, nodes),
            (channels.edge, edges),
            (channels.time, encoded),
            (channels.cooccurrence, appearing),
        )
        return torch.cat([linear(part) for linear, part in parts], dim=2)


class _EncoderLayer(nn.Module):
    def __init__(self, layer: Layer, heads: int, dropout: float) -> None:
        super().__init__()
        ours = layer.attention
        self.attention = nn.MultiheadAttention(ours.out_proj.in_features, heads, dropout)
        weights: dict[str, Any] = {
            "in_proj_weight": ours.in_proj.weight,
            "in_proj_bias": ours.in_proj.bias,
            "out_proj.weight": ours.out_proj.weight,
            "out_proj.bias": ours.out_proj.bias,
        }
        self.attention.load_state_dict(weights)
        self.norms = nn.ModuleList((ours.norm, layer.norm))
        self.linears = nn.ModuleList((layer.feed_forward.linear1, layer.feed_forward.linear2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        z = self.norms[0](x.transpose(0, 1))
        x = x + self.dropout(self.attention(z, z, z)[0].transpose(0, 1))
        hidden = self.dropout(functional.gelu(self.linears[0](self.norms[1](x))))
        out: Tensor = x + self.dropout(self.linears[1](hidden))
        return out
