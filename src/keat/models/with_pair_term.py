"""A model of embeddings and a pair term beside it: the logits of the two are added.

Embeddings say what a node is like; `KernelCooccurrence` says what two nodes have been to each other, which
no pair of embeddings can. The pair term is keat-rank as it is, so it costs what keat-rank costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from keat.events import EventStream
from keat.models.contract import EmbedsNodes, Queries
from keat.models.pair_explanation import PairExplanation
from keat.models.rank import KeatRank
from keat.state import parts_of


class WithPairTerm(EmbedsNodes):
    """logit(u, v, t) = encoder(u, v, t) + pair(u, v, t).

    The last layer of the encoder's decoder starts at zero: training begins with the pair term alone, and the
    embeddings learn what it leaves unexplained.

    It is trained in turn. The pair term then knows every strictly earlier event, also those of the same
    block; an encoder that is trained by blocks (TGN) goes on knowing those of earlier blocks.
    """

    name = "model with a pair term"
    trains_in_turn = True

    def __init__(self, encoder: EmbedsNodes, pair: KeatRank) -> None:
        super().__init__()
        self.encoder, self.pair = encoder, pair
        self.sigma, self.clock, self.cuts_matter = encoder.sigma, encoder.clock, encoder.cuts_matter
        self.embedding_dim = encoder.embedding_dim
        nn.init.zeros_(self.last_layer.weight)
        nn.init.zeros_(self.last_layer.bias)
        self._not_observed: EventStream | None = None

    # -- state -----------------------------------------------------------------------------------------

    def look_at(self, train: EventStream) -> None:
        self.encoder.look_at(train)

    def reserve(self, events: int) -> None:
        self.encoder.reserve(events)

    def grow(self, num_nodes: int) -> None:
        self.encoder.grow(num_nodes)

    def reset(self) -> None:
        self._not_observed = None
        self.encoder.reset()
        self.pair.reset()

    def measure(self, examples: Iterable[tuple[Queries, EventStream]]) -> None:
        self.pair.measure(examples)

    def train(self, mode: bool = True) -> WithPairTerm:
        self._catch_up()
        super().train(mode)
        return self

    def observe(self, events: EventStream) -> None:
        self._catch_up()
        self.encoder.observe(events)
        self.pair.observe(events)

    def _catch_up(self) -> None:
        """The encoder observes the block it was trained on. Not earlier: its state is part of the graph that
        the gradient goes back through."""
        if self._not_observed is not None:
            events, self._not_observed = self._not_observed, None
            self.encoder.observe(events)

    def stream_state(self) -> dict[str, Tensor]:
        self._catch_up()
        parts = {"encoder": self.encoder, "pair": self.pair}
        return {
            f"{part}.{name}": value
            for part, model in parts.items()
            for name, value in model.stream_state().items()
        }

    def load_stream_state(self, state: dict[str, Tensor]) -> None:
        self._not_observed = None
        encoder, pair = parts_of(state, ("encoder.", "pair."))
        self.encoder.load_stream_state(encoder)
        self.pair.load_stream_state(pair)

    def last_time(self) -> int:
        return self.pair.last_time()

    def sources(self) -> npt.NDArray[np.int32]:
        return self.pair.sources()

    def destinations(self) -> npt.NDArray[np.int32]:
        return self.pair.destinations()

    # -- scores ----------------------------------------------------------------------------------------

    def score(self, queries: Queries) -> Tensor:
        self._catch_up()
        return self.encoder.score(queries) + self.pair.score(queries)

    def score_in_turn(self, queries: Sequence[Queries], events: EventStream) -> list[Tensor]:
        self._catch_up()
        if self.training and not self.encoder.trains_in_turn:
            encoded = [self.encoder.score(part) for part in queries]
            self._not_observed = events
        else:
            encoded = self.encoder.score_in_turn(queries, events)
        paired = self.pair.score_in_turn(queries, events)
        return [one + other for one, other in zip(encoded, paired, strict=True)]

    def explain_pair(self, src: int, candidate: int, t: int) -> PairExplanation:
        """Of the pair term alone."""
        return self.pair.explain_pair(src, candidate, t)

    # -- embeddings ------------------------------------------------------------------------------------

    def embeddings(self, nodes: Tensor, t: Tensor) -> Tensor:
        self._catch_up()
        return self.encoder.embeddings(nodes, t)

    @property
    def last_layer(self) -> nn.Linear:
        return self.encoder.last_layer
