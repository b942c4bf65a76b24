"""TGN and KEAT-TGN: node memory, attention over the last K events, a pair decoder.

KEAT is one line of it: the edge part of attention, [φ(Δ) ‖ message], is multiplied by ψ(Δ).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from keat.attention import Attention, KernelizedAttention, Modulate, NeighborFeatures
from keat.clock import PLAIN, Clock
from keat.errors import InputError
from keat.events import EventStream
from keat.kernels import Identity, create_kernel
from keat.models import shared_help
from keat.models.contract import LearnedLinkModel, Queries
from keat.models.predictor import LinkPredictor
from keat.models.query_time import Neighborhood, score_at_all_times
from keat.models.settings import check_divides, check_dropout, check_each, check_sizes, check_width, setting
from keat.models.with_pair_term import PairTermName
from keat.ops.edge_mixing import Edges, mix_edges
from keat.ops.phase import Precision
from keat.state.checking import check_state
from keat.state.event_log import EventLog
from keat.state.identity import NodeIdentity
from keat.state.memory import NodeMemory
from keat.state.numbering import Numbering
from keat.state.recent_events import RecentEvents
from keat.state.tensors import as_tensor
from keat.time_encoding import Cosine, TimeEncoder, create_time_encoder

Delta = Literal["neighbor", "query"]
Messages = Literal["v1", "v2"]
PAIRS_AT_ONCE = 1 << 14  # (node, time) pairs embedded together in evaluation: about 100 MiB of encodings


@dataclass(frozen=True, slots=True)
class TGNConfig:
    """Sizes are those of TGB's example. ``delta`` is what Δ means, for φ and ψ alike:

    - ``neighbor``: the neighbour's last update - the event's time, as in the released code and PyG;
    - ``query``: the query's time - the event's time, as in the paper.

    ``clock`` is the unit in which both read it, or ``tick`` for the numbers of the stream, as the references
    have it.

    ``messages`` of ``v2`` tell the memory who met whom, as in TGNv2; those of ``v1`` do not. A ``pair_term``
    is put beside the model by `keat.models.registry.assemble`.
    """

    kernel: str = setting("identity", shared_help.KERNEL)
    width: float = setting(1.0, shared_help.WIDTH)
    delta: Delta = setting(
        "neighbor",
        "Age of an event: neighbor (until its last update; released code) or query (paper).",
    )
    clock: str = setting("s", shared_help.CLOCK)
    time_encoder: str = setting("cosine", shared_help.TIME_ENCODER)
    precision: Precision = setting("exact", shared_help.PRECISION)
    modulate: Modulate = setting("edge", shared_help.MODULATE)
    shared_edge_weights: bool = setting(
        True, "Whether keys and values share the matrix of edges (released code) or have one each (paper)."
    )
    dim: int = setting(100, "Size of memory, time encoding and embedding alike.")
    neighbors: int = setting(10, "Last events of a node that it attends to.")
    heads: int = setting(2, shared_help.HEADS)
    dropout: float = setting(0.1, shared_help.DROPOUT)
    messages: Messages = setting(
        "v1", "What the memory is told: v1, or v2 with who met whom; matters for node properties."
    )
    pair_term: PairTermName = setting("none", shared_help.PAIR_TERM)
    pair_widths: str = setting("geometric", shared_help.PAIR_WIDTHS)

    def __post_init__(self) -> None:
        check_each(self)
        check_sizes(self, "dim", "neighbors", "heads")
        check_divides(self.heads, self.dim, "a dim")
        check_dropout(self)
        check_width(self)


class TGN(LearnedLinkModel):
    """z_i = attention of s_i over the last K events of i; logit(u, v) = predictor(z_u, z_v)."""

    name = "tgn"
    cuts_matter = True  # of several events of a node in one call, its memory is told of the last

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
        self.memory = NodeMemory(num_nodes, feature_dim, dim, encoder, identity, clock)
        self.attention = KernelizedAttention(
            dim,
            dim + feature_dim,
            dim,
            config.heads,
            config.dropout,
            config.modulate,
            config.shared_edge_weights,
        )
        self.predictor = LinkPredictor(dim)
        self.log = EventLog(feature_dim)
        self.recent = RecentEvents(num_nodes, config.neighbors)
        self._numbering = Numbering()
        self._just_read: tuple[Tensor, Tensor, Tensor] | None = None
        self._candidates: _ProjectedCandidates | None = None

    @property
    def time_encoder(self) -> TimeEncoder:
        """φ, one for memory and attention."""
        return self.memory.time_encoder

    def parameter_counts(self) -> dict[str, int]:
        """Trainable parameters by part, as the paper counts them: memory and attention each with the time
        encoding they share, the total with it once."""

        def count(module: nn.Module) -> int:
            return sum(p.numel() for p in module.parameters() if p.requires_grad)

        encoding = count(self.time_encoder)
        parts = {
            "memory": count(self.memory),
            "attention": count(self.attention) + count(self.kernel) + encoding,
            "predictor": count(self.predictor),
        }
        return parts | {"time encoding": encoding, "total": sum(parts.values()) - encoding}

    # -- state ---------------------------------------------------------------------------------------

    def reserve(self, events: int) -> None:
        self.log.reserve(events)

    def reset(self) -> None:
        self.log.clear()
        self.recent.clear()
        self.memory.clear()
        self._just_read = self._candidates = None
        if not self.training:
            self.memory.flush(self.log)

    def train(self, mode: bool = True) -> TGN:
        """Entering evaluation applies all pending messages; parameters may have changed either way."""
        if self.training and not mode:
            self.memory.flush(self.log)
        self._just_read = self._candidates = None
        super().train(mode)
        return self

    def eval(self) -> TGN:
        return self.train(False)

    def observe(self, events: EventStream) -> None:
        if len(events) == 0:
            return
        if events.feature_dim != self.log.features.shape[1]:
            raise InputError(
                f"{events.name} has {events.feature_dim} features an event, but the model was made for "
                f"{self.log.features.shape[1]}."
            )
        self._make_room_for(events.src, events.dst)
        numbers = self.log.append(events)
        src, dst = self.log.src[numbers], self.log.dst[numbers]
        nodes, last = self._numbering.last_events(src, dst, numbers)
        with torch.no_grad():
            if not self._keep_just_read(nodes, last):
                self.memory.observe(nodes, last, self.log)
        self._just_read = None
        self.recent.insert(src, dst, numbers)
        if self._candidates is not None:
            self._candidates.changed[nodes] = True

    def _keep_just_read(self, nodes: Tensor, last: Tensor) -> bool:
        """Where the scores of this batch applied the pending messages of all these nodes already, keep what
        they computed; whether that was so. (Of a crowded time, other events were asked about last.)"""
        if not self.training or self._just_read is None:
            return False
        table, memory, last_update = self._just_read
        distinct, place = self._numbering.distinct(torch.cat((table, nodes)))
        if len(distinct) > len(table):
            return False
        place = place[len(table) :]
        self.memory.write(nodes, memory[place], last_update[place])
        self.memory.pending[nodes] = last
        return True

    def _make_room_for(self, *ids: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> None:
        needed = 1 + max(int(part.max(initial=-1)) for part in ids)
        if needed > len(self.recent.ring):
            size = max(needed, len(self.recent.ring) * 3 // 2)
            self.memory.grow(size)
            self.recent.grow(size)
            self._candidates = None

    def stream_state(self) -> dict[str, Tensor]:
        """Everything remembered, for a checkpoint: of the log, only events something still points to."""
        held, place = torch.unique(
            torch.cat((self.recent.ring, self.memory.pending[:, None]), dim=1), return_inverse=True
        )
        none = int(held[0] < 0)
        rows = held[none:]
        log = {f"log.{name}": column[rows] for name, column in self.log.state().items()}
        return log | {
            "ring": place[:, :-1] - none,
            "inserted": self.recent.inserted,
            "memory": self.memory.memory,
            "last_update": self.memory.last_update,
            "pending": place[:, -1] - none,
        }

    def load_stream_state(self, state: dict[str, Tensor]) -> None:
        log = {f"log.{name}": expected for name, expected in self.log.expected().items()}
        check_state(state, log | self.recent.expected() | self.memory.expected())
        self.log.load_state({name.removeprefix("log."): state[name] for name in log})
        for name in ("ring", "pending"):
            self.log.check_ends(name, state[name])
        self.recent.ring, self.recent.inserted = state["ring"], state["inserted"]
        self.memory.memory, self.memory.last_update = state["memory"], state["last_update"]
        self.memory.pending = state["pending"]
        self._just_read = self._candidates = None

    # -- embeddings ----------------------------------------------------------------------------------

    def embed(self, nodes: Tensor, t: Tensor | None = None) -> Tensor:
        """Embeddings (n, d) of nodes, at times ``t`` where Δ is measured from the query."""
        seeds, edges = self._edges(nodes, t)
        return self.attention.packed_combine(seeds, mix_edges(self.attention.packed_probe(seeds), edges))

    def embeddings(self, nodes: Tensor, t: Tensor) -> Tensor:
        self._make_room_for(nodes.cpu().numpy())
        if self.config.delta == "query":
            z = self.embed(nodes, t)
        else:
            distinct, place = torch.unique(nodes, return_inverse=True)
            z = self.embed(distinct).index_select(0, place)
        self._just_read = None  # these need not be the nodes of the events to come
        return z

    def explain(self, nodes: Tensor, t: Tensor | None = None) -> tuple[Tensor, Attention]:
        """Embeddings, and what each past event was worth to each head."""
        hood, last_update = self._neighborhood(nodes)
        return self.attention.explain(hood.seeds, self._features(hood, last_update, t))

    def _neighborhood(self, nodes: Tensor) -> tuple[Neighborhood, Tensor]:
        """The last K events of nodes, and the last update of every row of its ``x``."""
        events = self.recent.of(nodes)  # (n, K)
        mask = events >= 0
        events = events.clamp(min=0)
        others = torch.where(mask, self.log.other_end(events, nodes[:, None]), nodes[:, None])
        if self.training:
            table, index = torch.unique(torch.cat((nodes[:, None], others), dim=1), return_inverse=True)
            x, last_update = self.memory.read(table, self.log)
            self._just_read = (table, x.detach(), last_update)
            seeds, index = x.index_select(0, index[:, 0]), index[:, 1:]
        else:
            x, last_update, index = self.memory.memory, self.memory.last_update, others
            seeds = x.index_select(0, nodes)
        return Neighborhood(seeds, x, index, mask, events, self.log.t[events]), last_update

    def _features(self, hood: Neighborhood, last_update: Tensor, t: Tensor | None) -> NeighborFeatures:
        now = last_update[hood.index] if t is None else t[:, None]
        age = self.clock.ages(torch.where(hood.mask, now - hood.happened, 0))
        return NeighborFeatures(
            x=hood.x,
            index=hood.index,
            time=self.time_encoder(age),
            mask=hood.mask,
            psi=None if isinstance(self.kernel, Identity) else self.kernel(age),
            message=self.log.features,
            event=hood.event,
        )

    def _edges(self, nodes: Tensor, t: Tensor | None) -> tuple[Tensor, Edges]:
        """Memory of the nodes, and their last K events one after the other."""
        first, event, row = self.recent.past(nodes, self.log)
        if self.training:
            table, place = self._numbering.distinct(torch.cat((nodes, row)))
            x, last_update = self.memory.read(table, self.log)
            self._just_read = (table, x.detach(), last_update)
            own, row = torch.tensor_split(place, [len(nodes)])
            all_differ = len(nodes) == 0 or int(own[-1]) == len(nodes) - 1
            seeds = x[: len(nodes)] if all_differ else x.index_select(0, own)
        else:
            x, last_update = self.memory.memory, self.memory.last_update
            seeds = x.index_select(0, nodes)
        now = last_update[row] if t is None else t.repeat_interleave(first.diff())
        age = self.clock.ages(now - self.log.t[event])
        ones = x.new_ones(len(event), self.config.heads)
        psi = ones if isinstance(self.kernel, Identity) else self.kernel(age).expand_as(ones)
        modulate = self.config.modulate
        return seeds, Edges(
            first=first,
            x=x,
            row=row,
            time=self.time_encoder(age),
            message=self.log.features,
            event=event,
            psi_node=psi if modulate in ("node", "both") else ones,
            psi_edge=psi if modulate in ("edge", "both") else ones,
            keep=functional.dropout(ones, self.config.dropout, self.training),
        )

    # -- scores --------------------------------------------------------------------------------------

    def score(self, queries: Queries) -> Tensor:
        if self.training:
            return self._score(queries)
        self._make_room_for(queries.src, queries.candidates)
        with torch.no_grad():
            return self._score(queries)

    def _score(self, queries: Queries) -> Tensor:
        device = self.log.t.device
        src, candidates = (as_tensor(ids, device).long() for ids in (queries.src, queries.candidates))
        t = as_tensor(queries.t, device)
        if queries.shared and not self.training:
            if self.config.delta == "neighbor":
                return self._score_shared(src, candidates, queries.candidates)
            if isinstance(self.time_encoder, Cosine):
                sources = self.predictor.lin_src(self.embed(src, t))
                hood, _ = self._neighborhood(candidates)
                return score_at_all_times(
                    self.attention,
                    self.predictor,
                    self.kernel,
                    self.time_encoder,
                    self.clock,
                    sources,
                    t,
                    hood,
                    self.log.features,
                )
        candidates = candidates.expand(queries.shape)
        rows = len(src) if self.training else max(1, PAIRS_AT_ONCE // (1 + candidates.shape[1]))
        pieces = zip(*(torch.split(part, rows) for part in (src, t, candidates)), strict=True)
        return torch.cat([self._score_own(*piece) for piece in pieces])

    def _score_own(self, src: Tensor, t: Tensor, candidates: Tensor) -> Tensor:
        both = torch.cat((src, candidates.flatten()))
        if self.config.delta == "neighbor":
            nodes, place = self._numbering.distinct(both)
            z = self.embed(nodes)
        else:
            z = self.embed(both, torch.cat((t, t.repeat_interleave(candidates.shape[1]))))
            place = torch.arange(len(both), device=both.device)
        sources, others = torch.tensor_split(place, [len(src)])
        return self.predictor.pairs(z, sources, others.view(candidates.shape))

    def _score_shared(self, src: Tensor, candidates: Tensor, key: object) -> Tensor:
        """One list for all: a candidate is embedded once, and again only when something it sees changed."""
        if self._candidates is None or self._candidates.key is not key:
            self._candidates = _ProjectedCandidates(key, candidates, self.config.dim, len(self.recent.ring))
        kept = self._candidates
        stale = self.recent.touched(candidates, kept.changed, self.log)
        nodes, place = self._numbering.distinct(src)
        z = self.embed(torch.cat((nodes, candidates[stale])))
        kept.renew(stale, self.predictor.lin_dst(z[len(nodes) :]))
        return self.predictor.shared(self.predictor.lin_src(z[: len(nodes)])[place], kept.columns)


class _ProjectedCandidates:
    """lin_dst of the embeddings of one list of candidates, kept up to date as events are observed."""

    def __init__(self, key: object, candidates: Tensor, dim: int, num_nodes: int) -> None:
        self.key = key
        self.columns = torch.zeros(dim, len(candidates), device=candidates.device)
        self.changed = torch.ones(num_nodes, dtype=torch.bool, device=candidates.device)  # none is known yet

    def renew(self, stale: Tensor, projected: Tensor) -> None:
        self.columns = self.columns.to(projected.dtype).index_copy_(1, stale, projected.T)
        self.changed.fill_(False)
