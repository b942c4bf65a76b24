"""TGN and KEAT-TGN: node memory, attention over the last K events, a pair decoder."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from keat.attention.layer import KernelizedAttention, LastEvents, modulated
from keat.attention.query_times import TimedAttention
from keat.clock import PLAIN, Clock
from keat.errors import InputError
from keat.kernels import create_kernel
from keat.models.contract import Queries
from keat.models.decoders import LinkPredictor
from keat.models.memory_model import MemoryModel
from keat.models.tgn_config import TGNConfig
from keat.models.tgn_memory import MemoryUpdate, NodeIdentity
from keat.ops import Edges, mix_edges
from keat.state import Kept, NodeState, as_tensor
from keat.time_encoding import Cosine, TimeEncoder, create_time_encoder

__all__ = ["TGN", "TGNConfig"]


class TGN(MemoryModel):
    """An event (u, v, t, e) brings a message e of R numbers. Of every node i the model keeps a memory s_i; it
    reads the last K events of i: the memory s_j of the other end, the message e_ij, the age Δ_ij.

        s_u  ← GRU([s_u ‖ s_v ‖ e ‖ φ(t - last update of u)], s_u)             once an event of u is observed
        a_ij = ψ(Δ_ij) · [φ(Δ_ij) ‖ e_ij]                                      ψ is KEAT; in TGN it is 1
        α_ij = softmax_j((W_q s_i + b_q) · (W_k s_j + b_k + W_e a_ij)/√C)      for each head
        z_i  = W_s s_i + b_s + Σ_j α_ij (W_v s_j + b_v + W_e a_ij)
        logit(u, v) = w · ReLU(W_src z_u + W_dst z_v + b) + c

    Shapes below: n nodes with V events in all, H heads, d = T numbers in memory, encoding and embedding; B
    queries with C candidates each.
    """

    name = "tgn"
    kept: ClassVar[Kept] = Kept()

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: TGNConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__()
        if config.delta not in ("neighbor", "query"):
            raise InputError(f"delta must be 'neighbor' or 'query', not '{config.delta}'.")
        if config.messages not in ("v1", "v2"):
            raise InputError(f"messages must be 'v1' or 'v2', not '{config.messages}'.")
        self.config, self.sigma, self.clock = config, sigma, clock
        dim = self.embedding_dim = config.dim
        encoder = create_time_encoder(config.time_encoder, dim, config.precision)
        self.kernel = create_kernel(config.kernel, sigma, config.width, config.heads)
        identity = NodeIdentity(dim) if config.messages == "v2" else None
        self.memory = MemoryUpdate(feature_dim, dim, encoder, identity, clock)
        self.attention = KernelizedAttention(
            node_dim=dim,
            edge_dim=dim + feature_dim,
            out_dim=dim,
            heads=config.heads,
            dropout=config.dropout,
            modulate=config.modulate,
            shared_edge_weights=config.shared_edge_weights,
        )
        self.predictor = LinkPredictor(dim)
        self.state = NodeState(num_nodes, feature_dim, config.neighbors, self.memory, self.kept)

    @property
    def at_query(self) -> bool:
        return self.config.delta == "query"

    @property
    def time_encoder(self) -> TimeEncoder:
        """φ, one for memory and attention."""
        return self.memory.time_encoder

    # -- embeddings ----------------------------------------------------------------------------------

    def embed(self, nodes: Tensor, t: Tensor | None = None) -> Tensor:
        """z (n, d) of nodes (n,), at times ``t`` (n,) where Δ is measured from the query."""
        past = self.state.past(nodes)
        now = past.last_update[past.row] if t is None else t.repeat_interleave(past.first.diff())  # (V,)
        age = self.clock.ages(now - past.happened)  # (V,) Δ
        ones = past.x.new_ones(len(age), self.config.heads)  # (V, H)
        psi = self.kernel(age).expand_as(ones)  # (V, H) ψ(Δ)
        # KEAT is one multiplication, a = ψ · [φ ‖ e], of what keys and values have of an edge; `mix_edges`
        # does it as it reads φ and e. ``modulate`` is the ablation: ψ on nodes instead, on both, on nothing.
        psi_node, psi_edge = modulated(self.config.modulate, psi, ones)  # with "edge", KEAT: 1 and ψ
        edges = Edges(
            first=past.first,  # (n + 1,)
            x=past.x,  # (M, d) s_j, at row
            row=past.row,  # (V,)
            time=self.time_encoder(age),  # (V, T) φ(Δ)
            message=self.state.messages,  # (E, R) e, at event
            event=past.event,  # (V,)
            psi_node=psi_node,
            psi_edge=psi_edge,
            keep=functional.dropout(ones, self.config.dropout, self.training),
        )
        probe = self.attention.packed_probe(past.seeds)  # (H, n, d + T + R + 1)
        return self.attention.packed_combine(past.seeds, mix_edges(probe, edges))  # (n, d)

    # -- scores --------------------------------------------------------------------------------------

    def _score(self, src: Tensor, t: Tensor, queries: Queries) -> Tensor:
        if queries.shared and self.at_query and not self.training and isinstance(self.time_encoder, Cosine):
            candidates = as_tensor(queries.candidates, self.device).long()
            return self._score_at_all_times(src, t, candidates, self.time_encoder)
        return super()._score(src, t, queries)

    def _score_at_all_times(self, src: Tensor, t: Tensor, candidates: Tensor, encoder: Cosine) -> Tensor:
        """One list (C,) for all, where Δ is measured from the query: B times, without B·C embeddings."""
        sources: Tensor = self.predictor.lin_src(self.embed(src, t)).T.contiguous()  # (d, B)
        slots, memory = self.state.slots(candidates), self.state.memory
        age = torch.where(slots.mask, t.min() - slots.happened, 0)  # (C, K)
        past = LastEvents(memory, slots.other, slots.mask, slots.event, age, self.state.messages)
        layers = TimedAttention(self.attention, self.kernel, encoder, self.clock)
        logits = sources.new_empty(len(candidates), len(t))  # (C, B)
        for part, *projected in layers.project(self.predictor.lin_dst, t, memory[candidates], past):
            logits[part] = self.predictor.shared_at_all_times(sources, *projected)
        return logits.T
