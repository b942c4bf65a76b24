"""What can be chosen of a NAT."""

from __future__ import annotations

from dataclasses import dataclass

from keat.errors import InputError
from keat.models.settings import Help, check_model, check_range, setting
from keat.ops import Precision
from keat.state import SlotSizes


@dataclass(frozen=True, slots=True)
class NATConfig:
    """Sizes are those of the reference. Δ is measured from the query, for φ and ψ alike."""

    kernel: str = setting("identity", Help.KERNEL)
    width: float = setting(1.0, Help.WIDTH)
    clock: str = setting("s", Help.CLOCK)
    time_encoder: str = setting("cosine-geometric", Help.TIME_ENCODER)
    precision: Precision = setting("exact", Help.PRECISION)
    slots: int = setting(32, "Slots of a node for its neighbours; a power of two.")
    far_slots: int = setting(16, "Slots of a node for neighbours of neighbours; a power of two.")
    overwrite: float = setting(0.9, "Probability that a slot which holds another node is given to a new one.")
    hash_seed: int = setting(1, "Which hash finds the slot of a node, 0 to 49.")
    memory_dim: int = setting(72, "Size of what is remembered of a node.")
    slot_dim: int = setting(4, "Size of what is remembered in a slot.")
    code_dim: int = setting(16, "Size of the embedding of where a node is held.")
    heads: int = setting(2, "Heads of the pooling, which are averaged.")
    dropout: float = setting(0.1, Help.DROPOUT)
    time_dim: int = setting(1, Help.TIME_DIM)
    channels: int = setting(172, "Size of what is pooled.")
    node_dim: int = setting(0, Help.NODE_DIM)
    parity: bool = setting(
        False,
        "Repeat what the reference does: a hash that uses a quarter of the slots, and φ of absolute times.",
    )

    def __post_init__(self) -> None:
        check_model(
            self, "slots", "far_slots", "memory_dim", "slot_dim", "code_dim", "heads", "time_dim", "channels"
        )
        check_range(self, 0, 1, "overwrite")
        check_range(self, 0, 49, "hash_seed")
        for name in ("slots", "far_slots"):
            size = getattr(self, name)
            if size & (size - 1):
                raise InputError(f"{name} must be a power of two, and {size} is none.")

    @property
    def sizes(self) -> SlotSizes:
        """With an odd multiplier every slot can be reached, with an even one 7 of 32."""
        multiplier = 2 * self.hash_seed + (0 if self.parity else 1)
        return SlotSizes(self.slots, self.far_slots, multiplier, self.overwrite)
