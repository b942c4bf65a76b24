"""What can be chosen of a TGN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from keat.attention.layer import Modulate
from keat.models.settings import Help, PairTermName, check_divides, check_model, setting
from keat.ops import Precision

Delta = Literal["neighbor", "query"]
Messages = Literal["v1", "v2"]


@dataclass(frozen=True, slots=True)
class TGNConfig:
    """Sizes are those of TGB's example. ``delta`` is what Δ means, for φ and ψ alike:

    - ``neighbor``: the neighbour's last update - the event's time, as in the released code and PyG;
    - ``query``: the query's time - the event's time, as in the paper.

    ``clock`` is the unit in which both read it, or ``tick`` for the numbers of the stream, as the references
    have it.

    ``messages`` of ``v2`` tell the memory who met whom, as in TGNv2; those of ``v1`` do not. A ``pair_term``
    is put beside the model by `keat.models.registry.assemble`.
    """

    kernel: str = setting("identity", Help.KERNEL)
    width: float = setting(1.0, Help.WIDTH)
    delta: Delta = setting("neighbor", Help.DELTA)
    clock: str = setting("s", Help.CLOCK)
    time_encoder: str = setting("cosine", Help.TIME_ENCODER)
    precision: Precision = setting("exact", Help.PRECISION)
    modulate: Modulate = setting("edge", Help.MODULATE)
    shared_edge_weights: bool = setting(
        True, "Whether keys and values share the matrix of edges (released code) or have one each (paper)."
    )
    dim: int = setting(100, "Size of memory, time encoding and embedding alike.")
    neighbors: int = setting(10, "Last events of a node that it attends to.")
    heads: int = setting(2, Help.HEADS)
    dropout: float = setting(0.1, Help.DROPOUT)
    messages: Messages = setting(
        "v1", "What a message to the memory has: v1, or v2 with who met whom; matters for node properties."
    )
    pair_term: PairTermName = setting("none", Help.PAIR_TERM)
    pair_widths: str = setting("geometric", Help.PAIR_WIDTHS)

    def __post_init__(self) -> None:
        check_model(self, "dim", "neighbors", "heads")
        check_divides(self.heads, self.dim, "a dim")
