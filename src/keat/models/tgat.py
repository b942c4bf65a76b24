"""TGAT and KEAT-TGAT: attention over past events, and over their past in turn; no memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from keat.attention.layer import LastEvents, Modulate
from keat.clock import PLAIN, Clock
from keat.models.decoders import MergeLayer
from keat.models.node_time import Nodes, NodeTimeModel, distinct_moments
from keat.models.settings import Help, PairTermName, check_model, setting
from keat.models.temporal_attention import TemporalAttention
from keat.ops import Integers, Precision
from keat.state import as_tensor

SEEDS_AT_ONCE = 1 << 11  # of one layer, in evaluation: bounds the encodings to some 20 MiB


@dataclass(frozen=True, slots=True)
class TGATConfig:
    """Sizes are those of DyGLib. Δ is measured from the moment that is embedded, for φ and ψ alike. A
    ``pair_term`` is put beside the model by `keat.models.registry.assemble`."""

    kernel: str = setting("identity", Help.KERNEL)
    width: float = setting(1.0, Help.WIDTH)
    clock: str = setting("s", Help.CLOCK)
    time_encoder: str = setting("cosine-geometric", Help.TIME_ENCODER)
    precision: Precision = setting("exact", Help.PRECISION)
    modulate: Modulate = setting("edge", Help.MODULATE)
    layers: int = setting(2, "Layers: with 2, a node attends to events and to the events before those.")
    neighbors: int = setting(20, "Last events of a node that it attends to.")
    heads: int = setting(2, Help.HEADS)
    dropout: float = setting(0.1, Help.DROPOUT)
    time_dim: int = setting(100, Help.TIME_DIM)
    node_dim: int = setting(0, Help.NODE_DIM)
    out_dim: int = setting(172, Help.OUT_DIM)
    pair_term: PairTermName = setting("none", Help.PAIR_TERM)
    pair_widths: str = setting("geometric", Help.PAIR_WIDTHS)

    def __post_init__(self) -> None:
        check_model(self, "layers", "neighbors", "heads", "time_dim", "out_dim")


class TGAT(NodeTimeModel):
    """Layer l embeds node i at time t from its last K events (j, t_ij < t) with messages e_ij:

        h⁰_i(t) = x_i                                                 the node's features
        a_ij    = ψ(t - t_ij) · [φ(t - t_ij) ‖ e_ij]                  ψ is KEAT; in TGAT it is 1
        q_i, k_ij = [hˡ⁻¹_i(t) ‖ φ(0)], [hˡ⁻¹_j(t_ij) ‖ a_ij]
        α_ij    = softmax_j(W_q q_i · W_k k_ij/√C)                    for each head
        m_i     = LayerNorm(W_o Σ_j α_ij W_v k_ij + b_o + q_i)
        hˡ_i(t) = W₂ ReLU(W₁ [m_i ‖ x_i] + b₁) + b₂
        logit(u, v, t) = merge(h_u(t), h_v(t))

    Shapes below: n moments (i, t) with K events each, M moments of the layer below, d and T numbers.
    """

    name = "tgat"

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: TGATConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__(num_nodes, feature_dim, sigma, config, clock, config.heads)
        self.config = config
        self.attentions, self.merges = nn.ModuleList(), nn.ModuleList()
        dim = raw = self.node_features.width
        for _ in range(config.layers):
            attention = TemporalAttention(
                dim, config.time_dim, feature_dim, config.heads, config.dropout, config.modulate
            )
            dim = config.out_dim
            self.attentions.append(attention)
            self.merges.append(MergeLayer(attention.out_dim, raw, dim, dim))

    def embed(self, nodes: Nodes, t: Integers) -> Tensor:
        entries = self.state.before(nodes, t, self.config.neighbors)
        return self._embed(nodes, t, entries, self.config.layers)

    def _embed(self, nodes: Nodes, t: Integers, entries: Integers, layer: int) -> Tensor:
        """hˡ of nodes at times t, whose last K events are ``entries`` (n, K)."""
        slots = self.state.slots(entries)  # (n, K) each
        raw = self.node_features.of(as_tensor(nodes, self.device).long())  # (n, ·) x_i
        if layer == 1:
            h, x = raw, self.node_features.table  # (n, d), (M, d)
            row = self.node_features.rows(slots.other)  # (n, K)
        else:
            x, row_of = self._below(nodes, t, entries, layer)  # (M, d)
            h, row = x[: len(nodes)], as_tensor(row_of, self.device)
        age = torch.where(slots.mask, as_tensor(t, self.device)[:, None] - slots.happened, 0)  # (n, K)
        past = LastEvents(x, row, slots.mask, slots.event, self.clock.ages(age), self.state.messages)
        attention, merge = self.attentions[layer - 1], self.merges[layer - 1]
        at_once = max(len(nodes), 1) if self.training else SEEDS_AT_ONCE
        pieces = (slice(first, first + at_once) for first in range(0, max(len(nodes), 1), at_once))
        embedded = torch.cat(
            [
                merge(attention(h[part], past[part], self.time_encoder, self.kernel), raw[part])
                for part in pieces
            ]
        )
        return embedded.to(raw.dtype)  # what the next layer sums is not bfloat16, also where products are

    def _below(self, nodes: Nodes, t: Integers, entries: Integers, layer: int) -> tuple[Tensor, Integers]:
        """hˡ⁻¹ of the seeds, then of the other ends of their events when those happened, each distinct
        (node, time) once; and for every event which row is its other end's."""
        mask = entries >= 0
        near = entries[mask]
        others, happened = self.state.other_end(near), self.state.time_of(near)
        first, place = distinct_moments(others, happened)
        x = self._embed(
            np.concatenate((nodes, others[first])),
            np.concatenate((t, happened[first])),
            np.concatenate((entries, self.state.before_entries(near[first], entries.shape[1]))),
            layer - 1,
        )
        row = np.zeros(entries.shape, dtype=np.int64)
        row[mask] = len(nodes) + place
        return x, row
