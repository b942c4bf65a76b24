"""JODIE: a recurrent memory of every node, carried forward in time by an elementwise linear drift."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.clock import PLAIN, Clock
from keat.errors import InputError
from keat.events import EventStream
from keat.models.contract import EmbedsNodes, KeepsEvents, Queries
from keat.models.decoders import MergeLayer
from keat.models.gap_scale import GapScale
from keat.models.recurrent_memory import RecurrentUpdate
from keat.models.settings import Help, PairTermName, check_each, check_range, check_sizes, setting
from keat.ops import Precision, relu_dot_sloped
from keat.state import Kept, NodeState, as_tensor
from keat.time_encoding import create_time_encoder

PAIRS_AT_ONCE = 1 << 14  # pairs decoded together in evaluation where each query has candidates of its own


@dataclass(frozen=True, slots=True)
class JODIEConfig:
    """Sizes are those of DyGLib. A ``pair_term`` is put beside the model by
    `keat.models.registry.assemble`."""

    kernel: str = setting("identity", "identity alone: JODIE reads no past events that could fade.")
    clock: str = setting("s", Help.CLOCK)
    time_encoder: str = setting("cosine-geometric", Help.TIME_ENCODER)
    precision: Precision = setting("exact", Help.PRECISION)
    dim: int = setting(172, "Size of memory and embedding alike.")
    time_dim: int = setting(100, Help.TIME_DIM)
    dropout: float = setting(0.1, Help.DROPOUT)
    pair_term: PairTermName = setting("none", Help.PAIR_TERM)
    pair_widths: str = setting("geometric", Help.PAIR_WIDTHS)

    def __post_init__(self) -> None:
        check_each(self)
        check_sizes(self, "dim", "time_dim")
        check_range(self, 0, 0.999, "dropout")
        if self.kernel != "identity":
            raise InputError(
                "A kernel weighs the evidence of past events by their age, and JODIE reads none when it "
                f"scores, only a memory; leave the kernel '{self.kernel}' out, or choose keat-dyrep."
            )


class JODIE(KeepsEvents, EmbedsNodes):
    """Of every node i the model keeps a memory s_i, which `RecurrentUpdate` changes with its events, and the
    time of the last update. For a query at t it drifts, by how unusual the time since is for the node's role
    r, source or destination:

        Δ̃_i    = (t - last update of i - μ_r)/s_r        μ, s of gaps in the training split (`GapScale`)
        z_i(t) = s_i ⊙ (1 + w_p Δ̃_i + b_p)
        logit(u, v, t) = merge(z_u(t), z_v(t))           W₂ ReLU(W₁ [z_u ‖ z_v] + b₁) + b₂

    z is affine in Δ̃. So W₁ z_v = W₁ (1 + b_p) ⊙ s_v + Δ̃_v W₁ w_p ⊙ s_v, of which both products are kept as
    long as s_v does not change: a candidate costs one multiplication and addition for each hidden unit.

    Shapes below: n nodes, d numbers in a memory, B queries with C candidates each.
    """

    name = "jodie"
    cuts_matter = True  # of several events of a node in one call, its memory takes in the last alone
    state: NodeState

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: JODIEConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__()
        self.config, self.sigma, self.clock = config, sigma, clock
        dim = self.embedding_dim = config.dim
        encoder = create_time_encoder(config.time_encoder, config.time_dim, config.precision)
        self.memory = RecurrentUpdate(feature_dim, dim, encoder, clock)
        self.projection = nn.Linear(1, dim)  # w_p and b_p
        self.source_gaps, self.destination_gaps = GapScale(sigma), GapScale(sigma)
        self.decoder = MergeLayer(dim, dim, dim, 1)
        self.state = NodeState(num_nodes, feature_dim, 1, self.memory, Kept(from_first=True))

    def look_at(self, train: EventStream) -> None:
        self.source_gaps.look_at(train.src, train.t, self.clock)
        self.destination_gaps.look_at(train.dst, train.t, self.clock)

    @property
    def last_layer(self) -> nn.Linear:
        return self.decoder.fc2

    # -- embeddings ----------------------------------------------------------------------------------

    def drifted(self, s: Tensor, last_update: Tensor, t: Tensor, gaps: GapScale) -> Tensor:
        """z (n, d) of memories (n, d) at times (n,)."""
        late = gaps(self.clock.ages(t - last_update))  # (n,) Δ̃
        z = s * (1 + self.projection(late[:, None]))
        return functional.dropout(z, self.config.dropout, self.training)

    def embeddings(self, nodes: Tensor, t: Tensor) -> Tensor:
        """As sources."""
        self.state.make_room_for(nodes.cpu().numpy())
        distinct, place = self.state.distinct(nodes)
        s, last_update = self.state.remembered(distinct)
        self.state.forget_read()
        return self.drifted(s.index_select(0, place), last_update[place], t, self.source_gaps)

    # -- scores --------------------------------------------------------------------------------------

    def score(self, queries: Queries) -> Tensor:
        self.state.make_room_for(queries.src, queries.candidates)
        src, candidates = (as_tensor(ids, self.device).long() for ids in (queries.src, queries.candidates))
        t = as_tensor(queries.t, self.device)
        if self.training:
            return self._score_plainly(src, t, candidates.expand(queries.shape))
        with torch.no_grad():
            if queries.shared:
                return self._score_shared(src, t, candidates, queries.candidates)
            rows = max(1, PAIRS_AT_ONCE // max(candidates.shape[1], 1))
            pieces = zip(*(torch.split(part, rows) for part in (src, t, candidates)), strict=True)
            return torch.cat([self._score_plainly(*piece) for piece in pieces])

    def _score_plainly(self, src: Tensor, t: Tensor, candidates: Tensor) -> Tensor:
        """Candidates (B, C) of each source (B,) by itself, each drifted to its query."""
        nodes, place = self.state.distinct(torch.cat((src, candidates.flatten())))
        s, last_update = self.state.remembered(nodes)
        own, others = torch.tensor_split(place, [len(src)])
        when = t.repeat_interleave(candidates.shape[1])  # (B·C,)
        sources = self.drifted(s.index_select(0, own), last_update[own], t, self.source_gaps)  # (B, d)
        z = self.drifted(s.index_select(0, others), last_update[others], when, self.destination_gaps)
        logits: Tensor = self.decoder(sources[:, None], z.view(*candidates.shape, -1))
        return logits.squeeze(-1)

    def _score_shared(self, src: Tensor, t: Tensor, candidates: Tensor, key: object) -> Tensor:
        """One list (C,) for all: what is affine in Δ̃ is kept until an event of the candidate is observed."""
        s, last_update = self.state.remembered(src)
        sources = self.decoder.project_first(self.drifted(s, last_update, t, self.source_gaps))  # (B, d)
        stale = self.state.stale(key, candidates, hops=0)
        s, _ = self.state.remembered(candidates[stale])
        steady, rising = 1 + self.projection.bias, self.projection.weight[:, 0]  # (d,) each
        affine = [self.decoder.project_second(s * factor) for factor in (steady, rising)]
        columns = self.state.renewed(candidates, stale, torch.cat(affine, dim=1))  # (2d, C)
        base, slope = columns.chunk(2)
        age = self.clock.ages(t[:, None] - self.state.last_update[candidates])  # (B, C)
        weight, bias = self.decoder.fc2.weight[0], self.decoder.fc2.bias
        return relu_dot_sloped(sources, base, slope, self.destination_gaps(age), weight).add_(bias)
