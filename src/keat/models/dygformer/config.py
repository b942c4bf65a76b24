"""What can be chosen of a DyGFormer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from keat.models.settings import Help, check_divides, check_model, setting
from keat.ops import Precision

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

    kernel: str = setting("identity", Help.KERNEL)
    width: float = setting(1.0, Help.WIDTH)
    clock: str = setting("s", Help.CLOCK)
    reading: Reading = setting("release", f"How ψ enters the attention: {', '.join(READINGS)}.")
    time_encoder: str = setting("cosine-geometric", Help.TIME_ENCODER)
    precision: Precision = setting("exact", Help.PRECISION)
    length: int = setting(32, "L: the sequence of a node is itself and its last L - 1 events.")
    patch: int = setting(1, "P: consecutive elements of a sequence that make one token.")
    channel: int = setting(50, "Width of each of the four channels of a token.")
    layers: int = setting(2, "Layers of the Transformer.")
    heads: int = setting(2, Help.HEADS)
    dropout: float = setting(0.1, Help.DROPOUT)
    time_dim: int = setting(100, Help.TIME_DIM)
    node_dim: int = setting(0, Help.NODE_DIM)
    out_dim: int = setting(172, Help.OUT_DIM)
    legacy_padding: bool = setting(False, "Attend to padding and average over it, as the reference does.")
    cooccurrence: Cooccurrence = setting(
        "counts",
        "What is counted of who occurs in both pasts: counts, kernel (sums that fade with age) or both.",
    )

    def __post_init__(self) -> None:
        check_model(self, "length", "patch", "channel", "layers", "heads", "time_dim", "out_dim")
        check_divides(self.heads, 4 * self.channel, "four channels")
