"""What can be chosen of a DyGFormer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from keat.models.settings import (
    LARGEST,
    check_divides,
    check_dropout,
    check_each,
    check_range,
    check_sizes,
    check_width,
)
from keat.phase import Precision

Reading = Literal["release", "paper_patch", "paper_edge", "key_value"]
READINGS: tuple[Reading, ...] = get_args(Reading)
Cooccurrence = Literal["counts", "kernel", "both"]
COOCCURRENCES: tuple[Cooccurrence, ...] = get_args(Cooccurrence)


@dataclass(frozen=True, slots=True)
class DyGFormerConfig:
    """Sizes are those of DyGLib for most datasets. ``reading`` is how a kernel enters attention, see
    `keat.models.dygformer.attention`; without a kernel all readings are the plain model. ``cooccurrence`` is
    what the fourth channel tells of a node in a sequence: how often it occurs, or kernel sums of the ages at
    which it does, or both."""

    kernel: str = "identity"
    width: float = 1.0  # of the kernel, in multiples of σ
    clock: str = "s"  # the unit of ages, or ``tick`` for the numbers of the stream
    reading: Reading = "release"
    time_encoder: str = "cosine-geometric"
    precision: Precision = "exact"
    length: int = 32  # L: a node itself and its last L - 1 events
    patch: int = 1  # P: consecutive elements that make one token
    channel: int = 50  # width of each of the four channels of a token
    layers: int = 2
    heads: int = 2
    dropout: float = 0.1
    time_dim: int = 100
    node_dim: int = 0  # of the stream's node features; 0: none are used
    out_dim: int = 172
    legacy_padding: bool = False  # attend to padding and average over it, as the reference does
    cooccurrence: Cooccurrence = "counts"

    def __post_init__(self) -> None:
        check_each(self)
        check_sizes(self, "length", "patch", "channel", "layers", "heads", "time_dim", "out_dim")
        check_range(self, 0, LARGEST, "node_dim")
        check_divides(self.heads, 4 * self.channel, "four channels")
        check_dropout(self)
        check_width(self)
