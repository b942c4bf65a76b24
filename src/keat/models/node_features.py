"""Whether a model can use what is known of nodes, and how wide it is made for that."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from keat.errors import InputError, Notice
from keat.events import EventStream


def with_node_features(model: str, config: Any, stream: EventStream) -> Any:
    """The configuration of ``model`` for a stream whose nodes have features, as wide as they are."""
    width = 0 if stream.node_features is None else stream.node_features.shape[1]
    if not hasattr(config, "node_dim"):
        warnings.warn(
            f"{model} makes no use of features of nodes; TGAT, GraphMixer and DyGFormer do.",
            Notice,
            stacklevel=2,
        )
        return config
    if config.node_dim not in (0, width):
        raise InputError(
            f"node_dim is {config.node_dim}, but nodes of {stream.name} have {width} features; leave it out."
        )
    return replace(config, node_dim=width)
