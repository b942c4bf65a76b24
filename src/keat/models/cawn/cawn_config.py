"""What can be chosen of a CAWN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from keat.errors import unknown_name
from keat.models.settings import Help, check_model, check_range, setting
from keat.ops import Precision

WalksOf = Literal["expected", "drawn"]
WALKS: tuple[WalksOf, ...] = get_args(WalksOf)


@dataclass(frozen=True, slots=True)
class CAWNConfig:
    """Sizes are those of DyGLib on wikipedia. Δ is measured from the query, for φ, ψ and α alike. Walks have
    one step, as in every published number."""

    kernel: str = setting("identity", Help.KERNEL)
    width: float = setting(1.0, Help.WIDTH)
    clock: str = setting("s", Help.CLOCK)
    time_encoder: str = setting("cosine-geometric", Help.TIME_ENCODER)
    precision: Precision = setting("exact", Help.PRECISION)
    walks: WalksOf = setting(
        "expected", "expected: every one of the last events, with its probability; drawn: of all, at random."
    )
    neighbors: int = setting(
        32, "Last events that a walk may step to, or, where they are drawn, how many are."
    )
    alpha: float = setting(1e-6, "Walks prefer an event by exp(-alpha · age), age in the unit of the clock.")
    heads: int = setting(8, Help.HEADS)
    dropout: float = setting(0.1, Help.DROPOUT)
    time_dim: int = setting(100, Help.TIME_DIM)
    position_dim: int = setting(172, "Size of the encoding of where a node occurs in walks.")
    node_dim: int = setting(0, Help.NODE_DIM)
    out_dim: int = setting(172, Help.OUT_DIM)
    parity: bool = setting(False, "Draw walks by DyGLib's law, which prefers the oldest events.")

    def __post_init__(self) -> None:
        check_model(self, "neighbors", "heads", "time_dim", "position_dim", "out_dim")
        check_range(self, 2, None, "position_dim")
        check_range(self, 0, None, "alpha")
        if self.walks not in WALKS:
            raise unknown_name("kind of walks", self.walks, WALKS)

    @property
    def drawn(self) -> bool:
        return self.parity or self.walks == "drawn"
