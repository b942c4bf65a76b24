"""`RunFacts`: what training found out of the data, without which its model cannot be built again."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keat.errors import InputError
from keat.events import TimeUnit
from keat.events.fingerprint import DataFacts
from keat.models.node_head import HEADS

MOST_NODES = 1 << 31  # a node is an int32


@dataclass(frozen=True, slots=True)
class HeadFacts:
    """The head of a node task: which, how wide, and which node its first class is."""

    kind: str
    size: int
    frozen: bool  # whether the encoder below keeps the parameters it came with
    first_class: int = 0

    def __post_init__(self) -> None:
        if self.kind not in HEADS:
            raise ValueError(f"there is no head '{self.kind}'")
        if not (0 <= self.size < MOST_NODES and 0 <= self.first_class < MOST_NODES):
            raise ValueError(f"a head of {self.size} from {self.first_class} on is none")


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What training found out of its data."""

    data: DataFacts
    unit: TimeUnit
    sigma: float  # in the unit of the model's clock
    num_nodes: int
    feature_dim: int
    asked: int = 0  # targets of the validation split
    head: HeadFacts | None = None
    keat: str = ""  # version

    def __post_init__(self) -> None:
        if not (math.isfinite(self.sigma) and self.sigma > 0):
            raise ValueError(f"{self.sigma} is no σ")
        if not (1 <= self.num_nodes < MOST_NODES and 0 <= self.feature_dim < MOST_NODES):
            raise ValueError(
                f"{self.num_nodes} nodes with {self.feature_dim} features for each event are none"
            )

    def require_features(self, name: str, feature_dim: int) -> None:
        """Events that the model can be shown have as many features as those it was trained on."""
        if feature_dim != self.feature_dim:
            raise InputError(
                f"{name} has {feature_dim} features for each event; this run was trained on "
                f"{self.feature_dim}."
            )
