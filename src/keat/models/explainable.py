"""What can be explained of a model, asked here instead of by its class: its pair term, and its attention."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from keat.models.contract import LinkModel
from keat.models.pair_explanation import PairExplanation
from keat.models.tgn import TGN, TGNConfig
from keat.models.with_pair_term import WithPairTerm


@runtime_checkable
class ExplainsPairs(Protocol):
    """Its score, or a part of it, is what two nodes have been to each other."""

    def explain_pair(self, src: int, candidate: int, t: int) -> PairExplanation:
        """What is known of one pair at a time, and what the model makes of it."""
        ...


def attention_of(model: LinkModel) -> TGN | None:
    """The TGN whose attention over past events can be read and asked what if (`keat.analysis.what_if`): the
    model itself, or its encoder where a pair term is added to that. None where there is no such."""
    encoder = model.encoder if isinstance(model, WithPairTerm) else model
    return encoder if type(encoder) is TGN else None  # TNCN's score has more to it than attention


def attends_by_kernel(config: Any) -> bool:
    """Whether the model of a configuration has such an attention, and a kernel in it."""
    return type(config) is TGNConfig and config.kernel != "identity"
