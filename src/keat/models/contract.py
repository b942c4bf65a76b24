"""The one contract of every model: `score` reads the state, `observe` advances it.

Training, evaluation, explanation and serving go through these two, so a model that keeps the contract
cannot look into the future: what it has not observed, it does not know.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch

from keat.events import EventStream, NodeLabels


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


@dataclass(frozen=True, slots=True, eq=False)
class NodeQueries:
    """B questions: at time ``t[i]``, how is ``node[i]`` distributed over the classes?"""

    node: npt.NDArray[np.int32]  # (B,)
    t: npt.NDArray[np.int64]  # (B,)


class LinkModel(ABC):
    """Scores candidate destinations. Higher is likelier; only the order and ties matter for ranking."""

    name: ClassVar[str]

    @abstractmethod
    def score(self, queries: Queries) -> torch.Tensor:
        """Logits, (B, C). Never changes the state, and depends on no other query of the call."""

    @abstractmethod
    def observe(self, events: EventStream) -> None:
        """Advance the state by consecutive events. They are never older than what was observed before."""

    @abstractmethod
    def reset(self) -> None:
        """Forget every event; learned parameters stay."""


class NodeModel(ABC):
    """Predicts a node's distribution over classes at a time."""

    name: ClassVar[str]

    @abstractmethod
    def score(self, queries: NodeQueries) -> torch.Tensor:
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
