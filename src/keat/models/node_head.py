"""Node models on top of a link model: its embeddings, and a head that reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.events import EventStream, NodeLabels
from keat.models.contract import EmbedsNodes, EmbedsPairs, LearnedNodeModel, NodeQueries
from keat.state import EventCounts, as_tensor, parts_of


class NodeHead(LearnedNodeModel):
    """logits_n(t) = W₂ ReLU(W₁ z_n(t) + b₁) + b₂, z from any model that embeds nodes.

    A ``frozen`` encoder keeps the parameters it came with and is never in training mode; only the head
    learns.
    """

    name = "node head"

    def __init__(self, encoder: EmbedsNodes, outputs: int, *, frozen: bool = False) -> None:
        super().__init__()
        self.encoder, self.frozen = encoder, frozen
        self.sigma, self.clock, self.cuts_matter = encoder.sigma, encoder.clock, encoder.cuts_matter
        self.head = nn.Sequential(
            nn.Linear(self._input_dim(), encoder.embedding_dim),
            nn.ReLU(),
            nn.Linear(encoder.embedding_dim, outputs),
        )
        if frozen:
            encoder.requires_grad_(False)

    def _input_dim(self) -> int:
        return self.encoder.embedding_dim

    def train(self, mode: bool = True) -> Self:
        self.training = mode
        self.head.train(mode)
        self.encoder.train(mode and not self.frozen)
        return self

    def score(self, queries: NodeQueries) -> Tensor:
        with torch.set_grad_enabled(self.training):
            return self.judge(self.read(queries))

    def read(self, queries: NodeQueries) -> Tensor:
        """What the head is shown of each question, (B, ·)."""
        return self._embed(queries.node, queries.t)

    def judge(self, read: Tensor) -> Tensor:
        """Logits of what was read, or of what might have been."""
        logits: Tensor = self.head(read)
        return logits

    def _embed(self, nodes: npt.NDArray[np.int32], t: npt.NDArray[np.int64]) -> Tensor:
        return self.encoder.embeddings(as_tensor(nodes, self.device).long(), as_tensor(t, self.device))

    def last_time(self) -> int:
        """Of the events observed."""
        return self.encoder.last_time()

    def observe(self, events: EventStream) -> None:
        self.encoder.observe(events)

    def observe_labels(self, labels: NodeLabels) -> None:
        """Labels are learned from; the state is made of events alone."""

    def reset(self) -> None:
        self.encoder.reset()

    def grow(self, num_nodes: int) -> None:
        self.encoder.grow(num_nodes)

    def reserve(self, events: int) -> None:
        self.encoder.reserve(events)

    def stream_state(self) -> dict[str, Tensor]:
        return self.encoder.stream_state()

    def load_stream_state(self, state: dict[str, Tensor]) -> None:
        self.encoder.load_stream_state(state)


@dataclass(frozen=True, slots=True, eq=False)
class EventQueries(NodeQueries):
    """B events that are about to be observed: ``node[i]`` meets ``other[i]`` at ``t[i]``. Is this one it?"""

    other: npt.NDArray[np.int32]  # (B,)
    features: npt.NDArray[np.float32]  # (B, d)


class EventHead(NodeHead):
    """logit of an event's label from both ends before it, and from what the event itself says: the head
    reads [z_src(t) ‖ z_dst(t) ‖ features]."""

    name = "event head"

    def __init__(self, encoder: EmbedsNodes, feature_dim: int, *, frozen: bool = False) -> None:
        self.feature_dim = feature_dim
        super().__init__(encoder, 1, frozen=frozen)

    def _input_dim(self) -> int:
        return 2 * self.encoder.embedding_dim + self.feature_dim

    def columns(self) -> dict[str, slice]:
        """Where each part is among the columns of what is read."""
        dim = self.encoder.embedding_dim
        return {
            "source": slice(dim),
            "destination": slice(dim, 2 * dim),
            "features": slice(2 * dim, 2 * dim + self.feature_dim),
        }

    def read(self, queries: NodeQueries) -> Tensor:
        assert isinstance(queries, EventQueries)
        both = self._embed(np.concatenate((queries.node, queries.other)), np.tile(queries.t, 2))
        return torch.cat((*both.chunk(2), as_tensor(queries.features, self.device)), dim=1)


class CountingEventHead(EventHead):
    """The same, reading also how often and how recently the source, the destination and the pair were seen
    (`EventCounts`): what an embedding is bad at keeping, and plain logistic regression already goes far with.
    A linear term of these and of the features is added to the network's logit."""

    name = "counting event head"

    def __init__(self, encoder: EmbedsNodes, feature_dim: int, *, frozen: bool = False) -> None:
        super().__init__(encoder, feature_dim, frozen=frozen)
        self.counts = EventCounts(encoder.clock)
        self.linear = nn.Linear(EventCounts.WIDTH + feature_dim, 1)

    def _input_dim(self) -> int:
        return super()._input_dim() + EventCounts.WIDTH

    def train(self, mode: bool = True) -> Self:
        self.linear.train(mode)
        return super().train(mode)

    def judge(self, read: Tensor) -> Tensor:
        logits: Tensor = self.head(read) + self.linear(read[:, -self.linear.in_features :])
        return logits

    def columns(self) -> dict[str, slice]:
        return super().columns() | {"counts": slice(super()._input_dim(), self._input_dim())}

    def read(self, queries: NodeQueries) -> Tensor:
        assert isinstance(queries, EventQueries)
        described = self.counts.describe(queries.node, queries.other, queries.t)
        return torch.cat((super().read(queries), self.scaled(described)), dim=1)

    def scaled(self, described: npt.NDArray[np.float64]) -> Tensor:
        """Counts as the head reads them."""
        return as_tensor(described.astype(np.float32), self.device) * self._scale()

    def _scale(self) -> Tensor:
        """Logarithms of ages go up to 20: about the size of the others."""
        return torch.tensor([1.0, 0.3, 0.1, 0.1], device=self.device).repeat(3)

    def observe(self, events: EventStream) -> None:
        super().observe(events)
        self.counts.observe(events)

    def reset(self) -> None:
        super().reset()
        self.counts.clear()

    def stream_state(self) -> dict[str, Tensor]:
        counts = {f"counts.{name}": value for name, value in self.counts.save().items()}
        return self.encoder.stream_state() | counts

    def load_stream_state(self, state: dict[str, Tensor]) -> None:
        counts, encoder = parts_of(state, ("counts.", ""))
        self.counts.load(counts)
        self.encoder.load_stream_state(encoder)


class AttributeHead(NodeHead):
    """An attribute of the coming event from both ends before it: the head reads [z_src(t) ‖ z_dst(t)]. Where
    it is a value, the answer is in its own unit: the training split's median and mean distance from it are
    kept with the parameters."""

    name = "attribute head"
    center: Tensor
    size: Tensor

    def __init__(self, encoder: EmbedsNodes | EmbedsPairs, outputs: int, *, frozen: bool = False) -> None:
        super().__init__(encoder, outputs, frozen=frozen)  # type: ignore[arg-type]  # which reads nodes alone
        self.register_buffer("center", torch.zeros(()))
        self.register_buffer("size", torch.ones(()))

    def _input_dim(self) -> int:
        return 2 * self.encoder.embedding_dim

    def scale_answers(self, center: float, size: float) -> None:
        """Answers are values of this middle and size."""
        self.center.fill_(center)
        self.size.fill_(size)

    def read(self, queries: NodeQueries) -> Tensor:
        assert isinstance(queries, EventQueries)
        if isinstance(self.encoder, EmbedsPairs):
            return self.encoder.pair_embeddings(queries.node, queries.other, queries.t)
        both = self._embed(np.concatenate((queries.node, queries.other)), np.tile(queries.t, 2))
        return torch.cat(both.chunk(2), dim=1)

    def judge(self, read: Tensor) -> Tensor:
        return super().judge(read) * self.size + self.center


HEADS: dict[str, type[NodeHead]] = {
    "node": NodeHead,
    "event": EventHead,
    "event+counts": CountingEventHead,
    "attribute": AttributeHead,
}
