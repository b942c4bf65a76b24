"""DyGFormer pair by pair, written as its formulas read: Python lists, `nn.MultiheadAttention`, exp(+age).

It shares no code with the model, only its parameters. Times are float64 throughout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.events import EventStream
from keat.models.dygformer import DyGFormer
from keat.models.dygformer.encoder import Layer

Element = tuple[int, int, int]  # node, event (-1: none), time


class Reference:
    """Scores of a model's parameters, with naive exponentials in float64 where a reading has them."""

    def __init__(self, model: DyGFormer, events: EventStream) -> None:
        self.model, self.events, self.config = model, events, model.config

    def score(self, src: Sequence[int], t: Sequence[int], candidates: np.ndarray) -> Tensor:
        """(B, C)"""
        pairs = [
            (int(u), int(v), int(now))
            for u, now, others in zip(src, t, candidates, strict=True)
            for v in others
        ]
        left = [self.sequence(u, now) for u, _, now in pairs]
        right = [self.sequence(v, now) for _, v, now in pairs]
        most_left, most_right = (max(len(one) for one in side) for side in (left, right))
        logits = []
        for u, v, (_, _, now) in zip(left, right, pairs, strict=True):
            if self.config.legacy_padding:
                sizes = self.patches(most_left), self.patches(most_right)
            else:
                sizes = self.patches(len(u)), self.patches(len(v))
            logits.append(self.logit(u, v, now, *sizes))
        return torch.stack(logits).view(candidates.shape)

    def patches(self, elements: int) -> int:
        return math.ceil(elements / self.config.patch)

    def sequence(self, node: int, now: int) -> list[Element]:
        past: list[Element] = []
        for i in range(len(self.events)):
            if self.events.t[i] < now:
                for end, other in ((self.events.src, self.events.dst), (self.events.dst, self.events.src)):
                    if end[i] == node:
                        past.append((int(other[i]), i, int(self.events.t[i])))
        return [(node, -1, now), *past[len(past) - min(len(past), self.config.length - 1) :]]

    def logit(self, u: list[Element], v: list[Element], now: int, u_patches: int, v_patches: int) -> Tensor:
        model = self.model
        tokens = torch.cat((self.tokens(u, u, v, now, u_patches), self.tokens(v, u, v, now, v_patches)))
        ages = torch.tensor([*self.ages(u, now, u_patches), *self.ages(v, now, v_patches)]).double()
        encoded = self.encode(tokens, ages)
        z_u, z_v = (model.output(part.mean(0)) for part in (encoded[:u_patches], encoded[u_patches:]))
        decoder = model.decoder
        logit: Tensor = decoder.fc2(torch.relu(decoder.fc1(torch.cat((z_u, z_v)))))[0]
        return logit

    def tokens(
        self, own: list[Element], u: list[Element], v: list[Element], now: int, patches: int
    ) -> Tensor:
        channels = self.model.channels
        rows: list[list[Tensor]] = [[], [], [], []]
        for place in range(patches * self.config.patch):
            if place < len(own):
                node, event, happened = own[place]
                features = self.events.features[event] if event >= 0 else np.zeros(self.events.feature_dim)
                edge = torch.tensor(features, dtype=torch.float32)
                time = channels.time_encoder(torch.tensor([now - happened]))[0]
                ages = [[now - t for other, _, t in side if other == node] for side in (u, v)]
            else:
                edge = torch.zeros(self.events.feature_dim)
                time = torch.zeros(self.config.time_dim)
                ages = [[], []]
            if self.events.feature_dim == 0:
                edge = torch.zeros(1)
            cooccurrence = self.cooccurrence(ages[0]) + self.cooccurrence(ages[1])
            for row, part in zip(rows, (torch.zeros(1), edge, time, cooccurrence), strict=True):
                row.append(part)
        linears = (channels.node, channels.edge, channels.time, channels.cooccurrence)
        parts = [
            linear(torch.stack(row).view(patches, -1)) for linear, row in zip(linears, rows, strict=True)
        ]
        return torch.cat(parts, dim=1)

    def cooccurrence(self, ages: list[int]) -> Tensor:
        """Of a node in a sequence in which it has these ages."""
        channels, kind = self.model.channels, self.config.cooccurrence
        encoded = torch.zeros(self.config.channel)
        if kind != "kernel":
            assert channels.count is not None
            encoded = encoded + channels.count(torch.tensor([float(len(ages))]))
        if kind != "counts":
            assert channels.fading is not None
            widths = [self.model.sigma * 4.0**power for power in range(-5, 3)]
            sums = [sum(math.exp(-age / width) for age in ages) for width in widths]
            encoded = encoded + channels.fading(torch.tensor(sums, dtype=torch.float32))
        return encoded

    def ages(self, own: list[Element], now: int, patches: int) -> list[float]:
        size = self.config.patch
        parts = [own[size * i : size * (i + 1)] for i in range(patches)]
        return [sum(now - t for _, _, t in part) / len(part) if part else float(now) for part in parts]

    def encode(self, start: Tensor, ages: Tensor) -> Tensor:
        x = start
        for module in self.model.encoder.layers:
            assert isinstance(module, Layer)
            x = x + self.attend(module, start, x, ages)
            hidden = functional.gelu(module.feed_forward.linear1(module.norm(x)))
            x = x + module.feed_forward.linear2(hidden)
        return x

    def attend(self, layer: Layer, start: Tensor, x: Tensor, ages: Tensor) -> Tensor:
        """In float64, in which exp(+age) of these tests does not overflow."""
        reading, norm = self.config.reading, layer.attention.norm
        dim, width = x.shape[1], self.config.channel
        weight, bias = layer.attention.in_proj.weight.double(), layer.attention.in_proj.bias.double()
        edge = torch.zeros(dim, dtype=torch.bool)
        edge[width : 3 * width] = True

        def normalized(token: Tensor) -> Tensor:
            return functional.layer_norm(token, (dim,), norm.weight.double(), norm.bias.double(), norm.eps)

        def project(token: Tensor, part: int) -> Tensor:
            rows = slice(part * dim, (part + 1) * dim)
            return functional.linear(token, weight[rows], bias[rows])

        z, first = normalized(x.double()), start.double()
        outputs = []
        psi = self.model.kernel(ages).double()
        for head in range(self.config.heads):
            one = psi[:, min(head, psi.shape[1] - 1), None]
            if self.model.plain:
                one = torch.ones_like(one)
            q_in = k_in = v_in = z
            factor = torch.ones(len(x), len(x), dtype=torch.float64)
            if reading == "release" and not self.model.plain:
                q_in = normalized(torch.where(edge, first / one, first))
                k_in = normalized(torch.where(edge, first * one, first))
            elif reading == "paper_edge":
                q_in, k_in = torch.where(edge, z / one, z), torch.where(edge, z * one, z)
            elif reading == "paper_patch":
                factor = one.T / one
            elif reading == "key_value":
                k_in = v_in = torch.where(edge, z * one, z)
            size = dim // self.config.heads
            columns = slice(head * size, (head + 1) * size)
            q, k, v = (project(token, i)[:, columns] for i, token in enumerate((q_in, k_in, v_in)))
            weights = torch.softmax(q @ k.T / math.sqrt(size) * factor, dim=1)
            outputs.append(weights @ v)
        mixed = torch.cat(outputs, dim=1).float()
        out: Tensor = layer.attention.out_proj(mixed)
        return out


def as_multihead(layer: Layer, dim: int, heads: int) -> nn.MultiheadAttention:
    """The same parameters in torch's own module."""
    attention = nn.MultiheadAttention(dim, heads, batch_first=True)
    ours = layer.attention
    with torch.no_grad():
        attention.in_proj_weight.copy_(ours.in_proj.weight)
        attention.in_proj_bias.copy_(ours.in_proj.bias)
        attention.out_proj.weight.copy_(ours.out_proj.weight)
        attention.out_proj.bias.copy_(ours.out_proj.bias)
    return attention.eval()
