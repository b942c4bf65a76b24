"""Every link model there is: those of the registry, and those with a pair term beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from keat.events import EventStream
from keat.models.architectures import ARCHITECTURES
from keat.models.cawn import CAWNConfig
from keat.models.contract import LinkModel
from keat.models.nat import NATConfig
from keat.models.registry import LINK_MODELS, build_model, create_link_model
from keat.models.snapshots.config import SnapshotConfig
from keat.models.tcl import TCLConfig
from keat.models.with_pair_term import WithPairTerm

PAIR_TERM = " and a pair term"
WITH_PAIR_TERM = [
    name + PAIR_TERM for name, entry in ARCHITECTURES.items() if hasattr(entry.config, "pair_term")
]
EVERY_MODEL = [*LINK_MODELS, *WITH_PAIR_TERM]

SMALLER: dict[type, dict[str, Any]] = {  # where usual sizes are too slow for tests of all models
    TCLConfig: {"neighbors": 6, "channels": 16, "time_dim": 10, "out_dim": 16},
    CAWNConfig: {"neighbors": 6, "position_dim": 8, "time_dim": 10, "heads": 2, "out_dim": 16},
    NATConfig: {"slots": 8, "far_slots": 4, "channels": 16},
    SnapshotConfig: {"input_dim": 16, "dim": 8},
}


def smaller(config: Any) -> Any:
    """The same model of smaller sizes, where its own are slow."""
    for kind, sizes in SMALLER.items():
        if isinstance(config, kind):
            config = replace(config, **sizes)
    return config


def create(name: str, train: EventStream) -> LinkModel:
    if name in ARCHITECTURES:
        model: LinkModel = build_model(train, smaller(ARCHITECTURES[name].config))
        return model
    if not name.endswith(PAIR_TERM):
        return create_link_model(name, train)
    return with_pair_term(smaller(ARCHITECTURES[name.removesuffix(PAIR_TERM)].config), train)


def with_pair_term(config: object, train: EventStream) -> WithPairTerm:
    """Untrained, but with a decoder that does not start at zero: both parts of the score count."""
    model = build_model(train, replace(config, pair_term="rank"))  # type: ignore[type-var]
    assert isinstance(model, WithPairTerm)
    model.encoder.load_state_dict(build_model(train, config).state_dict())
    return model
