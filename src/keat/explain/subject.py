"""`Subject`: a trained model that is to be explained, with all that an explanation says of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from keat.errors import InputError
from keat.events import TimeUnit
from keat.events.feature_encoding import ColumnEncoding
from keat.events.fingerprint import DataFacts
from keat.models.contract import LearnedLinkModel
from keat.models.explainable import ExplainsPairs, attention_of, history_of
from keat.models.node_head import EventHead

Model = TypeVar("Model", bound=LearnedLinkModel | EventHead)


class NamesOfNodes(Protocol):
    """What the user calls the nodes."""

    def __len__(self) -> int: ...
    def label(self, node: int, /) -> str | int: ...
    def index_written(
        self, labels: Sequence[str | int], *, side: Literal["src", "dst"]
    ) -> npt.NDArray[np.int32]: ...


@dataclass(frozen=True, slots=True, eq=False)
class AnySubject(Generic[Model]):
    """A model of a run, in the states that it can be brought into."""

    name: str  # of the model
    where: str  # the folder of its run, for sentences
    loss: str  # what it was trained by
    kernel: str
    unit: TimeUnit
    feature_dim: int
    data: DataFacts  # what it was trained on
    names: NamesOfNodes
    validated: Callable[[], Model]  # a model with the state after validation, another at each call
    present: Model  # with everything observed that the run has seen; not to be changed


@dataclass(frozen=True, slots=True, eq=False)
class Subject(AnySubject[LearnedLinkModel]):
    """A model that scores links."""

    def require_explainable(self) -> None:
        """By an attention, by a pair term, or by leaving past events out."""
        model = self.present
        if attention_of(model) is None and not isinstance(model, ExplainsPairs) and history_of(model) is None:
            raise InputError(
                f"{self.where} holds a {self.name}, which keeps what came of past events and not the events, "
                "so that none can be left out; explanations also read the attention of TGN and pair terms. "
                "It can be asked for predictions and be evaluated all the same."
            )


@dataclass(frozen=True, slots=True, eq=False)
class LabelSubject(AnySubject[EventHead]):
    """A model that labels events."""

    label: str | None  # what the label is called, where it has a name
    columns: tuple[ColumnEncoding, ...]  # the features of an event, as the user calls them
    probability: Callable[[float], float] | None  # that a score stands for
