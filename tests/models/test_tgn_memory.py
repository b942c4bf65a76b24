"""Identities of nodes: different nodes are told apart, at any number, and the memory is told of both ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from keat.errors import InputError
from keat.events import EventStream
from keat.models.tgn import TGN, TGNConfig
from keat.models.tgn_memory import NodeIdentity

SMALL = TGNConfig(dim=16, neighbors=3, dropout=0.0)


def test_encodings_of_different_nodes_are_nearly_orthogonal() -> None:
    torch.manual_seed(0)
    nodes = torch.tensor([0, 1, 2, 57, 1_000_000, 1_000_001, 2**31 - 1])
    vectors = NodeIdentity(4096)(nodes)
    products = vectors @ vectors.T / 4096
    torch.testing.assert_close(products.diagonal(), torch.ones(len(nodes)), atol=0.08, rtol=0)
    assert (products - products.diagonal().diag()).abs().max() < 0.08


def memories(messages: str, src: list[int], dst: list[int]) -> torch.Tensor:
    """Memory after three events, of a model whose parameters depend on the seed only."""
    torch.manual_seed(1)
    model = TGN(6, 0, 1.0, replace(SMALL, messages=messages)).eval()  # type: ignore[arg-type]
    for i, ends in enumerate(zip(src, dst, strict=True)):
        model.observe(EventStream.from_arrays([ends[0]], [ends[1]], [i], num_nodes=6))
    return model.state.memory


@pytest.mark.parametrize(("messages", "told_apart"), [("v1", False), ("v2", True)])
def test_only_v2_knows_whom_a_node_met(messages: str, told_apart: bool) -> None:
    """0 meets 1 or 2, neither of which has met anybody: without identities that is the same message."""
    one, other = (memories(messages, [0], [met])[0] for met in (1, 2))
    assert torch.equal(one, other) != told_apart


def test_v2_survives_a_checkpoint() -> None:
    """The identities belong to the parameters: another model that loads them tells nodes apart alike."""
    config = replace(SMALL, messages="v2")
    events = EventStream.from_arrays([0, 1, 2], [3, 4, 3], [0, 1, 2], num_nodes=6)
    nodes = torch.arange(6)
    embedded = []
    first = TGN(6, 0, 1.0, config).eval()
    second = TGN(6, 0, 1.0, config).eval()
    second.load_state_dict(first.state_dict())
    for model in (first, second):
        model.reset()
        model.observe(events)
        embedded.append(model.embeddings(nodes, torch.full_like(nodes, 5)))
    assert torch.equal(*embedded)


def test_asking_about_nodes_does_not_disturb_training() -> None:
    """In training, what was read for a question about some nodes is not taken for the next events' own."""
    rng = np.random.default_rng(0)
    events = EventStream.from_arrays(
        rng.integers(0, 6, 40), rng.integers(0, 6, 40), np.arange(40), num_nodes=6
    )
    states = []
    for ask in (True, False):
        torch.manual_seed(2)
        model = TGN(6, 0, 1.0, SMALL).train()
        for block in events.blocks(5):
            if ask:
                model.embeddings(torch.tensor([4, 2]), torch.tensor([99, 99]))
            model.observe(block)
        states.append(model.eval().state.memory)
    torch.testing.assert_close(*states, rtol=0, atol=0)


def test_unknown_messages_are_refused() -> None:
    with pytest.raises(InputError, match="'v1' or 'v2'"):
        TGN(6, 0, 1.0, replace(SMALL, messages="v3"))  # type: ignore[arg-type]
