"""A configuration is made as wide as the features of nodes, where the model has a use for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import MakeStream
from keat.errors import InputError, Notice
from keat.models.architectures import ARCHITECTURES
from keat.models.settings import with_node_features
from keat.runs.spec import configuration


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_model_uses_features_of_nodes_or_says_that_it_does_not(
    name: str, random_stream: MakeStream
) -> None:
    stream = random_stream(0)
    stream = replace(stream, node_features=np.zeros((stream.num_nodes, 3), dtype=np.float32))
    config = ARCHITECTURES[name].config
    if not hasattr(config, "node_dim"):
        with pytest.warns(
            Notice, match=f"{name} makes no use of features of nodes; TGAT, GraphMixer and DyGF"
        ):
            assert with_node_features(name, config, stream) is config
        return
    made = with_node_features(name, config, stream)
    assert made == configuration(name, node_dim=3)
    assert with_node_features(name, made, stream) == made
    with pytest.raises(InputError, match=r"node_dim is 5, but nodes of .* have 3 features; leave it out"):
        with_node_features(name, configuration(name, node_dim=5), stream)
