"""What can be chosen of a TGN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from keat.attention import Modulate
from keat.models import shared_help
from keat.models.settings import (
    PairTermName,
    check_divides,
    check_dropout,
    check_each,
    check_sizes,
    check_width,
    setting,
)
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

    kernel: str = setting("identity", shared_help.KERNEL)
    width: float = setting(1.0, shared_help.WIDTH)
    delta: Delta = setting(
        "neighbor",
        "Age of an event: neighbor (until its last update; released code) or query (paper).",
    )
    clock: str = setting("s", shared_help.CLOCK)
    time_encoder: str = setting("cosine", shared_help.TIME_ENCODER)
    precision: Precision = setting("exact", shared_help.PRECISION)
    modulate: Modulate = setting("edge", shared_help.MODULATE)
    shared_edge_weights: bool = setting(
        True, "Whether keys and values share the matrix of edges (released code) or have one each (paper)."
    )
    dim: int = setting(100, "Size of memory, time encoding and embedding alike.")
    neighbors: int = setting(10, "Last events of a node that it attends to.")
    heads: int = setting(2, shared_help.HEADS)
    dropout: float = setting(0.1, shared_help.DROPOUT)
    messages: Messages = setting(
        "v1", "What the memory is told: v1, or v2 with who met whom; matters for node properties."
    )
    pair_term: PairTermName = setting("none", shared_help.PAIR_TERM)
    pair_widths: str = setting("geometric", shared_help.PAIR_WIDTHS)

    def __post_init__(self) -> None:
        check_each(self)
        check_sizes(self, "dim", "neighbors", "heads")
        check_divides(self.heads, self.dim, "a dim")
        check_dropout(self)
        check_width(self)
