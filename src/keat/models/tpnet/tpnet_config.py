"""What can be chosen of a TPNet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from keat.errors import InputError, unknown_name
from keat.models.settings import LARGEST, MOST, Help, check_model, check_range, setting
from keat.ops import Precision

Projection = Literal["random", "exact"]
PROJECTIONS: tuple[Projection, ...] = get_args(Projection)
Until = Literal["query", "event"]


@dataclass(frozen=True, slots=True)
class TPNetConfig:
    """Sizes are those of the authors' code for TGB. ``decay`` are widths of the Laplacian kernel by which
    walks fade, 1/(λσ) in their symbols; ``kernel`` and ``width`` are of ψ on tokens of the full encoder."""

    decay: str = setting(
        "12",
        "Widths of the kernels by which walks fade, in multiples of σ, separated by commas; inf for none.",
    )
    steps: int = setting(2, "Steps of the longest walks that are counted.")
    projection: Projection = setting(
        "random", "How walks are kept: random (in projections, any number of nodes) or exact (few nodes)."
    )
    projection_dim: int = setting(120, "Size of a projection.")
    draw: int = setting(0, "Which random projection it is.")
    delta: Until = setting("query", "Walks fade until: query (its time) or event (the last observed).")
    memory_only: bool = setting(True, "Whether walks alone are read, without the past events of both ends.")
    parity: bool = setting(
        False, "Leave out walks within one batch and fade until the last event, as the reference does."
    )
    kernel: str = setting("identity", Help.KERNEL)
    width: float = setting(1.0, Help.WIDTH)
    clock: str = setting("s", Help.CLOCK)
    time_encoder: str = setting("cosine-geometric", Help.TIME_ENCODER)
    precision: Precision = setting("exact", Help.PRECISION)
    layers: int = setting(2, "Layers of the mixer.")
    neighbors: int = setting(20, "Last events of a node that become tokens.")
    token_expansion: float = setting(0.5, "Hidden units of the network over tokens, for each token.")
    channel_expansion: float = setting(4.0, "Hidden units of the network over channels, for each channel.")
    dropout: float = setting(0.1, Help.DROPOUT)
    time_dim: int = setting(100, Help.TIME_DIM)
    channels: int = setting(172, "Size of a token.")
    node_dim: int = setting(0, Help.NODE_DIM)
    out_dim: int = setting(172, "Hidden units of the decoder.")

    def __post_init__(self) -> None:
        check_model(self, "projection_dim", "layers", "neighbors", "time_dim", "channels", "out_dim")
        check_range(self, 1, 8, "steps")
        check_range(self, 0, MOST, "draw")
        check_range(self, 0, LARGEST, "token_expansion", "channel_expansion", open_below=True)
        for what, value, known in (
            ("projection", self.projection, PROJECTIONS),
            ("delta", self.delta, get_args(Until)),
        ):
            if value not in known:
                raise unknown_name(what, value, known)
        widths_of(self.decay)


def widths_of(decay: str) -> list[float]:
    """The widths that ``decay`` lists, in σ."""
    try:
        widths = [float(width) for width in decay.split(",")]
    except ValueError:
        widths = []
    if not widths or not all(width > 0 for width in widths):
        raise InputError(f"decay must be positive numbers separated by commas, not '{decay}'.")
    return widths
