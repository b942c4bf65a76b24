"""TPNet as a link model: walks between two nodes, read by a small network; with or without past events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.clock import PLAIN, Clock
from keat.events import EventStream
from keat.models.contract import LearnedLinkModel, Queries
from keat.models.decoders import MergeLayer
from keat.models.tpnet.pair_features import PairFeatures
from keat.models.tpnet.token_encoder import TokenEncoder
from keat.models.tpnet.tpnet_config import TPNetConfig, widths_of
from keat.models.tpnet.walk_matrices import WalkMatrices
from keat.ops import Integers
from keat.state import EventHistory, PastSlots, as_tensor, parts_of

PAIRS_AT_ONCE = 1 << 15  # in evaluation, of walks alone: products of some 2 MiB are read together
DECODED_AT_ONCE = 1 << 11  # of them: the widest layer then has 1 MiB, which caches hold
PAIRS_WITH_TOKENS = 1 << 7  # and with the tokens of both ends

Ids = npt.NDArray[np.int32]
_NOTHING: tuple[Ids, Ids, Integers] = (np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64))


class TPNet(LearnedLinkModel):
    """logit(u, v, t) = W₂ ReLU(W₁ [h_u ‖ h_v ‖ f_uv] + b₁) + b₂, where f_uv are `PairFeatures` of products of
    `WalkMatrices`, and h_u, h_v come from the `TokenEncoder`; of walks alone, there is no h.

    Shapes below: B questions with C candidates each, m tokens, M widths, K = steps + 1.
    """

    name = "tpnet"
    trains_in_turn = True

    def __init__(
        self, num_nodes: int, feature_dim: int, sigma: float, config: TPNetConfig, clock: Clock = PLAIN
    ) -> None:
        super().__init__()
        self.config, self.sigma, self.clock = config, sigma, clock
        self.cuts_matter = config.parity
        widths = [width * sigma for width in widths_of(config.decay)]
        self.walks = WalkMatrices(
            num_nodes,
            config.steps,
            widths,
            clock,
            dim=config.projection_dim if config.projection == "random" else None,
            draw=config.draw,
            batched=config.parity,
        )
        self.until_query = config.delta == "query" and not config.parity
        self.pair = PairFeatures(len(widths), config.steps)
        self.history: EventHistory | None = None
        self.encoder: TokenEncoder | None = None
        dim = 0
        if not config.memory_only:
            self.history = EventHistory(num_nodes, feature_dim, config.node_dim)
            self.encoder = TokenEncoder(self.pair.dim, feature_dim, sigma, config, clock)
            dim = 2 * config.channels
        self.decoder = MergeLayer(dim, self.pair.dim, config.out_dim, 1)

    # -- state -----------------------------------------------------------------------------------------

    def reset(self) -> None:
        self.walks.clear()
        if self.history is not None:
            self.history.clear()
            self.history.node_features.clear()

    def observe(self, events: EventStream) -> None:
        self.walks.observe(events.src, events.dst, events.t)
        if self.history is not None:
            self.history.observe(events)

    def reserve(self, events: int) -> None:
        if self.history is not None:
            self.history.reserve(events)

    def grow(self, num_nodes: int) -> None:
        self.walks.make_room(num_nodes)
        if self.history is not None:
            self.history.grow(num_nodes)

    def stream_state(self) -> dict[str, Tensor]:
        state = {f"walks.{name}": kept for name, kept in self.walks.save().items()}
        if self.history is not None:
            state |= {f"history.{name}": kept for name, kept in self.history.save().items()}
        return state

    def load_stream_state(self, state: dict[str, Tensor]) -> None:
        if self.history is None:
            self.walks.load(*parts_of(state, ("walks.",)))
            return
        walks, history = parts_of(state, ("walks.", "history."))
        self.walks.load(walks)
        self.history.load(history)

    def last_time(self) -> int:
        return self.walks.last_time

    def sources(self) -> Ids:
        return self.walks.nodes_of(0)

    def destinations(self) -> Ids:
        return self.walks.nodes_of(1)

    # -- scores ----------------------------------------------------------------------------------------

    def score(self, queries: Queries) -> Tensor:
        if self.training:
            return self._read(queries, *_NOTHING)[0]
        with torch.no_grad():
            rows, width = queries.shape
            at_once = PAIRS_AT_ONCE if self.encoder is None else PAIRS_WITH_TOKENS
            step = max(1, at_once // max(1, width))
            parts = [queries.rows(first, first + step) for first in range(0, max(1, rows), step)]
            return torch.cat([self._score(part) for part in parts])

    def _score(self, queries: Queries) -> Tensor:
        if self.encoder is None and queries.shared:
            grams = self.walks.all_pairs(
                queries.src, queries.candidates, queries.t, until_query=self.until_query
            )
            step = max(1, DECODED_AT_ONCE // max(1, queries.shape[1]))
            rows = zip(*(torch.split(gram.to(self.device), step) for gram in grams), strict=True)
            return torch.cat([self._decode(self.pair(*some), None) for some in rows])
        if self.encoder is None or queries.shape[1] <= PAIRS_WITH_TOKENS:
            return self._read(queries, *_NOTHING)[0]
        pieces = [  # of the candidates: tokens of a long list would not fit
            queries.candidates[..., first : first + PAIRS_WITH_TOKENS]
            for first in range(0, queries.shape[1], PAIRS_WITH_TOKENS)
        ]
        parts = [self._read(Queries(queries.src, queries.t, piece), *_NOTHING)[0] for piece in pieces]
        return torch.cat(parts, dim=1)

    def score_in_turn(self, queries: Sequence[Queries], events: EventStream) -> list[Tensor]:
        if self.config.parity:  # a batch is asked with the state before it, and then observed at once
            scores = [self.score(part) for part in queries]
            self.observe(events)
            return scores
        if len(queries) != 1 or not self.training:
            return super().score_in_turn(queries, events)
        if self.history is not None:
            self.history.observe(events)  # it is read by time
        logits, seen = self._read(queries[0], events.src, events.dst, events.t)
        rest = events[seen:]
        self.walks.observe(rest.src, rest.dst, rest.t)
        return [logits]

    def _read(self, queries: Queries, src: Ids, dst: Ids, happened: Integers) -> tuple[Tensor, int]:
        """Logits (B, C), each question knowing those events that are strictly earlier; and their number."""
        candidates = np.broadcast_to(queries.candidates, queries.shape)  # (B, C)
        own = np.broadcast_to(queries.src[:, None], queries.shape)
        left, right, past = own, candidates, None
        if self.encoder is not None:
            past, left, right = self._tokens(queries, own, candidates)
        *grams, seen = self.walks.read_in_turn(
            left, right, queries.t, src, dst, happened, until_query=self.until_query
        )
        features = self.pair(*(gram.to(self.device) for gram in grams))  # (B, n, P)
        if past is None:
            return self._decode(features, None), seen
        features = features.view(*queries.shape, -1, self.pair.dim)  # (B, C, 4m + 1, P)
        return self._decode(features[:, :, -1], self._embed(past, queries, features[:, :, :-1])), seen

    def _decode(self, features: Tensor, embedded: Tensor | None) -> Tensor:
        """Features (B, C, P), and [h_u ‖ h_v] (B, C, 2·channels) if there are any → (B, C)"""
        if embedded is None:
            logits: Tensor = self.decoder.fc2(torch.relu_(self.decoder.fc1(features)))
        else:
            logits = self.decoder(embedded, features)
        return logits.squeeze(-1)

    # -- tokens ----------------------------------------------------------------------------------------

    def _tokens(self, queries: Queries, own: Ids, candidates: Ids) -> tuple[PastSlots, Ids, Ids]:
        """The last events (2·B·C, m) of the ends of each pair, and the pairs (B, C·(4m + 1)) whose walks they
        ask for: each token's node with u, then with v, and last u with v."""
        assert self.history is not None
        m = self.config.neighbors
        ends = np.stack((own, candidates), axis=2)  # (B, C, 2)
        entries = self.history.before(ends.ravel(), np.repeat(queries.t, 2 * queries.shape[1]), m)
        there = entries >= 0
        others = self.history.other_end(np.where(there, entries, 0)) if len(self.history) else entries
        nodes = np.where(there, others, ends.reshape(-1, 1))  # where there is none, any node will do
        nodes = nodes.reshape(*queries.shape, 2 * m)
        u, v = own[..., None], candidates[..., None]
        left = np.concatenate((nodes, nodes, u), axis=2)
        right = np.concatenate((np.broadcast_to(u, nodes.shape), np.broadcast_to(v, nodes.shape), v), axis=2)
        left, right = (part.astype(np.int32).reshape(len(queries.src), -1) for part in (left, right))
        return self.history.slots(entries), left, right

    def _embed(self, past: PastSlots, queries: Queries, features: Tensor) -> Tensor:
        """[h_u ‖ h_v] (B, C, 2·channels) from the features (B, C, 4m, P) of tokens with u and with v."""
        assert self.encoder is not None
        assert self.history is not None
        m = self.config.neighbors
        both = features.view(*queries.shape, 2, 2, m, -1)  # (B, C, with whom, whose token, m, P)
        pair = both.permute(0, 1, 3, 4, 2, 5).flatten(4).flatten(0, 2)  # (2·B·C, m, 2 P)
        t = as_tensor(np.repeat(queries.t, 2 * queries.shape[1]), self.device)
        embedded: Tensor = self.encoder(past, t, pair, self.history)
        return embedded.view(*queries.shape, -1)
