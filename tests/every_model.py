"""Every link model there is: those of the registry, and those with a pair term beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from keat.events import EventStream
from keat.models.architectures import ARCHITECTURES
from keat.models.contract import LinkModel
from keat.models.registry import LINK_MODELS, build_model, create_link_model
from keat.models.snapshots.config import SnapshotConfig
from keat.models.with_pair_term import WithPairTerm

PAIR_TERM = " and a pair term"
WITH_PAIR_TERM = [
    name + PAIR_TERM for name, entry in ARCHITECTURES.items() if hasattr(entry.config, "pair_term")
]
EVERY_MODEL = [*LINK_MODELS, *WITH_PAIR_TERM]


def smaller(config: Any) -> Any:
    """The same model, quicker, where it reads whole graphs."""
    whole_graphs = isinstance(config, SnapshotConfig)
    return replace(config, input_dim=16, dim=8) if whole_graphs else config


def create(name: str, train: EventStream) -> LinkModel:
    if not name.endswith(PAIR_TERM):
        entry = ARCHITECTURES.get(name)
        if entry is None or smaller(entry.config) is entry.config:
            return create_link_model(name, train)
        model: LinkModel = build_model(train, smaller(entry.config))
        return model
    return with_pair_term(smaller(ARCHITECTURES[name.removesuffix(PAIR_TERM)].config), train)


def with_pair_term(config: object, train: EventStream) -> WithPairTerm:
    """Untrained, but with a decoder that does not start at zero: both parts of the score count."""
    model = build_model(train, replace(config, pair_term="rank"))  # type: ignore[type-var]
    assert isinstance(model, WithPairTerm)
    model.encoder.load_state_dict(build_model(train, config).state_dict())
    return model
