"""CTAN and KEAT-CTAN: embeddings that flow between nodes without loss; a node remembers its last one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.attention.layer import KernelizedAttention, Modulate, modulated
from keat.bandwidth import both_roles
from keat.clock import PLAIN, Clock
from keat.errors import InputError
from keat.events import EventStream
from keat.kernels import create_kernel
from keat.models.decoders import LinkPredictor
from keat.models.gap_scale import GapScale
from keat.models.memory_model import MemoryModel
from keat.models.settings import Help, PairTermName, check_divides, check_model, check_range, setting
from keat.models.tgn_config import Delta
from keat.ops import Edges, Precision, mix_edges
from keat.state import Kept, NodeState, PastNodes, Remembered
from keat.time_encoding import create_time_encoder

SEEDS_AT_ONCE = 1 << 11  # embedded together in evaluation: bounds the encodings to some 70 MiB a layer


@dataclass(frozen=True, slots=True)
class CTANConfig:
    """Sizes are those of the authors' runs on TGB. ``delta`` is what Δ means, for φ and ψ alike, as in TGN:
    the neighbour's last update minus the event's time (``neighbor``, as in the authors' code), or the time of
    the query minus it (``query``)."""

    kernel: str = setting("identity", Help.KERNEL)
    width: float = setting(1.0, Help.WIDTH)
    delta: Delta = setting("neighbor", Help.DELTA)
    clock: str = setting("s", Help.CLOCK)
    time_encoder: str = setting("cosine", Help.TIME_ENCODER)
    precision: Precision = setting("exact", Help.PRECISION)
    modulate: Modulate = setting("edge", Help.MODULATE)
    dim: int = setting(256, "Size of memory, time encoding and embedding alike.")
    neighbors: int = setting(32, "Last events of a node that it attends to.")
    layers: int = setting(1, "Steps of the flow; each lets a node see one event further.")
    heads: int = setting(1, Help.HEADS)
    step: float = setting(0.5, "ε, the length of a step of the flow.")
    damping: float = setting(0.1, "γ, by which the flow is damped so that it stays stable.")
    squash: bool = setting(False, "Whether an embedding ends with a tanh.")
    dropout: float = setting(0.0, Help.DROPOUT)
    pair_term: PairTermName = setting("none", Help.PAIR_TERM)
    pair_widths: str = setting("geometric", Help.PAIR_WIDTHS)

    def __post_init__(self) -> None:
        check_model(self, "dim", "neighbors", "layers", "heads")
        check_divides(self.heads, self.dim, "a dim")
        check_range(self, 0, None, "step", open_below=True)
        check_range(self, 0, None, "damping")
        if self.delta not in ("neighbor", "query"):
            raise InputError(f"delta must be 'neighbor' or 'query', not '{self.delta}'.")


class CTAN(MemoryModel):
    """Of every node i the model keeps s_i, its embedding when its last event was observed. With the last K
    events of i, of the other end j, message e_ij and age Δ_ij, and μ, s of `GapScale`:

        h⁰   = W_in [s ‖ 1] + b_in
        a_ij = ψ(Δ_ij) · [φ((Δ_ij - μ)/s) ‖ e_ij]                              ψ is KEAT; in CTAN it is 1
        α_ij = softmax_j((W_q h_i + b_q) · (W_k h_j + b_k + W_e a_ij)/√C)
        hˡ_i = h_i + ε tanh((W - Wᵀ - γI) h_i + Σ_j α_ij (W_v h_j + b_v + W_e a_ij) + b),      h = hˡ⁻¹
        z = h^L;  s_u ← z_u and s_v ← z_v once an event (u, v) is observed
        logit(u, v) = w · ReLU(W_src z_u + W_dst z_v + b) + c

    All eigenvalues of W - Wᵀ - γI have the real part -γ, whatever W: what a step carries over neither grows
    nor dies. An event reaches s through the attention of later embeddings alone.

    Shapes below: n nodes with V events in all, M nodes that these lead to, H heads, d numbers.
    """

    name = "ctan"

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: CTANConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__()
        self.config, self.sigma, self.clock = config, sigma, clock
        dim = self.embedding_dim = config.dim
        self.time_encoder = create_time_encoder(config.time_encoder, dim, config.precision)
        self.kernel = create_kernel(config.kernel, sigma, config.width, config.heads)
        self.gaps = GapScale(sigma)
        self.input = nn.Linear(dim + 1, dim)
        self.attention = AttentionWithoutSkip(
            dim, dim + feature_dim, dim, config.heads, config.dropout, config.modulate
        )
        self.flow = Antisymmetric(dim, config.damping)
        self.predictor = LinkPredictor(dim)
        kept = Kept(at_once=True, from_first=True)
        self.state = NodeState(num_nodes, feature_dim, config.neighbors, _LastEmbedding(self), kept)

    def look_at(self, train: EventStream) -> None:
        self.gaps.look_at(*both_roles(train.src, train.dst, train.t), self.clock)

    @property
    def at_query(self) -> bool:
        return self.config.delta == "query"

    @property
    def reach(self) -> int:
        return self.config.layers

    # -- embeddings ----------------------------------------------------------------------------------

    def embed(self, nodes: Tensor, t: Tensor | None = None) -> Tensor:
        at_once = max(len(nodes), 1) if self.training else SEEDS_AT_ONCE
        if t is not None:
            pieces = zip(torch.split(nodes, at_once), torch.split(t, at_once), strict=True)
            return torch.cat([self._embed(*piece) for piece in pieces])
        nodes, place = self.state.distinct(nodes)
        z = torch.cat([self._embed(piece, None) for piece in torch.split(nodes, at_once)])
        return z.index_select(0, place)

    def _embed(self, nodes: Tensor, t: Tensor | None) -> Tensor:
        """z (n, d) of nodes (n,), which differ unless they have times."""
        steps: list[tuple[PastNodes, Tensor, Tensor | None]] = []
        table, when = nodes, None
        for _ in range(self.config.layers):  # each table begins with the one before
            past, seeds = self.state.near(table), len(table)
            table = torch.cat((table, past.other))
            row = torch.arange(seeds, len(table), device=table.device)  # (V,)
            if t is None:
                table, place = self.state.distinct(table)
                row = place[seeds:]
            else:
                when = t.repeat_interleave(past.first.diff())  # (V,)
                t = torch.cat((t, when))
            steps.append((past, row, when))
        s = self.state.memory.index_select(0, table)
        h = self.input(torch.cat((s, s.new_ones(len(s), 1)), dim=1))  # (M, d)
        last_update = self.state.last_update[table]
        for past, row, when in reversed(steps):
            now = last_update[row] if when is None else when
            h = self._step(h, past, row, self.clock.ages(now - past.happened))
        return torch.tanh(h) if self.config.squash else h

    def _step(self, h: Tensor, past: PastNodes, row: Tensor, age: Tensor) -> Tensor:
        """hˡ (n, d) of the first n rows of hˡ⁻¹ (M, d), whose events have these ages (V,)."""
        seeds = h[: len(past.first) - 1]
        ones = h.new_ones(len(age), self.config.heads)  # (V, H)
        psi_node, psi_edge = modulated(self.config.modulate, self.kernel(age).expand_as(ones), ones)
        edges = Edges(
            first=past.first,
            x=h,
            row=row,
            time=self.time_encoder(self.gaps(age)),  # (V, T)
            message=self.state.messages,
            event=past.event,
            psi_node=psi_node,
            psi_edge=psi_edge,
            keep=functional.dropout(ones, self.config.dropout, self.training),
        )
        mixed = self.attention.packed_combine(seeds, mix_edges(self.attention.packed_probe(seeds), edges))
        return seeds + self.config.step * torch.tanh(self.flow(seeds) + mixed)


class Antisymmetric(nn.Module):
    """(W - Wᵀ - γI) h + b"""

    def __init__(self, dim: int, damping: float) -> None:
        super().__init__()
        self.damping = damping
        self.weight = nn.Parameter(nn.Linear(dim, dim, bias=False).weight.detach().clone())
        self.bias = nn.Parameter(torch.zeros(dim))

    def matrix(self) -> Tensor:
        return self.weight - self.weight.T - self.damping * torch.eye(len(self.bias)).to(self.weight)

    def forward(self, h: Tensor) -> Tensor:
        """(n, d) → (n, d)"""
        return functional.linear(h, self.matrix(), self.bias)


class AttentionWithoutSkip(KernelizedAttention):
    """Σ_j α_ij (v_j + ψ_ij e_ij) alone: what a node has of itself, the flow carries over."""

    def __init__(
        self, node_dim: int, edge_dim: int, out_dim: int, heads: int, dropout: float, modulate: Modulate
    ) -> None:
        super().__init__(node_dim, edge_dim, out_dim, heads, dropout, modulate)
        del self.lin_skip

    def packed_combine(self, seeds: Tensor, sums: Tensor) -> Tensor:  # noqa: ARG002
        values = self._packed_weight(self.lin_value, self.lin_edge)
        out = torch.bmm(sums, values.transpose(1, 2)).transpose(0, 1)  # (n, H, C)
        return out.flatten(1)


class _LastEmbedding:
    """The rule by which s changes: it becomes the embedding, without a gradient, as of before the event."""

    def __init__(self, model: CTAN) -> None:
        self.model, self.dim = model, model.embedding_dim

    def updated(self, nodes: Tensor, known: Remembered) -> tuple[Tensor, Tensor]:
        latest = known.t[known.pending[nodes]]
        return self.model.embed(nodes, latest if self.model.at_query else None), latest

    def never_seen(self) -> Tensor:
        return self.model.input.weight.new_zeros(1, self.dim)
