"""What can be explained of a model, asked here instead of by its class: its pair term, its attention, and
what each past event is worth to it."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from keat.models.contract import KeepsEvents, LinkModel
from keat.models.pair_explanation import PairExplanation
from keat.models.tgn import TGN, TGNConfig
from keat.models.with_pair_term import WithPairTerm
from keat.state import EventHistory


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


def history_of(model: LinkModel) -> EventHistory | None:
    """The past events that are all a model knows, any of which can be left out as if it had not been. None
    where events have gone into a memory, sums or counts, which do not give one back."""
    state = getattr(model, "state", None)
    return state if isinstance(model, KeepsEvents) and isinstance(state, EventHistory) else None


def attends_by_kernel(config: Any) -> bool:
    """Whether the model of a configuration has such an attention, and a kernel in it."""
    return type(config) is TGNConfig and config.kernel != "identity"
