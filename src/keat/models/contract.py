"""The one contract of every model: `score` reads the state, `observe` advances it.

Training, evaluation, explanation and serving go through these two, so a model that keeps the contract
cannot look into the future: what it has not observed, it does not know.

`score_in_turn` is the two in turn, at every distinct time: the freshest state there can be. A model that
can do it quickly is trained and validated that way.

What only some models can do is a class of its own here, which others ask for by `isinstance`: `ReadsByTime`,
`KeepsEvents`, `EmbedsNodes`, `EmbedsPairs`. What can be explained of a model, `keat.models.explainable` says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.clock import Clock
from keat.errors import InputError
from keat.events import EventStream, NodeLabels
from keat.state import EventState


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """B questions: at time ``t[i]``, how likely is an event from ``src[i]`` to each candidate?

    ``candidates`` is (C,) when all B questions share one list, which models can use to embed each
    candidate once, or (B, C) when each has its own.
    """

    src: npt.NDArray[np.int32]  # (B,)
    t: npt.NDArray[np.int64]  # (B,)
    candidates: npt.NDArray[np.int32]  # (C,) or (B, C)

    @property
    def shared(self) -> bool:
        return self.candidates.ndim == 1

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.src), self.candidates.shape[-1]

    def rows(self, start: int, stop: int) -> Queries:
        """Some of the questions. A shared list stays the same object: models know it again by that."""
        candidates = self.candidates if self.shared else self.candidates[start:stop]
        return Queries(self.src[start:stop], self.t[start:stop], candidates)


@dataclass(frozen=True, slots=True, eq=False)
class NodeQueries:
    """B questions: at time ``t[i]``, how is ``node[i]`` distributed over the classes?"""

    node: npt.NDArray[np.int32]  # (B,)
    t: npt.NDArray[np.int64]  # (B,)


class LinkModel(ABC):
    """Scores candidate destinations. Higher is likelier; only the order and ties matter for ranking."""

    name: ClassVar[str]
    trains_in_turn: ClassVar[bool] = False  # whether `score_in_turn` costs no more than `score`
    cuts_matter: bool = False  # whether the state depends on how events were cut into calls of `observe`

    @abstractmethod
    def score(self, queries: Queries) -> Tensor:
        """Logits, (B, C). Never changes the state, in training neither, and depends on no other query of the
        call. The one exception changes no later score either: TGN keeps memories that it has computed in
        training, so that observing the same nodes next need not compute them again; and nodes that are asked
        about for the first time get room (`keat.state.NodeState`)."""

    @abstractmethod
    def observe(self, events: EventStream) -> None:
        """Advance the state by consecutive events. They are never older than what was observed before."""

    @abstractmethod
    def reset(self) -> None:
        """Forget every event; learned parameters stay."""

    def score_in_turn(self, queries: Sequence[Queries], events: EventStream) -> list[Tensor]:
        """Score each query knowing also those of ``events`` that are strictly earlier than it; then all
        events are observed. Queries and events are in the order of time."""
        scores: list[list[Tensor]] = [[] for _ in queries]
        times = np.unique(np.concatenate([part.t for part in queries]))
        seen = 0
        for now in times.tolist():
            until = int(np.searchsorted(events.t, now))
            self.observe(events[seen:until])
            seen = until
            for part, into in zip(queries, scores, strict=True):
                first, last = np.searchsorted(part.t, (now, now + 1)).tolist()
                into.append(self.score(part.rows(first, last)))
        self.observe(events[seen:])
        return [torch.cat(parts) for parts in scores]


class ReadsByTime(LinkModel):
    """A model whose score at t uses observed events strictly before t only, whatever else was observed:
    a whole block can be observed first, and every query still has exactly its own past."""

    trains_in_turn = True

    def score_in_turn(self, queries: Sequence[Queries], events: EventStream) -> list[Tensor]:
        self.observe(events)
        return [self.score(part) for part in queries]


class NodeModel(ABC):
    """Predicts a node's distribution over classes at a time."""

    name: ClassVar[str]

    @abstractmethod
    def score(self, queries: NodeQueries) -> Tensor:
        """Logits or weights, (B, num_classes). Never changes the state."""

    @abstractmethod
    def observe(self, events: EventStream) -> None:
        """Advance the state by consecutive events."""

    @abstractmethod
    def observe_labels(self, labels: NodeLabels) -> None:
        """Advance the state by labels that have become known."""

    @abstractmethod
    def reset(self) -> None:
        """Forget every event and label; learned parameters stay."""


class LearnedModel(nn.Module, ABC):
    """What training and checkpoints need of a model with parameters, beside its contract.

    All are built alike: (num_nodes, feature_dim, σ, configuration, clock). The clock measures ages, and σ is
    in its unit.
    """

    sigma: float
    clock: Clock
    _drawn: float | None = None  # the sum of the parameters as they were drawn

    def mark_as_drawn(self) -> None:
        """The parameters are fresh; until one has changed, the model `has_learned_nothing`."""
        self._drawn = self._sum_of_parameters()

    @property
    def has_learned_nothing(self) -> bool:
        """Whether its parameters are known to be those that were drawn at random."""
        return self._drawn is not None and self._drawn == self._sum_of_parameters()

    def _sum_of_parameters(self) -> float:
        return sum(float(each.detach().double().sum()) for each in self.parameters())

    @property
    def sigma_in_ticks(self) -> float:
        """σ in the unit of the stream's times."""
        return self.clock.ticks(self.sigma)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def look_at(self, train: EventStream) -> None:
        """Take from the training split what is neither learned nor remembered, such as usual gaps. Called
        once, when a model is built from a training split (`build_model`), before anything is scored and
        whether it is then trained or not; to be overridden where there is such. It is kept with the
        parameters."""

    def measure(self, examples: Iterable[tuple[Queries, EventStream]]) -> None:
        """Look through the questions of an epoch, each block with the events that then happen. Called once,
        when training begins (`fit`; not where it is resumed), after `look_at` and before the first step; to
        be overridden by models that scale what they read. The state is empty before and need not be so
        after."""

    def reserve(self, events: int) -> None:
        """Make room at once where the number of events to come is known; to be overridden if it helps."""

    def grow(self, num_nodes: int) -> None:
        """Make room for nodes that have joined, before a state that knows them is loaded; to be overridden
        where the state itself does not say how many there are."""

    @abstractmethod
    def stream_state(self) -> dict[str, Tensor]:
        """Everything remembered of the stream, for a checkpoint; parameters are kept apart."""

    @abstractmethod
    def load_stream_state(self, state: dict[str, Tensor]) -> None:
        """Remember what `stream_state` gave."""


class LearnedLinkModel(LearnedModel, LinkModel):
    """A link model that is trained. It knows who has been a source and who a destination, and until when."""

    @abstractmethod
    def last_time(self) -> int:
        """Of the events observed."""

    @abstractmethod
    def sources(self) -> npt.NDArray[np.int32]:
        """Nodes that are known as sources."""

    @abstractmethod
    def destinations(self) -> npt.NDArray[np.int32]:
        """Nodes that are known as destinations."""


class KeepsEvents(LearnedLinkModel):
    """A model all of whose memory of the stream is one ``state`` that holds on to events."""

    state: EventState

    def observe(self, events: EventStream) -> None:
        self.state.observe(events)

    def reset(self) -> None:
        self.state.clear()

    def reserve(self, events: int) -> None:
        self.state.reserve(events)

    def grow(self, num_nodes: int) -> None:
        self.state.grow(num_nodes)

    def stream_state(self) -> dict[str, Tensor]:
        return self.state.save()

    def load_stream_state(self, state: dict[str, Tensor]) -> None:
        self.state.load(state)

    def last_time(self) -> int:
        if len(self.state) == 0:
            raise InputError(f"The {self.name} has observed no events, so it has no time to speak of.")
        return self.state.last_time()

    def sources(self) -> npt.NDArray[np.int32]:
        return self.state.sources()

    def destinations(self) -> npt.NDArray[np.int32]:
        return self.state.destinations()


class EmbedsNodes(LearnedLinkModel):
    """A model that scores a pair by a decoder of two embeddings, one of each node by itself. A head for node
    tasks can read them, and a pair term can be put beside the decoder."""

    embedding_dim: int

    @abstractmethod
    def embeddings(self, nodes: Tensor, t: Tensor) -> Tensor:
        """A vector (n, d) for each node at its time."""

    @property
    @abstractmethod
    def last_layer(self) -> nn.Linear:
        """Of the decoder; where it is zero, so is every score."""


class EmbedsPairs(LearnedLinkModel):
    """A model that embeds both ends of a pair together, each as seen with the other."""

    embedding_dim: int  # of an end

    @abstractmethod
    def pair_embeddings(
        self, src: npt.NDArray[np.int32], dst: npt.NDArray[np.int32], t: npt.NDArray[np.int64]
    ) -> Tensor:
        """(n, 2 d): the source's and the destination's at a time, side by side."""


class LearnedNodeModel(LearnedModel, NodeModel):
    """A node model that is trained."""
