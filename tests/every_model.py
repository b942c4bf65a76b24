"""Every link model there is: those of the registry, those with a pair term beside them, and keat-rank where
it reads features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import torch
from torch import nn

from keat.events import EventStream
from keat.models.architectures import ARCHITECTURES
from keat.models.cawn import CAWNConfig
from keat.models.contract import LinkModel
from keat.models.craft import CRAFTConfig
from keat.models.ctan import CTANConfig
from keat.models.dygformer import DyGFormerConfig
from keat.models.dyrep import DyRepConfig
from keat.models.graphmixer import GraphMixerConfig
from keat.models.jodie_model import JODIEConfig
from keat.models.nat import NATConfig
from keat.models.rank import KeatRank, RankConfig
from keat.models.registry import LINK_MODELS, build_model, create_link_model
from keat.models.snapshots.snapshot_config import SnapshotConfig
from keat.models.tcl import TCLConfig
from keat.models.tgat import TGATConfig
from keat.models.tgn import TGNConfig
from keat.models.tncn import TNCNConfig
from keat.models.tpnet import TPNetConfig
from keat.models.with_pair_term import WithPairTerm

PAIR_TERM = " and a pair term"
WITH_PAIR_TERM = [  # one of each kind: whether edges fade is no matter of the pair term
    name + PAIR_TERM
    for name, entry in ARCHITECTURES.items()
    if hasattr(entry.config, "pair_term") and not name.startswith("keat-")
]
READS_FEATURES = "keat-rank that reads features"
EVERY_MODEL = [*LINK_MODELS, *WITH_PAIR_TERM, READS_FEATURES]

# Usual sizes are too slow for tests of all models. What a class has here, its subclasses have, too.
SMALLER: dict[type, dict[str, int]] = {
    TGNConfig: {"dim": 8, "neighbors": 5},
    TNCNConfig: {"hidden": 8},
    JODIEConfig: {"dim": 8, "time_dim": 4},
    DyRepConfig: {"dim": 8, "neighbors": 5},
    CTANConfig: {"dim": 8, "neighbors": 5},
    TGATConfig: {"neighbors": 5, "time_dim": 4, "out_dim": 8},
    GraphMixerConfig: {"neighbors": 6, "channels": 8, "time_dim": 4, "out_dim": 8},
    DyGFormerConfig: {"length": 6, "channel": 4, "time_dim": 4, "out_dim": 8},
    TCLConfig: {"neighbors": 6, "channels": 8, "time_dim": 4, "out_dim": 8},
    CAWNConfig: {"neighbors": 5, "position_dim": 4, "time_dim": 4, "heads": 2, "out_dim": 8},
    NATConfig: {"slots": 8, "far_slots": 4, "channels": 8, "memory_dim": 8},
    TPNetConfig: {"projection_dim": 8, "neighbors": 4, "channels": 4, "time_dim": 4, "out_dim": 8},
    CRAFTConfig: {"dim": 8, "neighbors": 5},
    SnapshotConfig: {"input_dim": 8, "dim": 8},
}


def smaller(config: Any) -> Any:
    """The same model in smaller sizes, if it has any."""
    for kind, sizes in SMALLER.items():
        if isinstance(config, kind):
            config = replace(cast(Any, config), **sizes)
    return config


def create(name: str, train: EventStream) -> LinkModel:
    if name in ARCHITECTURES:
        model: LinkModel = build_model(train, smaller(ARCHITECTURES[name].config))
        return model
    if name == READS_FEATURES:
        return reads_features(train)
    if not name.endswith(PAIR_TERM):
        return create_link_model(name, train)
    return with_pair_term(smaller(ARCHITECTURES[name.removesuffix(PAIR_TERM)].config), train)


def reads_features(train: EventStream) -> KeatRank:
    """Untrained, but with a layer that does not start at zero: what events said counts."""
    config = ARCHITECTURES["keat-rank"].config
    assert isinstance(config, RankConfig)
    model = build_model(train, replace(config, feature_means=True))
    assert isinstance(model, KeatRank)
    for layer in (model.term.said_of_source, model.term.said_of_pair):
        if layer is not None:  # where the stream has features
            nn.init.normal_(layer.weight, generator=torch.Generator().manual_seed(0))
    return model


def with_pair_term(config: object, train: EventStream) -> WithPairTerm:
    """Untrained, but with a decoder that does not start at zero: both parts of the score count."""
    model = build_model(train, replace(config, pair_term="rank"))  # type: ignore[type-var]
    assert isinstance(model, WithPairTerm)
    model.encoder.load_state_dict(build_model(train, config).state_dict())
    return model
