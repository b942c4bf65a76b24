"""GraphMixer against its formulas written down plainly, its node encoding, and what ψ means in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from keat.events import EventStream
from keat.models.graphmixer import GraphMixer, GraphMixerConfig, MixerBlock

NODES = 14
SMALL = GraphMixerConfig(neighbors=6, node_neighbors=9, time_dim=5, channels=8, out_dim=7, dropout=0.0)


def make_stream(events: int = 80, node_features: int = 3) -> EventStream:
    rng = np.random.default_rng(1)
    return EventStream.from_arrays(
        rng.integers(0, 6, events),
        rng.integers(6, NODES - 1, events),
        np.sort(rng.integers(0, 25, events)) * 10,
        rng.standard_normal((events, 2), dtype=np.float32),
        num_nodes=NODES,
        node_features=rng.standard_normal((NODES, node_features)) if node_features else None,
    )


def build(stream: EventStream, config: GraphMixerConfig) -> GraphMixer:
    torch.manual_seed(3)
    dim = 0 if stream.node_features is None else stream.node_features.shape[1]
    model = GraphMixer(NODES, stream.feature_dim, 70.0, replace(config, node_dim=dim))
    model.observe(stream)
    return model


def plain_embedding(model: GraphMixer, stream: EventStream, node: int, t: int) -> Tensor:
    config = model.config
    past = [i for i in range(len(stream)) if node in (stream.src[i], stream.dst[i]) and stream.t[i] < t]
    tokens: list[Tensor] = [model.projection.bias] * (config.neighbors - len(past[-config.neighbors :]))
    for i in past[-config.neighbors :]:
        age = torch.tensor([t - int(stream.t[i])])
        evidence = torch.cat((model.time_encoder(age)[0], torch.tensor(stream.features[i])))
        tokens.append(model.projection.weight @ (model.kernel(age)[0] * evidence) + model.projection.bias)
    x = torch.stack(tokens)  # (K, channels)
    for block in model.mixers:
        assert isinstance(block, MixerBlock)
        for mlp, norm, turn in (
            (block.token_mlp, block.token_norm, True),
            (block.channel_mlp, block.channel_norm, False),
        ):
            inner = x.T if turn else x
            inner = functional.layer_norm(inner, inner.shape[1:], norm.weight, norm.bias)
            inner = mlp.linear2(functional.gelu(mlp.linear1(inner)))
            x = x + (inner.T if turn else inner)
    about_node = torch.zeros(1)
    if stream.node_features is not None:
        others = [int(stream.src[i] + stream.dst[i]) - node for i in past[-config.node_neighbors :]]
        about_node = torch.tensor(stream.node_features[node])
        if others:
            about_node = about_node + torch.tensor(stream.node_features[others]).mean(dim=0)
    z: Tensor = model.output(torch.cat((x.mean(dim=0), about_node)))
    return z


MOMENTS = [(0, 130), (0, 131), (7, 250), (7, 251), (5, 0), (NODES - 1, 90), (9, 60), (8, 20)]


@pytest.mark.parametrize("node_features", [0, 3])
@pytest.mark.parametrize("learning", [True, False])
@pytest.mark.parametrize("kernel", ["identity", "laplacian", "learnable"])
def test_embeddings_and_gradients_are_the_formulas(kernel: str, node_features: int, learning: bool) -> None:
    stream = make_stream(node_features=node_features)
    model = build(stream, replace(SMALL, kernel=kernel, time_encoder="cosine-geometric")).train(learning)
    nodes, t = (np.array(part) for part in zip(*MOMENTS, strict=True))
    grads = []
    for z in (
        model.embed(nodes, t),
        torch.stack([plain_embedding(model, stream, *moment) for moment in MOMENTS]),
    ):
        model.zero_grad()
        (z * torch.arange(z.numel()).view_as(z)).sum().backward()  # type: ignore[no-untyped-call]
        grads.append([z.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)])
    for fast, plain in zip(*grads, strict=True):
        torch.testing.assert_close(fast, plain, rtol=2e-4, atol=1e-4 * float(plain.abs().max()) + 1e-6)


def test_evidence_that_has_faded_is_padding() -> None:
    """The bias is not evidence: with ψ = 0 a node with a past looks like one without."""
    stream = make_stream(node_features=0)
    faded, new = build(stream, replace(SMALL, kernel="laplacian", width=1e-6)).eval(), build(stream, SMALL)
    new.reset()
    nodes, t = np.arange(NODES), np.full(NODES, 10_000)
    with torch.no_grad():
        assert torch.equal(faded.embed(nodes, t), new.eval().embed(nodes, t))


def test_neighbours_features_are_averaged_not_shrunk() -> None:
    """Neighbours that all have the same features add exactly these, whether there are 2 or 2000."""
    events = 50
    features = np.zeros((3, 2), np.float32)
    features[1:] = (4.0, -2.0)
    stream = EventStream.from_arrays(
        np.zeros(events, np.int64),
        1 + np.arange(events) % 2,
        np.arange(events),
        num_nodes=3,
        node_features=features,
    )
    model = build(stream, replace(SMALL, node_neighbors=2000))
    for t in (1, 2, 50):
        encoding = model._node_encoding(np.array([0]), np.array([t]))
        torch.testing.assert_close(encoding, torch.tensor([[4.0, -2.0]]))
    assert torch.equal(model._node_encoding(np.array([0]), np.array([0])), torch.zeros(1, 2))


def test_parameters_are_those_of_the_reference() -> None:
    """One zero node feature, wikipedia's 172 event features."""
    model = GraphMixer(9_227, 172, 80_111.6, GraphMixerConfig())
    token = 2 * 30 + 30 * 15 + 15 + 15 * 30 + 30
    channel = 2 * 172 + 172 * 688 + 688 + 688 * 172 + 172
    decoder = 344 * 172 + 172 + 172 + 1
    count = 272 * 172 + 172 + 2 * (token + channel) + 173 * 172 + 172 + decoder
    assert sum(p.numel() for p in model.parameters() if p.requires_grad) == count
    assert sum(p.numel() for p in model.parameters()) == count + 200  # the time encoding is fixed
