"""`Subject`: a trained model that is to be explained, with all that an explanation says of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from keat.errors import InputError
from keat.events import TimeUnit
from keat.events.fingerprint import DataFacts
from keat.models.contract import LearnedLinkModel
from keat.models.rank import KeatRank
from keat.models.tgn import TGN
from keat.models.with_pair_term import WithPairTerm


class NamesOfNodes(Protocol):
    """What the user calls the nodes."""

    def label(self, node: int, /) -> str | int: ...
    def index_written(
        self, labels: Sequence[str | int], *, side: Literal["src", "dst"]
    ) -> npt.NDArray[np.int32]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A model that scores links, in the states it can be had in."""

    name: str  # of the model
    where: str  # the folder of its run, for sentences
    loss: str  # what it was trained by
    kernel: str
    unit: TimeUnit
    feature_dim: int
    data: DataFacts  # what it was trained on
    names: NamesOfNodes
    validated: Callable[[], LearnedLinkModel]  # a model with the state after validation, another at each call
    present: LearnedLinkModel  # with everything observed that the run has seen; not to be changed

    def require_explainable(self) -> None:
        """By an attention or by a pair term."""
        if not isinstance(self.present, TGN | WithPairTerm | KeatRank):
            raise InputError(
                f"{self.where} holds a {self.name}; explanations read the attention of TGN and pair terms. "
                "It can be asked for predictions and be evaluated all the same."
            )
