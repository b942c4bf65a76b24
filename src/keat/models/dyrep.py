"""DyRep and KEAT-DyRep: a recurrent memory whose messages sum up the neighbourhood of the other end."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from keat.attention.layer import KernelizedAttention, Modulate
from keat.clock import PLAIN, Clock
from keat.errors import InputError
from keat.kernels import create_kernel
from keat.models.decoders import LinkPredictor
from keat.models.memory_model import MemoryModel
from keat.models.recurrent_memory import RecurrentUpdate
from keat.models.settings import Help, PairTermName, check_divides, check_model, setting
from keat.models.tgn_config import Delta
from keat.ops import NeighborFeatures, Precision
from keat.state import Kept, NodeState, Remembered
from keat.time_encoding import TimeEncoder, create_time_encoder


@dataclass(frozen=True, slots=True)
class DyRepConfig:
    """Sizes are those of TGB's example. ``delta`` is what Δ means in the attention, for φ and ψ alike: the
    time of the event that brings the message minus that of a past event (``query``), or the last update of
    the neighbour minus it (``neighbor``, as in TGB's example).

    With ``parity`` the attention gets no gradient, as in both public implementations."""

    kernel: str = setting("identity", Help.KERNEL)
    width: float = setting(1.0, Help.WIDTH)
    delta: Delta = setting("query", Help.DELTA)
    clock: str = setting("s", Help.CLOCK)
    time_encoder: str = setting("cosine", Help.TIME_ENCODER)
    precision: Precision = setting("exact", Help.PRECISION)
    modulate: Modulate = setting("edge", Help.MODULATE)
    dim: int = setting(100, "Size of memory, time encoding and embedding alike.")
    neighbors: int = setting(10, "Last events of a node that it attends to.")
    heads: int = setting(2, Help.HEADS)
    dropout: float = setting(0.1, Help.DROPOUT)
    parity: bool = setting(False, Help.PARITY)
    pair_term: PairTermName = setting("none", Help.PAIR_TERM)
    pair_widths: str = setting("geometric", Help.PAIR_WIDTHS)

    def __post_init__(self) -> None:
        check_model(self, "dim", "neighbors", "heads")
        check_divides(self.heads, self.dim, "a dim")
        if self.delta not in ("neighbor", "query"):
            raise InputError(f"delta must be 'neighbor' or 'query', not '{self.delta}'.")


class DyRep(MemoryModel):
    """Of every node i the model keeps a memory s_i. An event (u, v, t, e) tells each end what the other was
    surrounded by, from the last K events that v had had, of the other end j, message e_vj and age Δ_vj:

        a_vj = ψ(Δ_vj) · [φ(Δ_vj) ‖ e_vj]                                      ψ is KEAT; in DyRep it is 1
        α_vj = softmax_j((W_q s_v + b_q) · (W_k s_j + b_k + W_e a_vj)/√C)      for each head
        g_v  = W_s s_v + b_s + Σ_j α_vj (W_v s_j + b_v + W_e a_vj)
        s_u  ← tanh(W_x [s_u ‖ g_v ‖ e ‖ φ(t - last update of u)] + b_x + W_h s_u + b_h)
        logit(u, v) = w · ReLU(W_src s_u + W_dst s_v + b) + c

    A message waits until it is read, so that the next loss reaches the attention through it.
    """

    name = "dyrep"

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: DyRepConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__()
        self.config, self.sigma, self.clock = config, sigma, clock
        dim = self.embedding_dim = config.dim
        encoder = create_time_encoder(config.time_encoder, dim, config.precision)
        self.memory = NeighborhoodUpdate(feature_dim, encoder, sigma, config, clock)
        self.predictor = LinkPredictor(dim)
        kept = Kept(around=config.neighbors, from_first=True)
        self.state = NodeState(num_nodes, feature_dim, config.neighbors, self.memory, kept)

    @property
    def reach(self) -> int:
        return 0

    def embed(self, nodes: Tensor, t: Tensor | None = None) -> Tensor:  # noqa: ARG002
        return self.state.remembered(nodes)[0]


class NeighborhoodUpdate(RecurrentUpdate):
    """A recurrent update that is told g_v of the other end, in place of its memory."""

    def __init__(
        self, feature_dim: int, time_encoder: TimeEncoder, sigma: float, config: DyRepConfig, clock: Clock
    ) -> None:
        super().__init__(feature_dim, config.dim, time_encoder, clock)
        self.delta, self.learns = config.delta, not config.parity
        self.kernel = create_kernel(config.kernel, sigma, config.width, config.heads)
        self.attention = KernelizedAttention(
            node_dim=config.dim,
            edge_dim=time_encoder.dim + feature_dim,
            out_dim=config.dim,
            heads=config.heads,
            dropout=config.dropout,
            modulate=config.modulate,
        )

    def of_other(self, nodes: Tensor, other: Tensor, event: Tensor, known: Remembered) -> Tensor:
        """g (n, d) of the other ends, from memories as they were last written."""
        assert known.around is not None
        around = known.around[nodes]  # (n, K)
        mask, past = around >= 0, around.clamp(min=0)
        near = torch.where(mask, known.src[past] + known.dst[past] - other[:, None], 0)  # (n, K)
        now = known.last_update[near] if self.delta == "neighbor" else known.t[event][:, None]
        age = self.clock.ages(torch.where(mask, now - known.t[past], 0).clamp(min=0))  # (n, K)
        with torch.set_grad_enabled(self.learns and torch.is_grad_enabled()):
            features = NeighborFeatures(
                x=known.memory,
                index=near,
                mask=mask,
                time=self.time_encoder(age),
                message=known.features,
                event=past,
                psi=self.kernel(age),
            )
            g: Tensor = self.attention(known.memory.index_select(0, other), features)
        return g
