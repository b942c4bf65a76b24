"""What can be explained of each kind of model, and what each can do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from keat.datasets.payments import simulate_payments
from keat.models.architectures import ARCHITECTURES
from keat.models.contract import EmbedsNodes, KeepsEvents, ReadsByTime
from keat.models.explainable import ExplainsPairs, attends_by_kernel, attention_of
from keat.models.registry import build_model

CAN: dict[str, tuple[bool, bool, bool, bool, bool]] = {
    # attention, pairs, embeddings, events, by time
    "tgn": (True, False, True, True, False),
    "tgn with a pair term": (True, True, True, False, False),
    "tgat": (False, False, True, True, True),
    "tgat with a pair term": (False, True, True, False, False),
    "graphmixer": (False, False, True, True, True),
    "dygformer": (False, False, False, True, True),
    "keat-rank": (False, True, False, False, False),
}


@pytest.mark.parametrize("name", CAN)
def test_what_models_can_do(name: str) -> None:
    kind, _, term = name.partition(" with ")
    config: Any = ARCHITECTURES[kind].config
    model = build_model(
        simulate_payments(300, seed=1), replace(config, pair_term="kernel") if term else config
    )
    abilities = (ExplainsPairs, EmbedsNodes, KeepsEvents, ReadsByTime)
    found = (attention_of(model) is not None, *(isinstance(model, ability) for ability in abilities))
    assert found == CAN[name]


def test_the_last_layer_of_a_model_with_a_pair_term_starts_at_zero() -> None:
    for kind in ("tgn", "tgat"):
        config: Any = ARCHITECTURES[kind].config
        model = build_model(simulate_payments(300, seed=1), replace(config, pair_term="kernel"))
        assert isinstance(model, EmbedsNodes)
        assert not any(parameter.any() for parameter in model.last_layer.parameters())


def test_attention_by_a_kernel() -> None:
    found = [name for name, entry in ARCHITECTURES.items() if attends_by_kernel(entry.config)]
    assert found == ["keat-tgn"]
